package import Accounts
package import Postgres

/// Lists of the trail's rows. Each scans one index from the cursor on, so that a page costs the same among hundreds of
/// millions of rows as among a hundred. The filter decides which index is scanned; its other conditions apply to the rows
/// found. A page examines ``scanLimit`` rows at most: a condition that few rows meet gives short or even empty pages, never a
/// long scan.
///
/// | filter | index scanned |
/// |---|---|
/// | `request` | the rows of the request |
/// | `account`, `identity`, `network` | those with it, by their time |
/// | `actor`, a name | those with it, by their time |
/// | `type`, but for sign-ins | those of the type, by their time |
/// | `actor`, but for people | those of the kind, by their time |
/// | else | all rows by their ids, which grow with time as the rows do |
extension AuditTrail {
    /// The most rows that a page examines.
    package static let scanLimit = 2_500

    /// The newest first.
    package func list(
        _ filter: AuditFilter, before cursor: AuditCursor?, limit: Int
    ) async throws(PostgresError) -> Page<AuditRecord, AuditCursor> {
        try await database.scannedPage(
            AuditTrail.statement(filter, before: cursor, limit: limit), limit: limit,
            cursor: { AuditCursor(createdAt: $0.createdAt, id: $0.id) },
            as: { row throws(PostgresError) in try AuditTrail.record(row) })
    }

    /// The rows of a page, as `SQL.scanning` has them.
    package static func statement(_ filter: AuditFilter, before cursor: AuditCursor?, limit: Int) -> SQL {
        let index = filter.index
        let order: SQL = index.isById ? "event_id DESC" : "created_at DESC, event_id DESC"
        let isSince: SQL =
            switch filter.since {
            case nil: "true"
            case let since? where index.isById:
                "created_at >= \(since) AND event_id >= \(AuditEventID.first(at: since))"
            case let since?: "created_at >= \(since)"
            }
        let isUntil: SQL =
            switch filter.until {
            case nil: "true"
            case let until? where index.isById:
                "created_at < \(until) AND event_id < \(AuditEventID.first(at: until))"
            case let until?: "created_at < \(until)"
            }
        let isBefore: SQL =
            switch cursor {
            case nil: "true"
            case let cursor? where index.isById: "event_id < \(cursor.id)"
            case let cursor?: "(created_at, event_id) < (\(cursor.createdAt), \(cursor.id))"
            }
        let candidates: SQL = """
            SELECT \(columns)
            FROM audit_events
            WHERE \(filter.condition(of: index)) AND \(isSince) AND \(isUntil) AND \(isBefore)
            ORDER BY \(order)
            """
        guard let others = filter.conditions(besides: index) else {
            return "SELECT \(columns), true FROM (\(candidates) LIMIT \(limit + 1)) e ORDER BY \(order)"
        }
        return .scanning(candidates, for: columns, where: others, order: order, scanLimit: scanLimit, limit: limit)
    }

    private static let columns: SQL = """
        event_id, type, actor, actor_name, account_id, identity_id, session_id, revocation_id, provider, jti, reason,
            request_id, network, occurrences, created_at
        """

    private static func record(_ row: PostgresRow) throws(PostgresError) -> (item: AuditRecord, isMatch: Bool) {
        let (
            id, type, actor, actorName, accountID, identityID, sessionID, revocationID, provider, tokenID, reason,
            requestID, network, occurrences, createdAt, isMatch
        ) = try row.decode(
            AuditEventID.self, String.self, String.self, String?.self, AccountID?.self, IdentityID?.self,
            SessionID?.self, RevocationID?.self, String?.self, String?.self, String?.self, String?.self, Network?.self,
            Int32.self, Timestamp.self, Bool.self)
        let record = AuditRecord(
            id: id, type: type, actor: actor, actorName: actorName, accountID: accountID, identityID: identityID,
            sessionID: sessionID, revocationID: revocationID, provider: provider, tokenID: tokenID, reason: reason,
            requestID: requestID, network: network, occurrences: Int(occurrences), createdAt: createdAt)
        return (record, isMatch)
    }
}

/// The indexes of the trail, the most selective first.
private enum AuditIndex: CaseIterable {
    case request, account, identity, network, actorName, type, actor, id

    var isById: Bool { self == .id }
}

extension AuditFilter {
    /// The one to be scanned.
    fileprivate var index: AuditIndex { AuditIndex.allCases.first { condition(on: $0) != nil && isIndexed($0) } ?? .id }

    private func isIndexed(_ index: AuditIndex) -> Bool {
        switch (index, actor) {
        case (.type, _): kind != .signedIn
        case (.actor, .kind(.person)?): false
        default: true
        }
    }

    fileprivate func condition(of index: AuditIndex) -> SQL {
        switch index {
        // These show the planner that the index on the rarer rows will do.
        case .type: "\(condition(on: .type) ?? "true") AND type <> 'signed_in'"
        case .actor: "\(condition(on: .actor) ?? "true") AND actor <> 'person'"
        default: condition(on: index) ?? "true"
        }
    }

    /// `nil` when there are none.
    fileprivate func conditions(besides index: AuditIndex) -> SQL? {
        AuditIndex.allCases.filter { $0 != index }.compactMap { condition(on: $0) }.reduce(nil) { sum, next in
            sum.map { "\($0) AND \(next)" } ?? next
        }
    }

    private func condition(on index: AuditIndex) -> SQL? {
        switch index {
        case .request: requestID.map { "request_id = \($0)" }
        case .account: accountID.map { "account_id = \($0)" }
        case .identity: identityID.map { "identity_id = \($0)" }
        case .network: network.map { "network = \($0)" }
        case .actorName: if case .name(let name)? = actor { "actor_name = \(name)" } else { nil }
        case .type: kind.map { "type = \($0.rawValue)" }
        case .actor: if case .kind(let kind)? = actor { "actor = \(kind.rawValue)" } else { nil }
        case .id: nil
        }
    }
}
