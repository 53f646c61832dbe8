package import Accounts
package import Postgres

/// The bounds on an account's live sessions, and on those that are over: ended or expired. Sign-ins neither count nor wait:
/// afterwards the longest unused sessions end, and what has been over for longest is deleted.
///
/// Whose account may have too many is known from the sessions that were opened lately, which the primary key finds: an id
/// begins with its time. Each of those accounts then costs a look at twice `limit` sessions at most, by the index on
/// accounts.
extension SessionStore {
    /// Takes the look at the sessions that were opened lately, if it is due, until `claimedUntil`.
    ///
    /// - Parameters:
    ///   - earliest: where it begins at the earliest.
    ///   - latest: where it begins at the latest: a clock may have been ahead.
    /// - Returns: the session behind which it begins; `nil` where another process is at it, or was just now.
    package func claimLook(
        from earliest: SessionID, to latest: SessionID, by call: Call, claimedUntil: Timestamp
    ) async throws(PostgresError) -> SessionID? {
        try await database.query(
            """
            UPDATE session_looks
            SET due_at = \(claimedUntil)
            WHERE due_at <= \(call.now) OR due_at > \(claimedUntil)
            RETURNING CASE
                WHEN looked_until BETWEEN \(earliest) AND \(latest) THEN looked_until
                ELSE \(earliest)
            END
            """, as: SessionID.self
        ).first
    }

    /// Ends a look that was claimed until `claimedUntil`, unless another process has taken it over.
    ///
    /// - Parameter position: where the next one begins; `nil` for where this one did.
    package func endLook(
        at position: SessionID?, nextDueAt: Timestamp, claimedUntil: Timestamp
    ) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE session_looks
            SET looked_until = COALESCE(\(position), looked_until), due_at = \(nextDueAt)
            WHERE due_at = \(claimedUntil)
            """)
    }

    /// Looks at a page of sessions, in the order of their opening.
    ///
    /// - Parameter start: the session behind which the page begins.
    /// - Returns: their accounts that have more than `limit` live sessions, or more than `limit` that are over, and where the
    ///   page ended; `nil` when it was the last one.
    package func accounts(
        withMoreThan limit: Int, openedAfter start: SessionID, page: Int, by call: Call
    ) async throws(PostgresError) -> (accounts: [AccountID], last: SessionID?) {
        // With an end, though no clock is a day ahead: without one the planner expects a third of the table.
        let bound = SessionID(now: call.now.advanced(bySeconds: 86_400), random: [])
        let ends = try await database.query(
            """
            SELECT session_id
            FROM sessions
            WHERE session_id > \(start) AND session_id < \(bound)
            ORDER BY session_id
            OFFSET \(page - 1)
            LIMIT 1
            """, as: SessionID.self)
        let isOver = SessionStore.isOver(at: call.now)
        let accounts = try await database.query(
            """
            SELECT o.account_id
            FROM (SELECT DISTINCT account_id FROM sessions WHERE session_id > \(start) AND session_id <= \(ends.first ?? bound)) o
            WHERE (
                -- Of twice as many and one more there are too many of one kind.
                SELECT GREATEST(count(*) FILTER (WHERE NOT \(isOver)), count(*) FILTER (WHERE \(isOver)))
                FROM (
                    SELECT ended_at, expires_at
                    FROM sessions
                    WHERE account_id = o.account_id
                    LIMIT \(2 * limit + 1)
                ) s) > \(limit)
            """, as: AccountID.self)
        return (accounts, ends.first)
    }

    /// Ends the account's live sessions but for the `limit` that were used last, and records how many.
    ///
    /// One that another transaction has locked is in use, and stays; so does one that is refreshed meanwhile.
    ///
    /// - Parameter batch: how many end at most.
    /// - Returns: how many ended.
    package func endLongestUnused(
        of accountID: AccountID, keeping limit: Int, batch: Int, by call: Call
    ) async throws -> Int {
        try await database.change(by: call) { change in
            let ended = try await change.sessions.end(
                """
                s.session_id = ANY (ARRAY(
                    SELECT l.session_id
                    FROM (
                        SELECT session_id, last_used_at
                        FROM sessions
                        WHERE account_id = \(accountID) AND ended_at IS NULL AND expires_at > \(call.now)
                        ORDER BY last_used_at DESC, session_id DESC
                        OFFSET \(limit)
                        LIMIT \(batch)
                    ) u
                    JOIN sessions l ON l.session_id = u.session_id
                    -- Looked at again when it is locked.
                    WHERE l.ended_at IS NULL AND l.last_used_at = u.last_used_at
                    FOR NO KEY UPDATE OF l SKIP LOCKED))
                """, because: .sessionLimit)
            guard ended > 0 else { return 0 }
            var event = AuditEvent(
                .sessionsEnded, by: .service, accountID: accountID, reason: SessionEndReason.sessionLimit.rawValue)
            event.occurrences = Int32(clamping: ended)
            try await change.record(event)
            return ended
        }
    }

    /// Deletes sessions of the account that are over, but for the `limit` that were the last to end or expire.
    ///
    /// By a clock that is ahead a live one may have expired. It is the last of all, and stays where there are not too many.
    ///
    /// - Parameter batch: how many are deleted at most.
    /// - Returns: how many were.
    package func deleteOver(
        of accountID: AccountID, keeping limit: Int, batch: Int, by call: Call
    ) async throws(PostgresError) -> Int {
        let areOver: SQL = "account_id = \(accountID) AND \(SessionStore.isOver(at: call.now))"
        return try await database.delete(
            from: "sessions",
            where: """
                \(areOver) AND (COALESCE(ended_at, expires_at), session_id) < (
                    SELECT COALESCE(ended_at, expires_at), session_id
                    FROM sessions
                    WHERE \(areOver)
                    ORDER BY 1 DESC, 2 DESC
                    OFFSET \(limit - 1)
                    LIMIT 1)
                """,
            limit: batch)
    }

    /// The condition on columns of `sessions`.
    private static func isOver(at now: Timestamp) -> SQL { "(ended_at IS NOT NULL OR expires_at <= \(now))" }
}
