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

    /// The rows that break it.
    fileprivate func breaches(at now: Timestamp) -> SQL {
        switch self {
        case .oneIdentityOfAProvider:
            """
            SELECT account_id::text FROM identities
            GROUP BY account_id, provider, realm HAVING count(*) > 1
            """
        case .sessionOfLinkedIdentity:
            // Unlinking clears the reference: a session that a provider opened has then no identity, but still the time
            // of the provider's authentication.
            """
            SELECT s.session_id::text
            FROM sessions s
            LEFT JOIN identities i ON i.identity_id = s.identity_id
            WHERE s.ended_at IS NULL AND s.expires_at > \(now) AND s.provider_auth_time IS NOT NULL
                AND i.account_id IS DISTINCT FROM s.account_id
            """
        case .sessionOfActiveAccount:
            """
            SELECT s.session_id::text
            FROM sessions s
            JOIN accounts a ON a.account_id = s.account_id
            WHERE s.ended_at IS NULL AND s.expires_at > \(now) AND a.status <> 'active'
            """
        case .linkOfActiveAccount:
            // Chains, codes and tokens go with the grant: what the client holds is good for nothing.
            """
            SELECT g.grant_id::text
            FROM oauth_grants g
            JOIN accounts a ON a.account_id = g.account_id
            WHERE a.status <> 'active'
            """
        case .wayIn: WalkLedger.lockedOut
        case .passwordWithAddress:
            // Where a reader of the mailbox has taken the address, the password waits for another one.
            """
            SELECT account_id::text
            FROM accounts
            WHERE password_hash IS NOT NULL AND email IS NULL AND email_taken_at IS NULL
            """
        case .grantOfItsHolder:
            """
            SELECT g.grant_id::text
            FROM provider_grants g
            LEFT JOIN identities i ON i.identity_id = g.identity_id
            LEFT JOIN link_tickets t ON t.ticket_hash = g.ticket_hash
            LEFT JOIN outbox o ON o.message_id = g.revocation_id
            WHERE num_nonnulls(g.identity_id, g.ticket_hash, g.revocation_id) <> 1
                OR (g.provider, g.realm, g.subject) IS DISTINCT FROM (
                    COALESCE(i.provider, t.provider, o.provider), COALESCE(i.realm, t.realm, o.realm),
                    COALESCE(i.subject, t.subject, o.subject))
            """
        case .grantInForce:
            """
            SELECT g.grant_id::text
            FROM provider_grants g
            JOIN identities i ON i.identity_id = g.identity_id
            WHERE i.authorization_status <> 'active'
            """
        case .revocationUnderWay:
            """
            SELECT i.identity_id::text
            FROM identities i
            WHERE i.authorization_status = 'revoking' AND NOT EXISTS (
                SELECT FROM outbox o
                WHERE o.status <> 'done' AND o.provider = i.provider AND o.realm = i.realm AND o.subject = i.subject)
            """
        case .doneHoldsNothing:
            """
            SELECT g.grant_id::text
            FROM provider_grants g
            JOIN outbox o ON o.message_id = g.revocation_id
            WHERE o.status = 'done'
            """
        case .oneOwnerOfAnAddress:
            "SELECT email FROM accounts WHERE email IS NOT NULL GROUP BY email HAVING count(*) > 1"
        case .sessionLineage:
            "SELECT session_id::text FROM sessions WHERE parent_generation >= generation"
        case .provenAddress: WalkLedger.unprovenAddresses
        case .seenWays: WalkLedger.unseenWays
        }
    }

    /// The invariants that are broken, each with one of the rows that break it.
    static func broken(in database: Database, at now: Timestamp) async throws -> [WalkInvariant: String] {
        let parts: [SQL] = allCases.map { invariant in
            "(SELECT \(invariant.rawValue) AS invariant, b.row FROM (\(invariant.breaches(at: now))) b (row) LIMIT 1)"
        }
        let all = parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" as SQL }
        let rows = try await database.query(all, as: String.self, String.self)
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
        return changes.filter { change in
            if change.kinds.contains(where: { recorded.contains("\($0.rawValue) \(change.requestID)") }) {
                return false
            }
            guard let sum = change.kinds.map(\.rawValue).first(where: { summed[$0, default: 0] > 0 }) else {
                return true
            }
            summed[sum, default: 0] -= 1
            return false
        }.map { "no audit record of \($0.kinds[0].rawValue) by \($0.requestID)" }
    }
}
