package import Accounts
import JOSE
import Providers
import Storage

/// What a provider's SDK gave the phone.
package struct ProviderCredential: Sendable {
    package let token: String?
    package let code: String?
    /// The raw nonce.
    package let nonce: String?
    package let clientID: String?
    /// Handed over once, at first consent; unsigned user input.
    package let fullName: DisplayName?

    package init(token: String?, code: String?, nonce: String?, clientID: String?, fullName: DisplayName?) {
        self.token = token
        self.code = code
        self.nonce = nonce
        self.clientID = clientID
        self.fullName = fullName
    }
}

extension SignInService {
    /// Signs a known person in; gives an unknown one a link ticket.
    package func signIn(
        with provider: Provider, _ credential: ProviderCredential, client: Client
    ) async throws(SignInFailure) -> SignInAnswer {
        let now = clock.now()
        let identity = try await verify(credential, of: provider, at: now)
        if let signedIn = try await signInKnown(identity, client: client, at: now) { return .signedIn(signedIn) }
        return try await welcome(identity, fullName: credential.fullName, client: client, at: now)
    }

    private func verify(
        _ credential: ProviderCredential, of provider: Provider, at now: Timestamp
    ) async throws(SignInFailure) -> VerifiedIdentity {
        guard let token = credential.token else {
            throw .missingCredential(provider == .apple ? "identityToken" : "idToken")
        }
        let rules: (any IdentityProvider)? =
            switch provider {
            case .apple: apple
            case .google: google
            }
        guard let rules else { throw .providerDisabled }
        do throws(CredentialRefusal) {
            let identity = try await rules.verify(
                Array(token.utf8), postedNonce: credential.nonce, expectedClientID: credential.clientID, at: now)
            // Nonces of this service are good once: whichever this is, it was not issued or it is spent.
            if let nonce = credential.nonce, IssuedNonce.isClaimed(by: nonce) { throw CredentialRefusal(.nonceSpent) }
            return identity
        } catch {
            guard error.reason != .keysUnavailable else {
                throw .providerUnavailable(retryAfter: error.retryAfter ?? 5)
            }
            throw .credentialRejected(error.reason, retryAfter: error.retryAfter)
        }
    }

    /// - Returns: `nil` when nobody has linked the identity.
    private func signInKnown(
        _ identity: VerifiedIdentity, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn? {
        let opening = try opening(
            authenticatedAt: identity.authenticatedAt, methods: [AuthenticationMethod(identity.key.provider)],
            client: client, now: now)
        switch try await stored({ try await stores.identities.signIn(identity, opening: opening) }) {
        case .signedIn(let account, let identityID):
            return try signedIn(account, identityID: identityID, opening: opening)
        case .disabled:
            throw .accountDisabled
        case .unknown:
            return nil
        }
    }

    /// An identity that nobody has linked: its owner chooses, unless the policy binds it by its address.
    private func welcome(
        _ identity: VerifiedIdentity, fullName: DisplayName?, client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignInAnswer {
        let holder: EmailHolder? =
            if let candidate = identity.email?.candidate {
                try await stored {
                    try await stores.accounts.holder(
                        of: candidate, provider: identity.key.provider, realm: identity.key.realm)
                }
            } else {
                nil
            }
        let ticket = LinkTicket(
            identity: identity, displayName: fullName, createdAt: now,
            expiresAt: now.advanced(bySeconds: SignInService.ticketLifetime))
        let secret: OpaqueSecret
        do {
            secret = try OpaqueSecret()
        } catch {
            throw .fault(operation: "random")
        }
        try await stored { try await stores.links.insert(ticket, hash: secret.hash) }
        var decision = Linking.decide(identity, holder: holder, policy: configuration.verifiedEmailPolicy)
        if case .bindAutomatically = decision {
            if let signedIn = try await bindAutomatically(ticket, hash: secret.hash, client: client, at: now) {
                return .signedIn(signedIn)
            }
            decision = Linking.decide(identity, holder: holder, policy: .prompt)
        }
        // Of one person's sign-ins at once, the first may have bound the identity since this one looked it up.
        if configuration.verifiedEmailPolicy == .automatic, holder?.isEmailVerified == true,
            let signedIn = try await signInKnown(identity, client: client, at: now)
        {
            return .signedIn(signedIn)
        }
        guard case .linkRequired(let choices) = decision else { throw .fault(operation: "decide") }
        return .linkRequired(
            LinkRequired(linkTicket: secret.text, expiresAt: ticket.expiresAt, identity: identity, choices: choices))
    }

    /// - Returns: `nil` when the account is no longer one that the policy binds to: then the person is asked.
    private func bindAutomatically(
        _ ticket: LinkTicket, hash: [UInt8], client: Client, at now: Timestamp
    ) async throws(SignInFailure) -> SignedIn? {
        let proof = BindProof(
            ground: .verifiedEmail, authenticatedAt: ticket.identity.authenticatedAt, methods: [])
        do throws(SignInFailure) {
            return try await bind(ticket, hash: hash, proof: proof, client: client, at: now)
        } catch {
            switch error {
            case .groundGone, .identityAlreadyLinked, .accountDisabled, .providerAlreadyLinked: return nil
            default: throw error
            }
        }
    }
}
