import Accounts
import Postgres
import TestSupport

/// An invariant of the rows alone, which holds whenever no change is in progress.
enum WalkInvariant: String, CaseIterable, Sendable {
    case oneIdentityOfAProvider = "an account has two identities of a provider and realm"
    case sessionOfLinkedIdentity = "a session lives whose identity is not linked to its account"
    case sessionOfActiveAccount = "a session lives of an account that is not active"
    case linkOfActiveAccount = "a client is linked to an account that is not active"
    case wayIn = "there is no way into an active account"
    case passwordWithAddress = "a password has no address to sign in with, and none was taken"
    case grantOfItsHolder = "a grant is held by what is not its person's"
    case grantInForce = "an identity has a grant and is not authorized"
    case revocationUnderWay = "an identity's revocation is under way and not in the outbox"
    case doneHoldsNothing = "a revocation is done and holds a grant"
    case oneOwnerOfAnAddress = "two accounts have one address"
    case sessionLineage = "a session's generations are out of order"
    case provenAddress = "an address is proven that nobody in the account has proven"
    case seenWays = "an account was entered by its mailbox, beside a way in that was neither shown nor proven"

    /// The invariants that are broken, each with one of the rows that break it.
    static func broken(in database: Database, at now: Timestamp) async throws -> [WalkInvariant: String] {
        let file = try DataFile("SQL/Invariants.sql")
        let parts = try allCases.map { invariant -> SQL in
            let breaches = SQL(unsafeSQL: try file.part("\(invariant)"))
            return "(SELECT \(invariant.rawValue) AS invariant, b.row FROM (\(breaches)) b (row) LIMIT 1)"
        }
        let all = parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" as SQL }
        let rows = try await database.query(
            "WITH clock (now) AS (SELECT \(now)::timestamptz) \(all)", as: String.self, String.self)
        return Dictionary(
            rows.compactMap { name, row in WalkInvariant(rawValue: name).map { ($0, row) } }
        ) { first, _ in first }
    }
}

/// The invariant between answers and rows: a change that was answered as done is in the audit trail.
enum WalkRecord {
    /// The changes that were answered as done and have no audit record, as sentences. One that repeats another may be in a
    /// sum, which has the request of the first alone.
    static func missing(_ changes: [WalkChange], in database: Database, since: Timestamp) async throws -> [String] {
        let kinds = Set(changes.flatMap(\.kinds))
        guard !kinds.isEmpty else { return [] }
        let rows = try await database.query(
            """
            SELECT type, request_id, occurrences
            FROM audit_events
            WHERE type = ANY (\(kinds.map(\.rawValue))) AND created_at >= \(since)
            """, as: String.self, String?.self, Int.self)
        let recorded = Set(rows.compactMap { type, requestID, _ in requestID.map { "\(type) \($0)" } })
        var summed: [String: Int] = [:]
        for (type, requestID, occurrences) in rows {
            summed[type, default: 0] += occurrences - (requestID == nil ? 0 : 1)
        }
        let missing = changes.filter { change in
            if change.kinds.contains(where: { recorded.contains("\($0.rawValue) \(change.requestID)") }) {
                return false
            }
            guard let sum = change.kinds.map(\.rawValue).first(where: { summed[$0, default: 0] > 0 }) else {
                return true
            }
            summed[sum, default: 0] -= 1
            return false
        }
        var sentences: [String] = []
        for change in missing {
            let left = try await database.query(
                "SELECT type, created_at FROM audit_events WHERE request_id = \(change.requestID)",
                as: String.self, Timestamp.self)
            let rows = left.map { "\($0) at \($1.rfc3339)" }.joined(separator: ", ")
            sentences.append(
                "no audit record of \(change.kinds[0].rawValue) by \(change.requestID) since \(since.rfc3339)"
                    + (rows.isEmpty ? "" : ", which left \(rows)"))
        }
        return sentences
    }
}
