package import Accounts
package import Postgres
import Primitives

/// `console_staff`, `console_flows`, and the sessions of `console_sessions` that stand for a name. Times are the
/// database's, as in ``ConsoleSessionStore``.
package struct ConsoleStaffStore: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    // MARK: The way to Google and back

    package func begin(_ flow: SecretHash, to destination: String) async throws(PostgresError) {
        _ = try await database.execute(
            "INSERT INTO console_flows (flow_hash, destination) VALUES (\(flow), \(destination))")
    }

    /// Takes a flow away.
    ///
    /// - Returns: where it leads; `nil` when it is unknown, used or over.
    package func take(_ flow: SecretHash) async throws(PostgresError) -> String? {
        try await database.query(
            """
            DELETE FROM console_flows
            WHERE flow_hash = \(flow)
            RETURNING destination, created_at > now() - \(Lifetimes.consoleFlowSeconds) * interval '1 second'
            """, as: String.self, Bool.self
        ).first.flatMap { destination, isOpen in isOpen ? destination : nil }
    }

    /// Deletes the flows that expired without an answer.
    ///
    /// - Returns: their number, at most `limit`.
    package func deleteEnded(limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(
            from: "console_flows", where: "created_at <= now() - \(Lifetimes.consoleFlowSeconds) * interval '1 second'",
            limit: limit)
    }

    // MARK: Sessions

    package enum Opening: Sendable {
        case opened
        /// The name belongs to another subject.
        case otherSubject
        /// An admin key has the name.
        case nameTaken
    }

    /// Opens a session for a name, which belongs to this subject from now on.
    ///
    /// - Parameter event: written in the same transaction.
    package func open(
        _ hash: SecretHash, for name: String, of subject: ProviderSubject, recording event: AuditEvent, by call: Call
    ) async throws -> Opening {
        try await database.change(by: call) { change in
            _ = try await change.execute(
                """
                INSERT INTO console_staff (name, subject)
                SELECT \(name), \(subject.text)
                WHERE NOT EXISTS (SELECT FROM admin_keys WHERE name = \(name) AND revoked_at IS NULL)
                ON CONFLICT (name) DO NOTHING
                """)
            let subjects = try await change.query(
                """
                SELECT s.subject, EXISTS (SELECT FROM admin_keys k WHERE k.name = s.name AND k.revoked_at IS NULL)
                FROM console_staff s
                WHERE s.name = \(name)
                FOR SHARE OF s
                """, as: String.self, Bool.self)
            guard let (known, isTaken) = subjects.first, !isTaken else { return .nameTaken }
            guard known.hasSameBytes(as: subject.text) else { return .otherSubject }
            _ = try await change.execute(
                "INSERT INTO console_sessions (session_hash, staff_name) VALUES (\(hash), \(name))")
            try await change.record(event)
            return .opened
        }
    }

    /// The name for which a live session stands.
    ///
    /// - Parameter isActivity: whether this use puts off the idle end.
    package func use(_ hash: SecretHash, isActivity: Bool) async throws(PostgresError) -> String? {
        let isLive: SQL = "session_hash = \(hash) AND staff_name IS NOT NULL AND \(ConsoleSessionStore.isLive)"
        let name = { (statement: SQL) async throws(PostgresError) in
            try await database.query(statement, as: String.self).first
        }
        let read = { () async throws(PostgresError) in
            try await name("SELECT staff_name FROM console_sessions WHERE \(isLive)")
        }
        guard isActivity else { return try await read() }
        let touch = { () async throws(PostgresError) in
            try await name("UPDATE console_sessions SET last_used_at = now() WHERE \(isLive) RETURNING staff_name")
        }
        return try await database.touching(touch, orReading: read)
    }

    /// Ends all live sessions of a name. Where there is none, nothing is recorded.
    ///
    /// - Returns: their number; `nil` for a name that has never signed in.
    package func endSessions(of name: String, by call: Call) async throws -> Int? {
        try await database.change(by: call) { change in
            guard try await change.execute("SELECT FROM console_staff WHERE name = \(name) FOR UPDATE") == 1 else {
                return nil
            }
            let ended = try await change.execute(
                "DELETE FROM console_sessions WHERE staff_name = \(name) AND \(ConsoleSessionStore.isLive)")
            guard ended > 0 else { return 0 }
            var event = AuditEvent(.consoleEnded, from: call.origin, reason: name)
            event.occurrences = Int32(clamping: ended)
            try await change.record(event)
            return ended
        }
    }

    /// Releases a name for another subject, and ends its sessions.
    ///
    /// - Returns: whether it was known.
    package func forget(_ name: String, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            guard try await change.execute("DELETE FROM console_staff WHERE name = \(name)") == 1 else { return false }
            try await change.record(.consoleForgotten, reason: name)
            return true
        }
    }
}
