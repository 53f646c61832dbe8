package import Accounts
package import Postgres

/// The sessions among which expired ones are looked for.
package enum SessionScan: CaseIterable, Sendable {
    case all
    /// Those of browsers, which end when they are not used for a while, and long before any other can have expired.
    case browsers

    fileprivate var table: SQL {
        switch self {
        case .all: "sessions"
        case .browsers: "web_sessions"
        }
    }
}

/// The deletion of old sessions: ended ones are found by an index, expired ones by scanning the oldest. The expiry has
/// no index, because each refresh would have to update it, and could then no longer be a heap-only tuple update, which
/// leaves all indexes alone.
///
/// The batch is an array, so that it is locked once and its rows are looked up by their ids, whatever the planner
/// estimates of their number.
extension SessionStore {
    package func deleteEnded(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "sessions", where: "ended_at < \(time)", limit: limit)
    }

    /// Scans a page of sessions in the order of their ids, which is that of their opening, and deletes those that
    /// expired before `time`.
    ///
    /// - Parameters:
    ///   - openedBefore: younger ones can't have expired yet.
    ///   - last: the session at which the previous page ended.
    /// - Returns: how many were deleted, and where the page ended; `nil` when it was the last one.
    package func deleteExpired(
        _ scan: SessionScan, before time: Timestamp, openedBefore: Timestamp, after last: SessionID?, page: Int
    ) async throws(PostgresError) -> (deleted: Int, last: SessionID?) {
        // An id begins with its time (RFC 9562 §5.7).
        let start = last ?? SessionID(now: Timestamp(seconds: 0), random: [])
        let bound = SessionID(now: openedBefore, random: [])
        let ends = try await database.query(
            """
            SELECT session_id
            FROM \(scan.table)
            WHERE session_id > \(start) AND session_id < \(bound)
            ORDER BY session_id
            OFFSET \(page - 1)
            LIMIT 1
            """, as: SessionID.self)
        let onPage: SQL = "session_id > \(start) AND session_id <= \(ends.first ?? bound)"
        let scanned: SQL =
            switch scan {
            case .all: onPage
            case .browsers: "session_id = ANY (ARRAY(SELECT session_id FROM web_sessions WHERE \(onPage)))"
            }
        let deleted = try await database.execute(
            """
            DELETE FROM sessions
            WHERE session_id = ANY (ARRAY(
                SELECT session_id
                FROM sessions
                WHERE \(scanned) AND expires_at < \(time) AND ended_at IS NULL
                FOR UPDATE SKIP LOCKED))
            """)
        return (deleted, ends.first)
    }
}
