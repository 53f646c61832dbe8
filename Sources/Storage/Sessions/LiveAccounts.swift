package import Accounts
package import Postgres

/// The live sessions with their accounts: looks that come at once share a statement.
package struct LiveAccounts: Sendable {
    private struct Look: Sendable {
        let id: SessionID
        let now: Timestamp
    }

    private let looks: StatementBatcher<Look, Result<LiveAccount?, PostgresError>>

    package init(database: Database) {
        looks = StatementBatcher(timeout: database.configuration.acquireTimeout, endsWithTask: true) {
            (looks, _) throws(PostgresError) in try await LiveAccounts.find(looks, in: database)
        }
    }

    /// The session with its account, if it is live.
    package func find(_ id: SessionID, by call: Call) async throws(PostgresError) -> LiveAccount? {
        try await looks.answer(Look(id: id, now: call.now)).get()
    }

    /// Planned once, as ``SessionRefreshes``' are; `position` assigns the rows to their look.
    private static func find(
        _ looks: [Look], in database: Database
    ) async throws(PostgresError) -> [Result<LiveAccount?, PostgresError>] {
        let rows = try await database.query(
            """
            WITH posted AS MATERIALIZED (
                SELECT \(looks.map(\.id)) AS session_ids, \(looks.map(\.now)) AS nows
            )
            SELECT p.position, \(LiveAccount.columns)
            FROM posted
            CROSS JOIN LATERAL unnest(session_ids, nows) WITH ORDINALITY AS p (session_id, now, position)
            CROSS JOIN LATERAL (
                SELECT s.*
                FROM sessions s
                WHERE s.session_id = p.session_id AND s.ended_at IS NULL AND s.expires_at > p.now
                LIMIT 1
            ) s
            CROSS JOIN LATERAL (SELECT a.* FROM accounts a WHERE a.account_id = s.account_id LIMIT 1) a
            LEFT JOIN LATERAL (SELECT i.* FROM identities i WHERE i.account_id = a.account_id OFFSET 0) i ON true
            ORDER BY p.position, i.created_at, i.identity_id
            """
        ) { row throws(PostgresError) in
            // A row that can't be read fails its own look.
            (try Int(from: row[0]), Result { () throws(PostgresError) in try LiveAccount.row(row, from: 1) })
        }
        let answers = Dictionary(grouping: rows, by: \.0).lazy.map { position, rows in
            (
                position,
                Result { () throws(PostgresError) in
                    var own: [(Session, AccountRow)] = []
                    for (_, row) in rows { own.append(try row.get()) }
                    return LiveAccount(own)
                }
            )
        }
        return await Array(answers, answering: looks.count, missing: nil, in: database)
    }
}

extension LiveAccount {
    /// The columns for a query that names the session `s`, its account `a` and the identities, outer-joined, `i`.
    static let columns: SQL = """
        s.session_id, s.identity_id, s.auth_time, s.amr, s.created_at, s.expires_at, s.generation,
        \(AccountRow.columns)
        """

    /// - Parameter first: where `columns` begin in the row.
    static func row(_ row: PostgresRow, from first: Int = 0) throws(PostgresError) -> (Session, AccountRow) {
        let account = try AccountRow(row, from: first + 7)
        let session = Session(
            id: try SessionID(from: row[first]), accountID: account.account.id, externalID: account.account.externalID,
            identityID: try IdentityID?(from: row[first + 1]), authenticatedAt: try Timestamp(from: row[first + 2]),
            methods: try [String](from: row[first + 3]).compactMap(AuthenticationMethod.init),
            createdAt: try Timestamp(from: row[first + 4]), expiresAt: try Timestamp(from: row[first + 5]),
            generation: try Int32(from: row[first + 6]))
        return (session, account)
    }

    /// - Parameter rows: one for each identity of the account, or one without; none when no session is live.
    init?(_ rows: [(Session, AccountRow)]) {
        guard let (session, _) = rows.first, let account = AccountRow.account(rows.map(\.1)) else { return nil }
        self.init(session: session, account: account)
    }
}
