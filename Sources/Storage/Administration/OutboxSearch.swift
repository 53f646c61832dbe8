package import Accounts
package import Postgres

/// The rows of `outbox`, of every kind, as an administrator sees them.
package struct OutboxSearch: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// The newest first.
    package func list(
        status: OutboxStatus?, before cursor: OutboxID?, limit: Int
    ) async throws(PostgresError) -> Page<OutboxRecord, OutboxID> {
        try await database.page(
            OutboxSearch.statement(status: status, before: cursor, limit: limit), limit: limit, cursor: \.id,
            as: OutboxSearch.record)
    }

    static func record(_ row: PostgresRow) throws(PostgresError) -> OutboxRecord {
        let (id, kind, status, provider, identityID, template, attempts, error, createdAt, finishedAt) =
            try row.decode(
                OutboxID.self, String.self, OutboxStatus.self, String?.self, IdentityID?.self, String?.self,
                Int32.self, String?.self, Timestamp.self, Timestamp?.self)
        return OutboxRecord(
            id: id, kind: kind, status: status, provider: provider, identityID: identityID, template: template,
            attempts: Int(attempts), lastError: error, createdAt: createdAt, finishedAt: finishedAt)
    }

    static let columns: SQL =
        "message_id, kind, status, provider, identity_id, template, attempts, last_error, created_at, finished_at"

    package static func statement(status: OutboxStatus?, before cursor: OutboxID?, limit: Int) -> SQL {
        statement(columns, ofKind: nil, status: status, before: cursor, limit: limit)
    }

    /// A page of the rows of a kind, or of all. The kind is a part of the text, as the indexes have it.
    static func statement<Message>(
        _ columns: SQL, ofKind kind: Outbox.Kind?, status: OutboxStatus?, before cursor: Identifier<Message>?,
        limit: Int
    ) -> SQL {
        let ofKind: SQL =
            switch kind {
            case nil: "true"
            case .revocation: "kind = 'revocation'"
            case .mail: "kind = 'mail'"
            }
        let ofStatus: SQL = if let status { "status = \(status.rawValue)" } else { "true" }
        let isBefore: SQL = if let cursor { "message_id < \(cursor)" } else { "true" }
        return """
            SELECT \(columns)
            FROM outbox
            WHERE \(ofKind) AND \(ofStatus) AND \(isBefore)
            ORDER BY message_id DESC
            LIMIT \(limit + 1)
            """
    }
}
