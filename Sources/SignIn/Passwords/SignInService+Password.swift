package import Accounts
import Storage

extension SignInService {
    /// Makes an account with an email and a password. Its address stays unverified, so no identity is matched by it.
    package func register(
        email: String, password: String, displayName: DisplayName?, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        guard let address = EmailAddress(email) else { throw .malformedEmail }
        guard PasswordPolicy.accepts(password, for: address) else { throw .weakPassword }
        // Before the look-up: this answer alone reveals whether an account has the address.
        try await limits.draw(.registrationPerNetwork, of: client.network, by: client)
        guard try await !stored({ try await stores.accounts.isEmailHeld(address) }) else { throw .emailTaken }
        let hash = try await passwordHasher.hash(password)
        let now = clock.now()
        let newSession = try newSession(authenticatedAt: now, methods: [.password], client: client, now: now)
        let id: AccountID = try freshID(now)
        let account = try await stored {
            try await stores.accounts.register(
                id, email: address, passwordHash: hash, displayName: displayName, newSession: newSession,
                from: origin(client))
        }
        guard let account else { throw .emailTaken }
        return try signedIn(account, identityID: nil, newSession: newSession)
    }

    package func signIn(
        email: String, password: String, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.signIns.counting(.password, as: .signedIn) { () throws(SignInFailure) in
            try await openSession(email: email, password: password, client: client)
        }
    }

    private func openSession(email: String, password: String, client: Client) async throws(SignInFailure) -> SignedIn {
        let proven = try await provePassword(email: email, password: password, client: client)
        let now = clock.now()
        let newSession = try newSession(authenticatedAt: now, methods: [.password], client: client, now: now)
        let account = try await stored {
            try await stores.sessions.open(newSession, for: proven.accountID, passwordHash: proven.passwordHash)
        }
        // Disabled or changed while the password was hashed.
        guard let account else { throw .invalidCredentials }
        return try signedIn(account, identityID: nil, newSession: newSession)
    }

    /// The account whose password this is. A wrong password, an account without one, an unknown and an impossible
    /// address take the same time, count as the same guesses and fail alike.
    func provePassword(
        email: String, password: String, client: Client
    ) async throws(SignInFailure) -> ProvenPassword {
        let address = EmailAddress(email)
        // All spellings of an address share one allowance.
        return try await limits.guessing(atPasswordOf: address?.text ?? email, by: client) { () throws(SignInFailure) in
            try await provePassword(password, of: address)
        }
    }

    private func provePassword(
        _ password: String, of address: EmailAddress?
    ) async throws(SignInFailure) -> ProvenPassword {
        let credential: PasswordCredential? =
            if let address {
                try await stored { try await stores.accounts.passwordCredential(for: address) }
            } else {
                nil
            }
        let isRight = try await passwordHasher.verify(
            String(decoding: password.utf8.prefix(PasswordPolicy.bytes.upperBound + 1), as: UTF8.self),
            against: credential?.passwordHash)
        guard isRight, let credential, let passwordHash = credential.passwordHash else { throw .invalidCredentials }
        guard credential.status == .active else { throw .accountDisabled }
        return ProvenPassword(accountID: credential.accountID, passwordHash: passwordHash)
    }
}

/// An account, and the hash that a presented password matched.
struct ProvenPassword: Sendable {
    let accountID: AccountID
    let passwordHash: String
}
