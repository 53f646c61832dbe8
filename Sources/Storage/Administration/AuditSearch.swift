package import Accounts
package import Postgres

extension AuditTrail {
    /// The newest first.
    package func list(
        _ filter: AuditFilter, before cursor: AuditCursor?, limit: Int
    ) async throws(PostgresError) -> Page<AuditRecord, AuditCursor> {
        let records = try await Database.planningEachTime { () async throws(PostgresError) in
            try await database.query(
                AuditTrail.statement(filter, before: cursor, limit: limit), as: AuditTrail.record)
        }
        return Page(records, limit: limit) { AuditCursor(createdAt: $0.createdAt, id: $0.id) }
    }

    /// A scan of the index of an account's rows, of the rows of a rare type, or else of all rows by their ids, which
    /// grow with time as the rows do.
    package static func statement(_ filter: AuditFilter, before cursor: AuditCursor?, limit: Int) -> SQL {
        let isById = filter.accountID == nil && (filter.kind == nil || filter.kind == .signedIn)
        let ofAccount: SQL = if let account = filter.accountID { "account_id = \(account)" } else { "true" }
        let ofKind: SQL =
            switch filter.kind {
            case nil: "true"
            // This shows the planner that the index on the rare types will do.
            case let kind? where kind != .signedIn: "type = \(kind.rawValue) AND type <> 'signed_in'"
            case let kind?: "type = \(kind.rawValue)"
            }
        let isSince: SQL =
            switch filter.since {
            case nil: "true"
            case let since? where isById: "created_at >= \(since) AND event_id >= \(AuditEventID.first(at: since))"
            case let since?: "created_at >= \(since)"
            }
        let isBefore: SQL =
            switch cursor {
            case nil: "true"
            case let cursor? where isById: "event_id < \(cursor.id)"
            case let cursor?: "(created_at, event_id) < (\(cursor.createdAt), \(cursor.id))"
            }
        return """
            SELECT event_id, type, actor, actor_name, account_id, identity_id, session_id, revocation_id, provider, jti,
                reason, request_id, network, occurrences, created_at
            FROM audit_events
            WHERE \(ofAccount) AND \(ofKind) AND \(isSince) AND \(isBefore)
            ORDER BY \(isById ? "event_id DESC" : "created_at DESC, event_id DESC" as SQL)
            LIMIT \(limit + 1)
            """
    }

    private static func record(_ row: PostgresRow) throws(PostgresError) -> AuditRecord {
        let (
            id, type, actor, actorName, accountID, identityID, sessionID, revocationID, provider, tokenID, reason,
            requestID, network, occurrences, createdAt
        ) = try row.decode(
            AuditEventID.self, String.self, String.self, String?.self, AccountID?.self, IdentityID?.self,
            SessionID?.self, RevocationID?.self, String?.self, String?.self, String?.self, String?.self, String?.self,
            Int32.self, Timestamp.self)
        return AuditRecord(
            id: id, type: type, actor: actor, actorName: actorName, accountID: accountID, identityID: identityID,
            sessionID: sessionID, revocationID: revocationID, provider: provider, tokenID: tokenID, reason: reason,
            requestID: requestID, network: network, occurrences: Int(occurrences), createdAt: createdAt)
    }
}
