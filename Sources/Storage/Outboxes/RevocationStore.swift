package import Accounts
import KeyRing
package import Postgres

/// A revocation that this process has claimed, with the tokens that are left to revoke.
package struct ClaimedRevocation: Sendable {
    package struct Grant: Sendable {
        package let id: GrantID
        package let clientID: ProviderClientID
        /// The provider refresh token; `nil` when the key ring can't open it any more.
        package let refreshToken: ProviderRefreshToken?
    }

    package let id: RevocationID
    package let key: IdentityKey
    package let identityID: IdentityID?
    /// This attempt's number, from 1. A later claim has a higher one.
    package let attempt: Int
    /// The number of scheduled attempts that failed before this one.
    package let failures: Int
    package let grants: [Grant]
}

extension ClaimedRevocation {
    fileprivate init(_ row: PostgresRow, keyRing: KeyRing) throws(PostgresError) {
        let (id, attempt, provider, realm, subject, identityID, failures, grantIDs, clientIDs, sealed) = try row.decode(
            RevocationID.self, Int32.self, Provider.self, Realm.self, ProviderSubject.self, IdentityID?.self,
            Int32.self, [GrantID].self, [ProviderClientID].self, [[UInt8]].self)
        self.id = id
        self.key = IdentityKey(provider: provider, realm: realm, subject: subject)
        self.identityID = identityID
        self.attempt = Int(attempt)
        self.failures = Int(failures)
        self.grants = zip(grantIDs, zip(clientIDs, sealed)).map { id, grant in
            Grant(id: id, clientID: grant.0, refreshToken: GrantStore.open(grant.1, id, keyRing: keyRing))
        }
    }
}

/// The revocations of `outbox`, and the grants that they hold.
///
/// ```
///   begin ──▶ pending ──claim──▶ pending, claimed ──every token dead──▶ done
///      │         ▲                  │      │
///      │         └──postpone────────┘      └──too many attempts──▶ failed ──retry──▶ pending
///      └── no grant: done at once
/// ```
package struct RevocationStore: Sendable {
    let database: Database
    let keyRing: KeyRing
    private var outbox: Outbox { Outbox(database: database, kind: .revocation) }

    // MARK: - Work

    /// Claims revocations at a provider that are due.
    ///
    /// - Parameter lease: the seconds after which they are free again.
    package func claim(
        at provider: Provider, by call: Call, lease: Int64, limit: Int
    ) async throws -> ClaimedRows<ClaimedRevocation> {
        try await claim(
            "provider = \(provider.rawValue) AND next_attempt_at <= \(call.now)", by: call, lease: lease, limit: limit)
    }

    /// Claims the revocations of one person, due or not: the person is signing in and authorizes again.
    package func claim(
        of key: IdentityKey, by call: Call, lease: Int64
    ) async throws -> ClaimedRows<ClaimedRevocation> {
        try await claim(key.condition, by: call, lease: lease, limit: 8)
    }

    private func claim(
        _ condition: SQL, by call: Call, lease: Int64, limit: Int
    ) async throws -> ClaimedRows<ClaimedRevocation> {
        let keyRing = keyRing
        let rows = try await database.query(
            """
            \(outbox.claiming(outbox.claimable(condition, limit: limit), lease: lease))
            SELECT c.message_id, c.attempts, c.provider, c.realm, c.subject, c.identity_id, c.failures,
                array_remove(array_agg(g.grant_id), NULL), array_remove(array_agg(g.client_id), NULL),
                array_remove(array_agg(g.sealed_refresh_token), NULL)
            FROM claimed c
            LEFT JOIN provider_grants g ON g.revocation_id = c.message_id
            GROUP BY c.message_id, c.provider, c.realm, c.subject, c.identity_id, c.attempts, c.failures
            """
        ) { row throws(PostgresError) in
            try row.claimed(attempt: 1) { row throws(PostgresError) in try ClaimedRevocation(row, keyRing: keyRing) }
        }
        let claimed = await ClaimedRows(rows, in: database)
        // If that fails, the claim lapses and a later one gives them up; the readable ones don't wait for it.
        try? await giveUp(claimed.unreadable, by: call)
        return claimed
    }

    private func giveUp(_ rows: [UnreadableRow], by call: Call) async throws {
        guard !rows.isEmpty else { return }
        try await database.change(by: call) { change in
            let given = try await outbox.giveUp(rows, by: call, in: change)
            for (id, account) in given {
                let event = AuditEvent(
                    .revocationFailed, by: .service, accountID: account, revocationID: RevocationID(uuid: id.uuid),
                    reason: UnreadableRow.reason)
                try await change.record(event)
            }
        }
    }

    /// Deletes a grant whose token the provider no longer honours, so that less is left to do if the attempt is
    /// interrupted here.
    package func forget(_ grant: ClaimedRevocation.Grant) async throws(PostgresError) {
        _ = try await database.execute(
            "DELETE FROM provider_grants WHERE grant_id = \(grant.id) AND revocation_id IS NOT NULL")
    }

    /// Ends a revocation whose tokens are all dead, and with it those that had failed and whose tokens it took over. Grants
    /// that the person has given since may have died with them, and are checked.
    package func finish(_ revocation: ClaimedRevocation, by call: Call) async throws {
        try await database.change(by: call) { change in
            guard try await change.revocations.end(revocation, .done, error: nil) else { return }
            let key = revocation.key
            // The identity is locked first, as when a grant is kept. This is a statement of its own: when two
            // revocations of one person end at the same time, the later one has to see that the earlier one has ended.
            let identities: SQL = "identity_id = \(revocation.identityID) OR \(key.condition)"
            _ = try await change.execute(
                "SELECT FROM identities WHERE \(identities) ORDER BY identity_id FOR NO KEY UPDATE")
            _ = try await change.execute(
                """
                UPDATE identities
                SET authorization_status = 'revoked'
                WHERE (\(identities)) AND authorization_status = 'revoking'
                    AND NOT EXISTS (SELECT FROM \(RevocationStore.rows(.pending, of: key)))
                """)
            _ = try await change.execute(
                """
                UPDATE provider_grants
                SET check_at = \(call.now)
                WHERE revocation_id IS NULL AND \(key.condition)
                """)
            try await change.revocations.endFailed(of: key)
        }
    }

    /// Releases a revocation after an attempt out of schedule that failed; its schedule stays as it was.
    package func release(_ revocation: ClaimedRevocation, error: String) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE outbox
            SET claimed_until = NULL, last_error = \(error)
            WHERE \(Outbox.isHeld(revocation.id, attempt: revocation.attempt))
            """)
    }

    /// Schedules the next attempt after one that failed.
    package func postpone(
        _ revocation: ClaimedRevocation, error: String, until nextAttempt: Timestamp
    ) async throws(PostgresError) {
        try await outbox.postpone(revocation.id, attempt: revocation.attempt, error: error, until: nextAttempt)
    }

    /// Gives the revocation up. The tokens are kept for the next attempt.
    package func giveUp(_ revocation: ClaimedRevocation, error: String, by call: Call) async throws {
        try await database.change(by: call) { change in
            _ = try await change.revocations.end(revocation, .failed, error: error)
        }
    }

    // MARK: - Queries

    /// What is pending of a person, or has failed, found by the index on subjects: where nothing was when the table was
    /// analyzed, a kept plan would go through all that is by now.
    static func rows(_ status: OutboxStatus, of key: IdentityKey) -> SQL {
        """
        (
            SELECT message_id, identity_id, created_at
            FROM (SELECT message_id, identity_id, created_at, status FROM outbox WHERE \(key.condition) OFFSET 0) o
            WHERE status = \(status.rawValue)
        ) p
        """
    }

    package func isPending(of key: IdentityKey) async throws(PostgresError) -> Bool {
        let pending = try await database.query(
            "SELECT EXISTS (SELECT FROM \(RevocationStore.rows(.pending, of: key)))", as: Bool.self)
        return pending == [true]
    }

    package func backlog() async throws(PostgresError) -> OutboxBacklog { try await outbox.backlog() }

    /// Deletes the revocations that were done before `time`.
    package func deleteDone(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(
            from: "outbox", where: "kind = 'revocation' AND status = 'done' AND finished_at < \(time)", limit: limit)
    }

    /// Erases the subjects of the revocations that were done before `time`, and whose account they were of.
    package func eraseSubjects(endedBefore time: Timestamp, limit: Int) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE outbox
            SET subject = NULL, account_id = NULL
            WHERE message_id IN (
                SELECT o.message_id
                FROM outbox o
                WHERE o.subject IS NOT NULL AND o.status = 'done' AND o.finished_at < \(time)
                    -- A grant that it may have taken along is judged by it.
                    AND NOT EXISTS (
                        SELECT FROM provider_grants g
                        WHERE (g.provider, g.realm, g.subject) = (o.provider, o.realm, o.subject)
                            AND g.created_at <= o.finished_at)
                LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED)
            """)
    }
}

extension Change.Revocations {
    /// Enqueues the end of the person's authorization, in the transaction that decides it. With it ends every grant of
    /// the subject, whether an identity or a link ticket holds it.
    @discardableResult
    func begin(
        _ key: IdentityKey, identityID: IdentityID? = nil, of accountID: AccountID? = nil
    ) async throws -> Revocation {
        let id = RevocationID(now: now)
        try await enqueue(id, of: key, identityID: identityID, account: accountID)
        let moved = try await change.execute(
            """
            UPDATE provider_grants
            SET revocation_id = \(id), identity_id = NULL, ticket_hash = NULL, check_at = NULL
            WHERE \(key.condition) AND (
                revocation_id IS NULL
                OR revocation_id IN (SELECT message_id FROM outbox WHERE status = 'failed' AND \(key.condition)))
            """)
        if moved == 0, let pending = try await pending(of: key, identityID: identityID, besides: id) {
            // Requested before and still pending: this is the same revocation. One of an identity that the person had before
            // is another account's: its end announces nothing of this one.
            _ = try await change.execute("DELETE FROM outbox WHERE message_id = \(id)")
            return pending
        }
        guard moved == 0 else {
            return Revocation(
                id: id, provider: key.provider, identityID: identityID, status: .pending, attempts: 0, lastError: nil,
                createdAt: now, finishedAt: nil)
        }
        _ = try await change.execute(
            """
            UPDATE outbox
            SET status = 'done', last_error = \(Revocation.noGrant), subject = NULL, account_id = NULL,
                finished_at = \(now)
            WHERE message_id = \(id)
            """)
        announceEnd(of: identityID, key.provider, account: accountID)
        return Revocation(
            id: id, provider: key.provider, identityID: identityID, status: .done, attempts: 0,
            lastError: Revocation.noGrant, createdAt: now, finishedAt: now)
    }

    /// Writes the row of a revocation. The caller moves the grants to it.
    func enqueue(
        _ id: RevocationID, of key: IdentityKey, identityID: IdentityID? = nil, account: AccountID? = nil
    ) async throws(PostgresError) {
        _ = try await change.execute(
            """
            INSERT INTO outbox (message_id, kind, provider, realm, subject, identity_id, account_id, next_attempt_at,
                created_at)
            VALUES (\(id), 'revocation', \(key.provider.rawValue), \(key.realm.text), \(key.subject.text),
                \(identityID), \(account), \(now), \(now))
            """)
    }

    /// The revocations of a merged account that are still to be done become those of the account it was merged into, which
    /// hears of their end: the merged one has had its last event.
    func reassign(from merged: AccountID, to accountID: AccountID) async throws(PostgresError) {
        _ = try await change.execute(
            """
            UPDATE outbox
            SET account_id = \(accountID)
            WHERE account_id = \(merged) AND kind = 'revocation' AND status <> 'done'
            """)
    }

    /// Announces that a revocation is done; of one that no account has asked for there is nothing to say.
    private func announceEnd(of identityID: IdentityID?, _ provider: Provider, account: AccountID?) {
        guard let identityID, let account else { return }
        change.announce(.authorizationRevoked(identityID, provider), of: account)
    }

    fileprivate func pending(
        of key: IdentityKey, identityID: IdentityID?, besides id: RevocationID
    ) async throws(PostgresError) -> Revocation? {
        let ids = try await change.query(
            """
            SELECT message_id
            FROM \(RevocationStore.rows(.pending, of: key))
            WHERE message_id <> \(id) AND identity_id IS NOT DISTINCT FROM \(identityID)
            ORDER BY created_at
            LIMIT 1
            """, as: RevocationID.self)
        guard let id = ids.first else { return nil }
        return try await RevocationRecords.revocation(id, in: change)
    }

    /// - Returns: whether it was ended here. If another process has claimed it meanwhile, that one ends it.
    fileprivate func end(_ revocation: ClaimedRevocation, _ status: OutboxStatus, error: String?) async throws -> Bool {
        let accounts = try await change.query(
            """
            UPDATE outbox
            SET status = \(status.rawValue), claimed_until = NULL, last_error = \(error), finished_at = \(now)
            WHERE \(Outbox.isHeld(revocation.id, attempt: revocation.attempt))
            RETURNING account_id
            """, as: AccountID?.self)
        guard let account = accounts.first else { return false }
        try await announceOutcome(
            status, of: revocation.id, revocation.key.provider, revocation.identityID, account, error: error)
        return true
    }

    /// Ends those that have failed and whose tokens another one has taken over and revoked.
    fileprivate func endFailed(of key: IdentityKey) async throws {
        let ended = try await change.query(
            """
            UPDATE outbox o
            SET status = 'done', finished_at = \(now)
            FROM \(RevocationStore.rows(.failed, of: key))
            WHERE o.message_id = p.message_id AND o.status = 'failed'
                AND NOT EXISTS (SELECT FROM provider_grants g WHERE g.revocation_id = o.message_id)
            RETURNING o.message_id, o.identity_id, o.account_id
            """, as: RevocationID.self, IdentityID?.self, AccountID?.self)
        for (id, identityID, account) in ended {
            try await announceOutcome(.done, of: id, key.provider, identityID, account, error: nil)
        }
    }

    /// Announces that a revocation is done, and records that or that it has failed.
    private func announceOutcome(
        _ status: OutboxStatus, of id: RevocationID, _ provider: Provider, _ identityID: IdentityID?,
        _ account: AccountID?, error: String?
    ) async throws {
        if status == .done { announceEnd(of: identityID, provider, account: account) }
        try await change.record(
            AuditEvent(
                status == .done ? .revocationDone : .revocationFailed, by: .service, accountID: account,
                identityID: identityID, revocationID: id, provider: provider, reason: error))
    }
}
