package import Accounts
import Storage

/// Registering and signing in with an email and a password.
package struct PasswordSignIn: Sendable {
    let accounts: AccountStore
    let sessions: SessionStore
    let issuer: SessionIssuer
    let hasher: PasswordHasher
    let limits: RateLimiter
    let refusals: RefusalAggregator
    let metrics: SignInMetrics

    /// Makes an account with an email and a password. Its address stays unverified, so no identity is matched by it.
    package func register(
        email: String, password: String, displayName: DisplayName?, by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        guard let address = EmailAddress(email) else { throw .malformedEmail }
        try PasswordPolicy.require(password, for: address)
        let newSession = try issuer.newSession(authenticatedAt: call.now, methods: [.password], by: call)
        // Before the look-up: this answer alone reveals whether an account has the address.
        try await limits.drawNetworks(.registrationPerNetwork, by: call)
        guard try await !stored({ try await accounts.isEmailHeld(address) }) else { throw .emailTaken }
        let hash = try await hasher.hash(password, by: call)
        let id = try AccountID.fresh(at: call.now)
        let account = try await stored {
            try await accounts.register(
                id, email: address, passwordHash: hash, displayName: displayName, newSession: newSession,
                by: call)
        }
        return try issuer.signedIn(account, identityID: nil, newSession: newSession)
    }

    package func signIn(email: String, password: String, by call: Call) async throws(SignInFailure) -> SignedIn {
        let proven = try await beginSignIn(email: email, password: password, by: call)
        return try await signIn(proven.accountID, passwordHash: proven.passwordHash, provenAt: call.now, by: call)
    }

    /// Proves the password of a sign-in. What is refused counts as one; what is right counts when it opens a session.
    ///
    /// - Parameter opensSession: whether this very call opens it: no try is used up while none can be opened.
    func beginSignIn(
        email: String, password: String, opensSession: Bool = true, by call: Call
    ) async throws(SignInFailure) -> ProvenPassword {
        try await metrics.signIns.countingFailure(of: .password) { () throws(SignInFailure) in
            if opensSession { try issuer.requireSigner(by: call) }
            return try await provePassword(email: email, password: password, by: call)
        }
    }

    /// Signs in to an account whose password was proven before.
    func signIn(
        _ accountID: AccountID, passwordHash: PasswordHash, provenAt: Timestamp, by call: Call
    ) async throws(SignInFailure) -> SignedIn {
        try await metrics.signIns.counting(.password, as: .signedIn) { () throws(SignInFailure) in
            let newSession = try issuer.newSession(authenticatedAt: provenAt, methods: [.password], by: call)
            let account = try await stored {
                try await sessions.open(newSession, for: accountID, passwordHash: passwordHash)
            }
            // Disabled or changed while the password was hashed.
            guard let account else { throw .invalidCredentials }
            return try issuer.signedIn(account, identityID: nil, newSession: newSession)
        }
    }

    /// The account whose password this is. A wrong password, an account without one, an unknown and an impossible
    /// address take the same time, count as the same guesses and fail alike.
    func provePassword(email: String, password: String, by call: Call) async throws(SignInFailure) -> ProvenPassword {
        let address = EmailAddress.existing(email)
        // All spellings of an address share one allowance.
        let proven = try await limits.guessingPassword(
            of: address?.text ?? email, with: address, guesser: call.caller.network.map(PasswordGuesser.network),
            by: call
        ) { proven throws(SignInFailure) in
            try await isUsed(proven?.accountID, by: call)
        } _: { isHeld throws(SignInFailure) in
            try await check(password, of: address, isHeld: isHeld, by: call)
        }
        guard proven.isActive else {
            refusals.noteDisabledAccount(proven.accountID, by: call)
            throw .accountDisabled
        }
        return await replacingImported(proven, at: address, password, by: call)
    }

    /// Whether the account is used from the client's network; no account is.
    private func isUsed(_ account: AccountID?, by call: Call) async throws(SignInFailure) -> Bool {
        guard let network = call.caller.network else { return false }
        return try await stored { try await limits.knownNetworks.isKnown(network, to: account, by: call) }
    }

    private func check(
        _ password: String, of address: EmailAddress?, isHeld: Bool, by call: Call
    ) async throws(SignInFailure) -> ProvenPassword {
        let credential: PasswordCredential? =
            if let address {
                try await stored { try await accounts.passwordCredential(for: address) }
            } else {
                nil
            }
        let outcome = try await hasher.check(password, against: credential?.passwordHash, isHeld: isHeld, by: call)
        guard outcome != .wrong, let credential, let passwordHash = credential.passwordHash else {
            throw .invalidCredentials
        }
        var proven = ProvenPassword(
            accountID: credential.accountID, passwordHash: passwordHash, isActive: credential.status == .active)
        if case .rightByOther(let own) = outcome { proven.replacement = own }
        return proven
    }

    /// Puts a hash of ours in the place of one that came with an import, now that the password is known. If that fails the
    /// imported one goes on being good, is marked as used, and the next sign-in tries again.
    ///
    /// bcrypt reads the first 72 bytes of a password: what is typed beyond them is not known to be right, and must not
    /// become what is asked for from now on.
    ///
    /// - Returns: with the hash that is the account's now, of this password.
    private func replacingImported(
        _ proven: ProvenPassword, at address: EmailAddress?, _ password: String, by call: Call
    ) async -> ProvenPassword {
        guard let new = proven.replacement else { return proven }
        let (old, id) = (proven.passwordHash, proven.accountID)
        let isCut = PasswordSpellings(password).all.contains { $0.utf8.count > Self.bcryptBytes }
        var current = proven
        guard !(old.text.hasPrefix("$2") && isCut),
            let isReplaced = try? await accounts.replaceImportedPassword(old, of: id, by: new)
        else {
            try? await accounts.markImportedPasswordUsed(old, of: id)
            return proven
        }
        if isReplaced {
            current.passwordHash = new
        } else if let address, let now = try? await accounts.passwordCredential(for: address)?.passwordHash,
            (try? await hasher.verify(password, against: now, by: call)) == true
        {
            // Another device of the person's was first, unless the password was changed.
            current.passwordHash = now
        }
        return current
    }

    private static let bcryptBytes = 72
}

/// An account, and the hash that a presented password matched.
struct ProvenPassword: Sendable {
    let accountID: AccountID
    fileprivate(set) var passwordHash: PasswordHash
    /// Whether the account is active: a disabled one is refused, but only to those who may try its password.
    let isActive: Bool
    /// Ours, for the place of one that came with an import.
    fileprivate var replacement: PasswordHash?
}
