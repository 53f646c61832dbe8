package import Accounts
package import Postgres

/// What a person's identity would come to, without a sign-in.
extension AccountStore {
    /// What a sign-in with a linked identity would come to, without one.
    ///
    /// - Returns: `nil` when the identity is not linked.
    package func decision(
        on identity: VerifiedIdentity
    ) async throws(PostgresError) -> (accountID: AccountID, decision: KnownIdentityDecision)? {
        try await AccountStore.decision(on: identity, in: database)
    }

    static func decision(
        on identity: VerifiedIdentity, in session: some PostgresSession
    ) async throws(PostgresError) -> (accountID: AccountID, decision: KnownIdentityDecision)? {
        let outdated = IdentityStore.isOutdated(
            issuedAt: "\(identity.issuedAt)", authenticatedAt: "\(identity.authenticatedAt)")
        return try await session.query(
            """
            SELECT a.account_id,
                CASE WHEN \(outdated) THEN 'outdated' WHEN i.blocked_at IS NOT NULL THEN 'blocked' ELSE a.status END
            FROM identities i
            JOIN accounts a ON a.account_id = i.account_id
            WHERE i.provider = \(identity.key.provider.rawValue) AND i.realm = \(identity.key.realm.text)
                AND i.subject = \(identity.key.subject.text)
            """, as: AccountID.self, KnownIdentityDecision.self
        ).first.map { (accountID: $0, decision: $1) }
    }

    /// Whether a token of that time may lead to the account by its address, without a proof of the account.
    package func isCurrent(_ issuedAt: Timestamp, for accountID: AccountID) async throws(PostgresError) -> Bool {
        try await AccountStore.isCurrent(issuedAt, for: accountID, in: database)
    }

    static func isCurrent(
        _ issuedAt: Timestamp, for accountID: AccountID, in session: some PostgresSession
    ) async throws(PostgresError) -> Bool {
        let cutoffs = try await session.query(
            "SELECT tokens_not_before FROM accounts WHERE account_id = \(accountID)", as: Timestamp?.self)
        return cutoffs.first.map { ProofCutoff(tokens: $0).admits(issuedAt: issuedAt) } ?? false
    }
}
