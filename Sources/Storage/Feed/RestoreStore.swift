package import Accounts
package import Postgres

/// `restores`: when this database was restored to an earlier time, so that what had ended since ends again.
package struct RestoreStore: Sendable {
    private let database: Database
    private let sendsMail: Bool

    /// - Parameter sendsMail: whether a person who has an address and no password can get in.
    package init(database: Database, sendsMail: Bool) {
        self.database = database
        self.sendsMail = sendsMail
    }

    /// Notes the restore: sessions that are older no longer get a successor for a token that this database does not know of.
    package func note(_ restoredTo: Timestamp, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            "INSERT INTO restores (noted_at, restored_to) VALUES (\(call.now), \(restoredTo)) ON CONFLICT DO NOTHING")
    }

    /// Ends the replacements of an address that are pending: no event says which were stopped since.
    ///
    /// - Returns: how many.
    package func endEmailReplacements(by call: Call) async throws -> Int {
        let ids = try await database.query(
            "SELECT account_id FROM email_replacements ORDER BY account_id", as: AccountID.self)
        var count = 0
        for id in ids {
            let isEnded = try await database.change(by: call) { change in
                guard try await change.accounts.lock(id) != nil else { return false }
                return try await change.emailReplacements.end(of: id, because: .databaseRestored)
            }
            if isEnded { count += 1 }
        }
        return count
    }

    /// Ends all sessions of the console: those that staff had closed since are open again.
    ///
    /// - Returns: how many.
    package func endConsoleSessions() async throws(PostgresError) -> Int {
        try await database.execute("DELETE FROM console_sessions")
    }

    /// Has the providers asked within the hour which authorizations are still honoured, as many at a time as ever.
    package func bringChecksForward(by call: Call) async throws(PostgresError) {
        var last: GrantID?
        while true {
            let batch = try await database.query(
                """
                UPDATE provider_grants g
                SET check_at = LEAST(g.check_at, \(call.now) + random() * interval '1 hour')
                FROM (
                    SELECT grant_id
                    FROM provider_grants
                    WHERE revocation_id IS NULL AND check_at IS NOT NULL
                        AND grant_id > COALESCE(\(last), '00000000-0000-0000-0000-000000000000'::uuid)
                    ORDER BY grant_id
                    LIMIT \(Self.batch)
                ) b
                WHERE g.grant_id = b.grant_id
                RETURNING g.grant_id
                """, as: GrantID.self)
            guard !batch.isEmpty else { return }
            last = batch.max { $0.description < $1.description }
        }
    }

    private static let batch = 5000

    package func record(_ what: String, by call: Call) async throws {
        try await database.change(by: call) { change in try await change.record(.databaseReconciled, reason: what) }
    }

    /// The accounts that have a session or a linked client, by their ids.
    package func enteredAccounts(after id: AccountID?, limit: Int) async throws(PostgresError) -> [AccountID] {
        try await database.query(
            """
            SELECT a.account_id
            FROM accounts a
            WHERE a.account_id > COALESCE(\(id), '00000000-0000-0000-0000-000000000000'::uuid) AND (
                EXISTS (SELECT FROM sessions s WHERE s.account_id = a.account_id AND s.ended_at IS NULL)
                OR EXISTS (SELECT FROM oauth_grants g WHERE g.account_id = a.account_id))
            ORDER BY a.account_id
            LIMIT \(limit)
            """, as: AccountID.self)
    }

    package func endSessions(of id: AccountID, by call: Call) async throws -> ReconciledParts {
        try await database.change(by: call) { change in
            var parts = ReconciledParts()
            guard try await change.accounts.lock(id) != nil else { return parts }
            parts.sessions = try await change.sessions.end("s.account_id = \(id)", because: .administrator)
            parts.clients = try await change.linkedClients(of: id)
            try await change.oauthGrants.end(allOf: id, because: .administrator)
            return parts
        }
    }

    /// How many events the database lacks of those up to these numbers. An account that had ended by then, and is not here,
    /// lacks none: its number is not kept for ever.
    package func eventsLacking(_ reached: [AccountID: ReachedNumber]) async throws(PostgresError) -> Int {
        var (left, count) = (Array(reached)[...], 0)
        while !left.isEmpty {
            let batch = left.prefix(Self.batch)
            left = left.dropFirst(Self.batch)
            let lacking = try await database.query(
                """
                SELECT COALESCE(sum(GREATEST(p.sequence - COALESCE(s.last_sequence, 0), 0)), 0)::bigint
                FROM unnest(\(batch.map(\.key)), \(batch.map(\.value.sequence)), \(batch.map(\.value.hasEnded)))
                    AS p (account_id, sequence, has_ended)
                LEFT JOIN account_sequences s ON s.account_id = p.account_id
                WHERE s.account_id IS NOT NULL OR NOT p.has_ended
                    OR EXISTS (SELECT FROM accounts a WHERE a.account_id = p.account_id)
                """, as: Int.self)
            count += lacking.first ?? 0
        }
        return count
    }

    /// Ends what had ended of an account, and gives its next event a number above those that were given before.
    ///
    /// - Parameters:
    ///   - events: in the order of their sequence.
    ///   - reached: the highest number of the events that were left out as too old; 0 for none.
    ///   - heir: where all mergers have led, if it was merged; `nil` when that account was deleted.
    ///   - since: what the database was restored to. An event before it counts when the database lacks it.
    package func end(
        _ events: [PastEvent], of id: AccountID, behind reached: Int64, mergedInto heir: AccountID?, since: Timestamp,
        by call: Call
    ) async throws -> ReconciledParts {
        try await database.change(by: call) { change in
            var parts = ReconciledParts()
            let account = try await change.accounts.lock(id)
            let known = try await change.lastNumber(of: id)
            let lacking = events.filter { $0.sequence > known || $0.happenedAt >= since }
            let highest = events.last?.sequence ?? 0
            let counted = max(known, reached)
            let missing = highest - counted - Int64(Set(events.map(\.sequence).filter { $0 > counted }).count)
            parts.eventsMissing = Int(clamping: max(0, missing))
            let ended = EndedParts(lacking)
            guard let account else {
                let isNew = lacking.contains { if case .accountCreated = $0.meaning { true } else { false } }
                parts.accountsLost = isNew && !ended.isDeleted && ended.mergedInto == nil ? 1 : 0
                try await change.number(behind: highest, ofDeleted: id)
                return parts
            }
            var isGone = ended.isDeleted
            if ended.mergedInto != nil, !isGone {
                // Where the other account is lost this one is all that its person has here, and stays.
                isGone = if let heir { try await change.has(heir, besides: id) } else { true }
            }
            if isGone {
                try await change.accounts.delete(
                    account, recording: AuditEvent(.accountDeleted, from: call.origin, reason: Self.reason))
                parts.accountsDeleted = 1
            } else {
                if ended.isOutdated || ended.mergedInto != nil { parts.accountsOutdated.insert(id) }
                if ended.mergedInto != nil {
                    try await change.identities.refuseTokens(issuedBefore: call.now, of: id)
                }
                try await change.end(ended, of: account, sendsMail: sendsMail, &parts)
            }
            // Behind all other locks, and before the events of this change get their numbers.
            try await change.number(behind: highest, of: id)
            return parts
        }
    }

    /// In the audit trail.
    fileprivate static let reason = "ended before the restore"
}

extension Change {
    fileprivate func lastNumber(of id: AccountID) async throws(PostgresError) -> Int64 {
        try await query("SELECT last_sequence FROM account_sequences WHERE account_id = \(id)", as: Int64.self).first
            ?? 0
    }

    /// Sees to it that the account's next event has a number above this one.
    fileprivate func number(behind last: Int64, of id: AccountID) async throws(PostgresError) {
        _ = try await execute(
            """
            INSERT INTO account_sequences AS s (account_id, last_sequence)
            VALUES (\(id), \(last))
            ON CONFLICT (account_id) DO UPDATE SET last_sequence = GREATEST(s.last_sequence, EXCLUDED.last_sequence)
            """)
    }

    /// The same of an account that is gone: a revocation of its may still be announced. One that never was has no number.
    fileprivate func number(behind last: Int64, ofDeleted id: AccountID) async throws(PostgresError) {
        _ = try await execute(
            "UPDATE account_sequences SET last_sequence = GREATEST(last_sequence, \(last)) WHERE account_id = \(id)")
    }

    fileprivate func has(_ heir: AccountID, besides id: AccountID) async throws(PostgresError) -> Bool {
        let found = try await query(
            "SELECT EXISTS (SELECT FROM accounts WHERE account_id = \(heir) AND account_id <> \(id))", as: Bool.self)
        return found == [true]
    }

    fileprivate func linkedClients(of id: AccountID) async throws(PostgresError) -> Int {
        try await query("SELECT count(*) FROM oauth_grants WHERE account_id = \(id)", as: Int.self).first ?? 0
    }

    /// - Parameter account: locked.
    fileprivate func end(
        _ ended: EndedParts, of account: Account, sendsMail: Bool, _ parts: inout ReconciledParts
    ) async throws {
        let ids = Array(ended.sessions)
        parts.sessions += try await sessions.end(
            """
            s.account_id = \(account.id)
                AND (s.session_id = ANY (\(ids)) OR s.created_at < \(ended.sessionsBefore)::timestamptz)
            """, because: .administrator)
        let staysActive = account.status == .active && !ended.isDisabled
        var left = account
        for identity in account.identities {
            var event = AuditEvent(.revocationRequested, from: call.origin, reason: RestoreStore.reason)
            event.provider = identity.key.provider
            let isUnlinked = ended.identities.contains(identity.id)
            // The database lacks what let the person in when they unlinked it: it is the last way in again, and stays.
            let isLast = isUnlinked && staysActive && !left.hasSignInMethod(besides: identity.id)
            if isLast { parts.accountsOutdated.insert(account.id) }
            if isUnlinked, !isLast {
                try await accounts.unlink(identity, of: account.id, reason: .identityUnlinked, event: event)
                left.identities.removeAll { $0.id == identity.id }
                parts.identities += 1
            } else if isLast || ended.authorizations.contains(identity.id),
                ![.revoking, .revoked].contains(identity.authorization)
            {
                _ = try await accounts.revokeAuthorization(of: identity, in: account.id, event: event)
                parts.authorizations += 1
            } else if isLast {
                // Its authorization is over already; what was opened by it since is not.
                try await sessions.end(.openedBy(identity.id), because: .authorizationRevoked)
                try await accounts.refuseTokens(of: identity.id)
            }
        }
        if try await removePassword(ended, of: left, sendsMail: sendsMail) { parts.passwords = 1 }
        for client in ended.clients {
            let isEnded = try await oauthGrants.end(client, of: account, except: nil, reason: RestoreStore.reason)
            parts.clients += isEnded ? 1 : 0
        }
        if ended.isDisabled, account.status == .active {
            try await accounts.disable(account, reason: RestoreStore.reason)
            parts.accountsDisabled = 1
        }
    }

    /// Removes a password of before a change where its owner gets in without it: who had come by it may be the reason for
    /// the change. One that was set behind the restore stays.
    ///
    /// - Parameter account: locked, with the identities that are left.
    /// - Returns: whether there was one.
    private func removePassword(
        _ ended: EndedParts, of account: Account, sendsMail: Bool
    ) async throws(PostgresError) -> Bool {
        let readsMail = sendsMail && account.isEmailVerified && !ended.isEmailChanged
        guard let changedAt = ended.passwordChangedAt, account.hasPassword,
            readsMail || account.identities.contains(where: { !$0.isBlocked })
        else { return false }
        let changes = [AuditEvent.Kind.passwordChanged.rawValue, AuditEvent.Kind.passwordReset.rawValue]
        let removed = try await execute(
            """
            UPDATE accounts a
            SET password_hash = NULL
            WHERE account_id = \(account.id) AND NOT EXISTS (
                SELECT FROM audit_events e
                WHERE e.account_id = a.account_id AND e.created_at >= \(changedAt) AND e.type = ANY (\(changes)))
            """)
        guard removed == 1 else { return false }
        announce(.passwordChanged(by: .policy), of: account.id)
        try await record(.passwordChanged, accountID: account.id, reason: RestoreStore.reason)
        return true
    }
}
