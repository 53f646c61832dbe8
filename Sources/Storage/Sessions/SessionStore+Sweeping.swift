package import Accounts
package import Postgres

/// Sessions go in two ways: an ended one is found by the index of those, an expired one by looking through the oldest.
/// No index leads to what has expired, for each refresh would have to move the session in it, and could then no longer
/// leave all indexes alone as it does now (a heap-only tuple).
///
/// The batch is an array, so that it is locked once and its rows are looked up by their ids, whatever the planner thinks
/// of their number.
extension SessionStore {
    /// - Returns: how many were deleted.
    package func deleteEnded(before moment: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            DELETE FROM sessions
            WHERE session_id = ANY (ARRAY(
                SELECT session_id
                FROM sessions
                WHERE ended_at < \(moment)
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED))
            """)
    }

    /// Looks through a page of sessions in the order in which they were opened, which is that of their ids, and deletes
    /// those that expired before `moment`.
    ///
    /// - Parameters:
    ///   - openedBefore: younger ones can't have expired yet.
    ///   - last: the session at which the last page ended.
    /// - Returns: how many were deleted, and where the page ended; `nil` when it was the last one.
    package func deleteExpired(
        before moment: Timestamp, openedBefore: Timestamp, after last: SessionID?, page: Int
    ) async throws(PostgresError) -> (deleted: Int, last: SessionID?) {
        // The ids of a moment begin with it (RFC 9562 §5.7).
        let start = last ?? SessionID(now: Timestamp(seconds: 0), random: [])
        let bound = SessionID(now: openedBefore, random: [])
        let ends = try await database.query(
            """
            SELECT session_id
            FROM sessions
            WHERE session_id > \(start) AND session_id < \(bound)
            ORDER BY session_id
            OFFSET \(page - 1)
            LIMIT 1
            """
        ) { row throws(PostgresError) in try row.decode(SessionID.self) }
        let deleted = try await database.execute(
            """
            DELETE FROM sessions
            WHERE session_id = ANY (ARRAY(
                SELECT session_id
                FROM sessions
                WHERE session_id > \(start) AND session_id <= \(ends.first ?? bound)
                    AND expires_at < \(moment) AND ended_at IS NULL
                FOR UPDATE SKIP LOCKED))
            """)
        return (deleted, ends.first)
    }
}
