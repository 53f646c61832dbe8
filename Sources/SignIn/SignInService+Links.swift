package import Accounts
import Storage

/// How the owner of an account proves it when binding.
package enum BindCredential: Sendable {
    /// An access token.
    case session([UInt8])
    case password(email: String, password: String)
}

/// An account whose owner has just been proven.
struct BindProof: Sendable {
    let accountID: AccountID
    let authenticatedAt: Timestamp
    /// What proved it, beside the provider's token.
    let methods: [AuthenticationMethod]
}

extension SignInService {
    /// Makes an account for the ticket's identity.
    package func create(
        linkTicket: String, displayName: DisplayName?, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let now = clock.now()
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket) else { throw .linkTicketExpired }
        guard let ticket = try await stored({ try await stores.links.open(hash, at: now) }) else {
            throw .linkTicketExpired
        }
        let opening = try opening(
            authenticatedAt: ticket.identity.authenticatedAt,
            methods: [AuthenticationMethod(ticket.identity.key.provider)], client: client, now: now)
        let accountID: AccountID = try freshID(now)
        let identityID: IdentityID = try freshID(now)
        let outcome = try await stored {
            try await stores.links.create(
                hash, accountID: accountID, identityID: identityID, displayName: displayName, opening: opening)
        }
        switch outcome {
        case .created(let account):
            return try signedIn(account, identityID: identityID, opening: opening)
        case .ticketExpired: throw .linkTicketExpired
        case .emailTaken: throw .emailTaken
        case .identityAlreadyLinked: throw .identityAlreadyLinked
        }
    }

    /// Links the ticket's identity to the account that the credential proves.
    package func bind(
        linkTicket: String, credential: BindCredential, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let now = clock.now()
        // The ticket first: it is cheap to check, a password is not.
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket),
            try await stored({ try await stores.links.open(hash, at: now) }) != nil
        else { throw .linkTicketExpired }
        let proof = try await prove(credential)
        return try await bind(hash, proof: proof, client: client, at: clock.now())
    }

    package func cancel(linkTicket: String) async throws(SignInFailure) {
        guard let hash = OpaqueSecret.hash(ofPresented: linkTicket) else { return }
        let now = clock.now()
        try await stored { try await stores.links.cancel(hash, at: now) }
    }

    func bind(
        _ hash: [UInt8], proof: BindProof, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn {
        guard let ticket = try await stored({ try await stores.links.open(hash, at: now) }) else {
            throw .linkTicketExpired
        }
        let opening = try opening(
            authenticatedAt: max(proof.authenticatedAt, ticket.identity.authenticatedAt),
            methods: proof.methods + [AuthenticationMethod(ticket.identity.key.provider)], client: client, now: now)
        let identityID: IdentityID = try freshID(now)
        let outcome = try await stored {
            try await stores.links.bind(hash, to: proof.accountID, identityID: identityID, opening: opening)
        }
        switch outcome {
        case .bound(let account):
            return try signedIn(account, identityID: identityID, opening: opening)
        case .ticketExpired: throw .linkTicketExpired
        case .accountDisabled: throw .accountDisabled
        case .identityAlreadyLinked: throw .identityAlreadyLinked
        case .providerAlreadyLinked(let existing): throw .providerAlreadyLinked(existing)
        }
    }

    private func prove(_ credential: BindCredential) async throws(SignInFailure) -> BindProof {
        switch credential {
        case .session(let token):
            let session = try await session(of: token)
            guard session.isFresh(at: clock.now()) else { throw .reauthenticationRequired }
            return BindProof(accountID: session.accountID, authenticatedAt: session.authenticatedAt, methods: [])
        case .password(let email, let password):
            let accountID = try await provePassword(email: email, password: password)
            return BindProof(accountID: accountID, authenticatedAt: clock.now(), methods: [.password])
        }
    }
}
