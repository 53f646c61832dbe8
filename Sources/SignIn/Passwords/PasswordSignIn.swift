package import Accounts
import Storage

/// Registering and signing in with an email and a password.
package struct PasswordSignIn: Sendable {
    let accounts: AccountStore
    let sessions: SessionStore
    let issuer: SessionIssuer
    let hasher: PasswordHasher
    let limits: RateLimiter
    let mailLanguages: MailLanguages
    let metrics: SignInMetrics
    let clock: any WallClock

    /// Makes an account with an email and a password. Its address stays unverified, so no identity is matched by it.
    package func register(
        email: String, password: String, displayName: DisplayName?, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        guard let address = EmailAddress(email) else { throw .malformedEmail }
        try PasswordPolicy.require(password, for: address)
        // Before the look-up: this answer alone reveals whether an account has the address.
        try await limits.drawNetworks(.registrationPerNetwork, by: client)
        guard try await !stored({ try await accounts.isEmailHeld(address) }) else { throw .emailTaken }
        let hash = try await hasher.hash(password, by: client)
        let now = clock.now()
        let newSession = try issuer.newSession(authenticatedAt: now, methods: [.password], client: client, now: now)
        let id = try AccountID.fresh(at: now)
        let account = try await stored {
            try await accounts.register(
                id, email: address, passwordHash: hash, displayName: displayName, newSession: newSession,
                from: mailLanguages.origin(of: client))
        }
        guard let account else { throw .emailTaken }
        return try issuer.signedIn(account, identityID: nil, newSession: newSession)
    }

    package func signIn(
        email: String, password: String, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.signIns.counting(.password, as: .signedIn) { () throws(SignInFailure) in
            let proven = try await provePassword(email: email, password: password, client: client)
            return try await openSession(
                of: proven.accountID, passwordHash: proven.passwordHash, provenAt: clock.now(), client: client)
        }
    }

    /// Signs in to an account whose password was proven before.
    func signIn(
        _ accountID: AccountID, passwordHash: String, provenAt: Timestamp, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.signIns.counting(.password, as: .signedIn) { () throws(SignInFailure) in
            try await openSession(of: accountID, passwordHash: passwordHash, provenAt: provenAt, client: client)
        }
    }

    private func openSession(
        of accountID: AccountID, passwordHash: String, provenAt: Timestamp, client: Client
    ) async throws(SignInFailure) -> SignedIn {
        let newSession = try issuer.newSession(
            authenticatedAt: provenAt, methods: [.password], client: client, now: clock.now())
        let account = try await stored {
            try await sessions.open(newSession, for: accountID, passwordHash: passwordHash)
        }
        // Disabled or changed while the password was hashed.
        guard let account else { throw .invalidCredentials }
        return try issuer.signedIn(account, identityID: nil, newSession: newSession)
    }

    /// The account whose password this is. A wrong password, an account without one, an unknown and an impossible
    /// address take the same time, count as the same guesses and fail alike.
    func provePassword(
        email: String, password: String, client: Client
    ) async throws(SignInFailure) -> ProvenPassword {
        let address = EmailAddress(email)
        // All spellings of an address share one allowance.
        let proven = try await limits.guessingPassword(
            of: address?.text ?? email, guesser: client.network.map(PasswordGuesser.network), by: client
        ) { proven throws(SignInFailure) in
            try await isUsed(proven?.accountID, from: client)
        } _: { () throws(SignInFailure) in
            try await check(password, of: address, by: client)
        }
        guard proven.isActive else { throw .accountDisabled }
        return proven
    }

    /// Whether the account is used from the client's network; no account is.
    private func isUsed(_ account: AccountID?, from client: Client) async throws(SignInFailure) -> Bool {
        guard let network = client.network else { return false }
        return try await stored { try await limits.knownNetworks.isKnown(network, to: account, at: clock.now()) }
    }

    private func check(
        _ password: String, of address: EmailAddress?, by client: Client
    ) async throws(SignInFailure) -> ProvenPassword {
        let credential: PasswordCredential? =
            if let address {
                try await stored { try await accounts.passwordCredential(for: address) }
            } else {
                nil
            }
        let isRight = try await hasher.verify(
            String(decoding: password.utf8.prefix(PasswordPolicy.bytes.upperBound + 1), as: UTF8.self),
            against: credential?.passwordHash, by: client)
        guard isRight, let credential, let passwordHash = credential.passwordHash else { throw .invalidCredentials }
        return ProvenPassword(
            accountID: credential.accountID, passwordHash: passwordHash, isActive: credential.status == .active)
    }
}

/// An account, and the hash that a presented password matched.
struct ProvenPassword: Sendable {
    let accountID: AccountID
    let passwordHash: String
    /// Whether the account is active: a disabled one is refused, but only to those who may try its password.
    let isActive: Bool
}
