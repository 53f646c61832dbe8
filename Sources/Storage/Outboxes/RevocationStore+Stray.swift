package import Accounts
import Postgres

/// Authorizations that a sign-in has left at the provider, because it was refused or the database took nothing.
extension RevocationStore {
    /// Ends an authorization that no sign-in uses, in the way of an unspent ticket's: a revocation at the provider ends all
    /// that the person has authorized, so the grant is revoked only if the person has no identity and no live ticket here.
    /// If there is one, the grant is erased: a refused sign-in changes nothing of theirs.
    ///
    /// - Parameters:
    ///   - key: the person who gave the authorization.
    ///   - isAttachable: for a sign-in that nothing was wrong with: an identity of the person that has no grant of the client
    ///     gets this one. It is checked right away, since an event may have ended it while it belonged to nobody.
    ///   - event: recorded with the revocation.
    /// - Returns: the revocation; `nil` when the grant was erased or attached.
    @discardableResult
    package func end(
        _ stray: NewGrant, of key: IdentityKey, isAttachable: Bool, recording event: AuditEvent, at now: Timestamp
    ) async throws -> RevocationID? {
        try await database.transaction(retries: 2) { transaction in
            try await end(stray, of: key, isAttachable: isAttachable, recording: event, at: now, in: transaction)
        }
    }

    /// The same in a transaction, which has locked no person, account or session yet.
    @discardableResult
    func end(
        _ stray: NewGrant, of key: IdentityKey, isAttachable: Bool, recording event: AuditEvent, at now: Timestamp,
        in transaction: Transaction
    ) async throws -> RevocationID? {
        let grant = try SealedGrant(stray, keyRing: keyRing)
        // As for the grant of a ticket: meanwhile no ticket of the person is spent, and no identity of theirs unlinked.
        try await LinkStore.lock(key, in: transaction)
        // `GrantStore.keep` locks the same row, so that the identity gets no second grant of the client.
        let identities = try await transaction.execute(
            "SELECT FROM identities WHERE \(key.condition) FOR NO KEY UPDATE")
        guard identities == 0 else {
            if isAttachable { try await attach(grant, to: key, at: now, in: transaction) }
            return nil
        }
        let tickets = try await transaction.execute(
            """
            SELECT FROM link_tickets
            WHERE \(key.condition) AND consumed_at IS NULL AND expires_at > \(now)
            LIMIT 1
            """)
        guard tickets == 0 else { return nil }
        let id = RevocationID(now: now)
        try await RevocationStore.enqueue(id, of: key, at: now, in: transaction)
        _ = try await transaction.execute(
            """
            INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
                prefix_fingerprint, digest_fingerprint, revocation_id, created_at)
            VALUES (\(grant.id), \(key.provider.rawValue), \(key.realm.text), \(key.subject.text),
                \(grant.clientID), \(grant.sealedRefreshToken), \(grant.fingerprints.prefix),
                \(grant.fingerprints.digest), \(id), \(grant.exchangedAt))
            """)
        var event = event
        event.provider = key.provider
        event.revocationID = id
        try await AuditTrail.record(event, at: now, in: transaction)
        return id
    }

    /// Gives the grant to the person's identity unless it has one of the client: either ends the authorization.
    private func attach(
        _ grant: SealedGrant, to key: IdentityKey, at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) {
        let attached = try await transaction.execute(
            """
            INSERT INTO provider_grants (\(GrantStore.columns), identity_id)
            SELECT \(grant.id), \(key.provider.rawValue), \(key.realm.text), \(key.subject.text), \(grant.clientID),
                \(grant.sealedRefreshToken), \(grant.fingerprints.prefix), \(grant.fingerprints.digest), \(now),
                \(grant.exchangedAt), identity_id
            FROM identities
            WHERE \(key.condition)
            ON CONFLICT ON CONSTRAINT provider_grants_identity_client_key DO NOTHING
            """)
        guard attached == 1 else { return }
        _ = try await transaction.execute(
            "UPDATE identities SET authorization_status = 'active' WHERE \(key.condition)")
    }
}
