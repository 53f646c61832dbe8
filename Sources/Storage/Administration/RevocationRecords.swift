package import Accounts
package import Postgres

/// The revocations in `outbox`, as administrators see them and schedule them again.
package struct RevocationRecords: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// The newest first.
    package func list(
        status: OutboxStatus?, before cursor: RevocationID?, limit: Int
    ) async throws(PostgresError) -> Page<Revocation, RevocationID> {
        try await database.page(
            RevocationRecords.statement(status: status, before: cursor, limit: limit), limit: limit, cursor: \.id,
            as: RevocationRecords.revocation)
    }

    package static func statement(status: OutboxStatus?, before cursor: RevocationID?, limit: Int) -> SQL {
        OutboxSearch.statement(columns, ofKind: .revocation, status: status, before: cursor, limit: limit)
    }

    /// Schedules again a revocation that was given up, from the start of its schedule; a pending one becomes due at
    /// once. One that is done stays so, as does one whose grants a newer revocation has taken over.
    ///
    /// - Returns: the revocation as it is now; `nil` when there is none.
    package func retry(_ id: RevocationID, reason: String?, by call: Call) async throws -> Revocation? {
        try await database.change(by: call) { change in
            let accounts = try await change.query(
                """
                UPDATE outbox
                SET status = 'pending', failures = 0, next_attempt_at = \(call.now), finished_at = NULL
                WHERE message_id = \(id) AND kind = 'revocation' AND status <> 'done'
                    AND EXISTS (SELECT FROM provider_grants WHERE revocation_id = message_id)
                RETURNING account_id
                """, as: AccountID?.self)
            let revocation = try await RevocationRecords.revocation(id, in: change)
            if let revocation, let account = accounts.first {
                var event = AuditEvent(
                    .revocationRetried, from: call.origin, accountID: account, identityID: revocation.identityID,
                    provider: revocation.provider, reason: reason)
                event.revocationID = id
                try await change.record(event)
            }
            return revocation
        }
    }

    package func revocation(_ id: RevocationID) async throws(PostgresError) -> Revocation? {
        try await RevocationRecords.revocation(id, in: database)
    }

    static func revocation(
        _ id: RevocationID, in session: some PostgresSession
    ) async throws(PostgresError) -> Revocation? {
        try await session.query(
            "SELECT \(columns) FROM outbox WHERE message_id = \(id) AND kind = 'revocation'", as: revocation
        ).first
    }

    private static let columns: SQL =
        "message_id, provider, identity_id, status, attempts, last_error, created_at, finished_at"

    /// - Parameter row: of the `columns`.
    private static func revocation(_ row: PostgresRow) throws(PostgresError) -> Revocation {
        let (id, provider, identityID, status, attempts, error, createdAt, finishedAt) = try row.decode(
            RevocationID.self, Provider.self, IdentityID?.self, OutboxStatus.self, Int32.self, String?.self,
            Timestamp.self, Timestamp?.self)
        return Revocation(
            id: id, provider: provider, identityID: identityID, status: status, attempts: Int(attempts),
            lastError: error, createdAt: createdAt, finishedAt: finishedAt)
    }
}
