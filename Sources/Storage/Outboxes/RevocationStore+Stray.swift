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
    ///     gets this one, or else an open ticket of theirs if none of theirs has one. It is checked as soon as an identity has
    ///     it, since an event may have ended it before it was attached.
    ///   - event: recorded with the revocation.
    /// - Returns: the revocation; `nil` when the grant was erased or attached.
    @discardableResult
    package func end(
        _ stray: NewGrant, of key: IdentityKey, isAttachable: Bool, recording event: AuditEvent, by call: Call
    ) async throws -> RevocationID? {
        let grant = try SealedGrant(stray, keyRing: keyRing)
        return try await database.change(by: call) { change in
            try await change.revocations.end(grant, of: key, isAttachable: isAttachable, recording: event)
        }
    }
}

extension Change.Revocations {
    /// The same in a transaction, which has locked no person, account or session yet.
    @discardableResult
    func end(
        _ grant: SealedGrant, of key: IdentityKey, isAttachable: Bool, recording event: AuditEvent
    ) async throws -> RevocationID? {
        // As for the grant of a ticket: meanwhile no ticket of the person is spent, and no identity of theirs unlinked.
        try await change.links.lock(key)
        // `GrantStore.keep` locks the same row, so that the identity gets no second grant of the client.
        let identities = try await change.execute("SELECT FROM identities WHERE \(key.condition) FOR NO KEY UPDATE")
        guard identities == 0 else {
            if isAttachable { try await attach(grant, toIdentityOf: key) }
            return nil
        }
        let openTickets: SQL = "link_tickets t WHERE \(key.condition) AND consumed_at IS NULL AND expires_at > \(now)"
        let tickets = try await change.execute("SELECT FROM \(openTickets) LIMIT 1")
        guard tickets == 0 else {
            if isAttachable { try await attach(grant, of: key, toOneOf: openTickets) }
            return nil
        }
        let id = RevocationID(now: now)
        try await enqueue(id, of: key)
        _ = try await change.execute(
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
        try await change.record(event)
        return id
    }

    /// Gives the grant to the person's identity unless it has one of the client: either ends the authorization.
    private func attach(_ grant: SealedGrant, toIdentityOf key: IdentityKey) async throws(PostgresError) {
        let attached = try await change.execute(
            """
            INSERT INTO provider_grants (\(GrantStore.columns), identity_id)
            SELECT \(valuesDue(grant, key)), identity_id
            FROM identities
            WHERE \(key.condition)
            ON CONFLICT ON CONSTRAINT provider_grants_identity_client_key DO NOTHING
            """)
        guard attached == 1 else { return }
        _ = try await change.execute("UPDATE identities SET authorization_status = 'active' WHERE \(key.condition)")
    }

    /// Gives the grant to an open ticket of the person unless a ticket of theirs has one of the client, which goes to the next
    /// one that is open when its own ends. A ticket has one grant at most.
    private func attach(
        _ grant: SealedGrant, of key: IdentityKey, toOneOf openTickets: SQL
    ) async throws(PostgresError) {
        _ = try await change.execute(
            """
            INSERT INTO provider_grants (\(GrantStore.columns), ticket_hash)
            SELECT \(valuesDue(grant, key)), ticket_hash
            FROM \(openTickets)
                AND NOT EXISTS (SELECT FROM provider_grants g WHERE g.ticket_hash = t.ticket_hash)
                AND NOT EXISTS (
                    SELECT FROM provider_grants g
                    WHERE \(key.condition) AND g.client_id = \(grant.clientID) AND g.ticket_hash IS NOT NULL)
            ORDER BY expires_at DESC
            LIMIT 1
            """)
    }

    /// The values of ``GrantStore/columns``, of a grant whose check is due.
    private func valuesDue(_ grant: SealedGrant, _ key: IdentityKey) -> SQL {
        """
        \(grant.id), \(key.provider.rawValue), \(key.realm.text), \(key.subject.text), \(grant.clientID),
            \(grant.sealedRefreshToken), \(grant.fingerprints.prefix), \(grant.fingerprints.digest), \(now),
            \(grant.exchangedAt)
        """
    }
}
