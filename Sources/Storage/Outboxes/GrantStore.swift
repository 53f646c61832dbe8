package import Accounts
import KeyRing
package import Postgres

/// A grant that is due for a check.
package struct GrantCheck: Sendable {
    package let grantID: GrantID
    package let identityID: IdentityID
    package let provider: Provider
    package let clientID: ProviderClientID
    /// The provider refresh token; `nil` when the key ring can't open it any more.
    package let refreshToken: ProviderRefreshToken?
    /// Whether the provider's last answer was doubtful.
    package let isDoubted: Bool
    /// Since when it is due.
    package let dueAt: Timestamp
}

/// `provider_grants`: the provider refresh tokens that exchanged codes brought. Only revocations and checks open them.
///
/// ```
///   code exchanged ──▶ of a link ticket ──create, bind──▶ of an identity ──┬──daily check: refused──▶ no row
///                          └──────ended unspent──────▶ of a revocation ◀───┘
///                                                         └──its token is dead──▶ no row
/// ```
package struct GrantStore: Sendable {
    let database: Database
    let keyRing: KeyRing

    /// Stores the grant with the identity, in the place of an earlier one of the same client.
    ///
    /// The update of the identity also locks it. A separate lock before it would be of the row's version at that time,
    /// and the update, after a wait, of a later version: transactions that wait in between would wait for each other.
    ///
    /// - Returns: whether it is stored: not where the identity isn't linked, nor where its proof counts no more.
    package func keep(_ grant: NewGrant, for identity: VerifiedIdentity, by call: Call) async throws -> Bool {
        let sealed = try SealedGrant(grant, keyRing: keyRing)
        let key = identity.key
        let isOutdated = IdentityStore.isOutdated(
            issuedAt: "\(identity.issuedAt)", authenticatedAt: "\(identity.authenticatedAt)")
        // Retried after a deadlock: a code can't be exchanged twice.
        let kept = try await database.change(by: call) { change in
            try await change.execute(
                """
                WITH holder AS (
                    UPDATE identities i
                    SET authorization_status = 'active'
                    WHERE \(key.condition) AND NOT COALESCE(\(isOutdated), false)
                    RETURNING identity_id
                )
                INSERT INTO provider_grants (\(GrantStore.columns), identity_id)
                SELECT \(GrantStore.values(sealed, key)), holder.identity_id
                FROM holder
                ON CONFLICT ON CONSTRAINT provider_grants_identity_client_key DO UPDATE
                SET grant_id = EXCLUDED.grant_id, sealed_refresh_token = EXCLUDED.sealed_refresh_token,
                    prefix_fingerprint = EXCLUDED.prefix_fingerprint, digest_fingerprint = EXCLUDED.digest_fingerprint,
                    check_at = EXCLUDED.check_at, doubted_at = NULL, created_at = EXCLUDED.created_at
                """)
        }
        return kept == 1
    }

    static let columns: SQL = """
        grant_id, provider, realm, subject, client_id, sealed_refresh_token, prefix_fingerprint, digest_fingerprint,
        check_at, created_at
        """

    /// The values of ``columns``.
    ///
    /// A revocation ends whatever the person had authorized when the provider carried it out. If one of this subject may
    /// have come after the exchange, the grant is checked right away.
    static func values(_ grant: SealedGrant, _ key: IdentityKey) -> SQL {
        """
        \(grant.id), \(key.provider.rawValue), \(key.realm.text), \(key.subject.text), \(grant.clientID),
            \(grant.sealedRefreshToken), \(grant.fingerprints.prefix), \(grant.fingerprints.digest),
            CASE WHEN EXISTS (
                SELECT FROM outbox
                WHERE \(key.condition) AND (status = 'pending' OR finished_at >= \(grant.exchangedAt))
            ) THEN \(grant.exchangedAt) ELSE \(grant.checkAt) END,
            \(grant.exchangedAt)
        """
    }

    // MARK: - Checks

    /// Takes grants whose check is due. Their next check is scheduled at once, so that no other process takes them and
    /// no grant is checked more often, however this check ends.
    package func takeChecks(
        by call: Call, next: Timestamp, limit: Int
    ) async throws(PostgresError) -> ClaimedRows<GrantCheck> {
        let keyRing = keyRing
        let rows = try await database.query(
            """
            WITH due AS (
                SELECT grant_id, check_at
                FROM provider_grants
                WHERE identity_id IS NOT NULL AND check_at <= \(call.now)
                ORDER BY check_at
                LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE provider_grants g
            SET check_at = \(next)
            FROM due
            WHERE g.grant_id = due.grant_id
            RETURNING g.grant_id, g.identity_id, g.provider, g.client_id, g.sealed_refresh_token, g.doubted_at,
                due.check_at
            """
        ) { row throws(PostgresError) in
            try row.claimed { row throws(PostgresError) in
                let (grantID, identityID, provider, clientID, sealed, doubtedAt, dueAt) = try row.decode(
                    GrantID.self, IdentityID.self, Provider.self, ProviderClientID.self, [UInt8].self, Timestamp?.self,
                    Timestamp.self)
                return GrantCheck(
                    grantID: grantID, identityID: identityID, provider: provider, clientID: clientID,
                    refreshToken: GrantStore.open(sealed, grantID, keyRing: keyRing), isDoubted: doubtedAt != nil,
                    dueAt: dueAt)
            }
        }
        let claimed = await ClaimedRows(rows, in: database)
        guard !claimed.unreadable.isEmpty else { return claimed }
        _ = try await database.execute(
            "UPDATE provider_grants SET check_at = NULL WHERE grant_id = ANY (\(claimed.unreadable.map(\.id)))")
        return claimed
    }

    static func open(_ sealed: [UInt8], _ id: GrantID, keyRing: KeyRing) -> ProviderRefreshToken? {
        guard let bytes = try? keyRing.open(sealed, for: .grants, at: SealedGrant.location(id)) else { return nil }
        return String(validating: bytes, as: UTF8.self).map { ProviderRefreshToken($0) }
    }

    /// Notes that the provider honours the token, which ends any doubt. Only Apple's grants are checked daily.
    package func noteAlive(_ check: GrantCheck) async throws(PostgresError) {
        guard check.isDoubted || check.provider != .apple else { return }
        _ = try await database.execute(
            """
            UPDATE provider_grants
            SET doubted_at = NULL, check_at = CASE WHEN provider = 'apple' THEN check_at END
            WHERE grant_id = \(check.grantID)
            """)
    }

    /// Notes an answer that may mean that the token is dead. The next check decides.
    package func noteDoubt(_ check: GrantCheck, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            "UPDATE provider_grants SET doubted_at = \(call.now) WHERE grant_id = \(check.grantID)")
    }

    /// Deletes a grant whose token the provider no longer honours. The authorization ends with the last grant of an
    /// identity, and with it the sessions that the identity opened: unless a revocation of ours has taken the token along,
    /// which was about what its person had authorized before.
    ///
    /// - Returns: whether the authorization is over.
    package func noteDead(_ check: GrantCheck, reason: String, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            // A sign-in by it waits, and is refused then, or has opened its session before. One that has moved to another
            // account meanwhile is asked about again.
            let locked = try await change.accounts.lock(
                "a.account_id = (SELECT i.account_id FROM identities i WHERE i.identity_id = \(check.identityID))")
            guard let owner = locked.first else { return false }
            // Another grant may have replaced it since: then nothing has ended.
            let gone = try await change.query(
                """
                DELETE FROM provider_grants g
                USING identities i
                WHERE g.grant_id = \(check.grantID) AND g.identity_id = \(check.identityID)
                    AND i.identity_id = g.identity_id AND i.account_id = \(owner)
                RETURNING EXISTS (
                    SELECT FROM outbox o
                    WHERE o.kind = 'revocation' AND o.status = 'done' AND o.finished_at >= g.created_at
                        AND (o.provider, o.realm, o.subject) = (g.provider, g.realm, g.subject))
                """, as: Bool.self)
            guard let isOwnRevocation = gone.first else { return false }
            let others = try await change.execute(
                """
                UPDATE provider_grants
                SET check_at = LEAST(check_at, \(call.now))
                WHERE identity_id = \(check.identityID)
                """)
            guard others == 0 else { return false }
            let refusing: SQL = isOwnRevocation ? "" : ", not_before = GREATEST(not_before, \(call.now))"
            _ = try await change.execute(
                """
                UPDATE identities
                SET authorization_status = 'revoked'\(refusing)
                WHERE identity_id = \(check.identityID)
                """)
            if !isOwnRevocation {
                try await change.onBehalf(of: .provider).sessions.end(
                    .openedBy(check.identityID), because: .authorizationRevoked)
            }
            try await change.record(
                AuditEvent(
                    .authorizationRevoked, by: isOwnRevocation ? .service : .provider, accountID: owner,
                    identityID: check.identityID, provider: check.provider,
                    reason: isOwnRevocation ? "own_revocation" : reason))
            return true
        }
    }
}
