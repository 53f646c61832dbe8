package import Accounts
import Postgres

/// The outcome of a refresh with an authentic refresh token.
package enum RefreshOutcome: Sendable {
    /// Answer with the token of `session.generation`.
    case renewed(Session)
    /// A dead token was used, or the previous one too often; the session has been ended.
    case reused(AccountID)
    case unknown
}

extension SessionStore {
    /// Rotates, repeats, or ends on reuse, as ``RefreshLineage`` decides.
    ///
    /// The lineage is compared and swapped, so that a refresh holds no lock and no connection between its two
    /// statements; the loser of a race decides again on what the winner wrote.
    ///
    /// - Parameter address: the client's network address as text.
    package func refresh(
        _ id: SessionID, generation presented: Int32, by call: Call, lifetimes: SessionLifetimes, address: String?
    ) async throws -> RefreshOutcome {
        // Each lost race ages the presented token by one generation, so this ends after a few rounds.
        while let row = try await refreshable(id, by: call), row.live.accountStatus == .active {
            let session = row.live.session
            let expiresAt = lifetimes.end(ofSessionOpenedAt: session.createdAt, refreshedAt: call.now)
            // It was last refreshed when sessions lived longer.
            guard expiresAt > call.now else { return .unknown }
            switch row.lineage.presented(
                presented, from: call.origin.network, isRestored: try await isRestored(row, presented), at: call.now)
            {
            case .unknown:
                return .unknown
            case .reused:
                let event = AuditEvent(.refreshReused, from: call.origin, accountID: session.accountID, sessionID: id)
                try await database.change(by: call) { change in
                    try await change.sessions.end(.session(id), because: .refreshReused, recording: event)
                }
                return .reused(session.accountID)
            case .renewed(row.lineage):
                // A client's retries come in numbers and from one place, which is noted with the first.
                if row.isNoted, address != row.lastUsedAddress {
                    _ = try await database.execute(
                        """
                        UPDATE sessions
                        SET last_used_at = GREATEST(last_used_at, \(call.now)), last_used_ip = \(address)
                        WHERE \(row.isUnchanged)
                        """)
                }
                return .renewed(
                    session.renewed(generation: session.generation, expiresAt: min(session.expiresAt, expiresAt)))
            case .renewed(let renewed):
                let swapped = try await database.execute(
                    """
                    UPDATE sessions
                    SET generation = \(renewed.generation), parent_generation = \(renewed.parent),
                        rotated_at = \(renewed.rotatedAt), rotation_parent = \(renewed.parent),
                        rotation_network = \(renewed.network),
                        same_network_replacements = \(renewed.replacements.sameNetwork),
                        other_network_replacements = \(renewed.replacements.otherNetwork),
                        last_used_at = \(call.now), last_used_ip = \(address), expires_at = \(expiresAt)
                    WHERE \(row.isUnchanged)
                    """)
                if swapped == 1 {
                    return .renewed(session.renewed(generation: renewed.generation, expiresAt: expiresAt))
                }
            }
        }
        return .unknown
    }

    private func refreshable(_ id: SessionID, by call: Call) async throws(PostgresError) -> RefreshableSession? {
        let rows = try await database.query(
            """
            SELECT s.parent_generation, s.rotated_at, s.rotation_parent, s.rotation_network, s.same_network_replacements,
                s.other_network_replacements, s.last_used_ip, \(SessionStore.liveColumns)
            FROM sessions s
            JOIN accounts a ON a.account_id = s.account_id
            WHERE s.session_id = \(id) AND s.ended_at IS NULL AND s.expires_at > \(call.now)
            """
        ) { row throws(PostgresError) in try RefreshableSession(id, row) }
        return rows.first
    }

    /// Whether a session is older than a restore of the database; looked up where that decides: for a token of which this
    /// database does not know yet.
    private func isRestored(_ row: RefreshableSession, _ presented: Int32) async throws(PostgresError) -> Bool {
        guard presented > row.lineage.generation else { return false }
        let restores = try await database.query(
            "SELECT EXISTS (SELECT FROM restores WHERE noted_at > \(row.live.session.createdAt))"
        ) { row throws(PostgresError) in try row.decode(Bool.self) }
        return restores == [true]
    }
}

/// A live session with what a refresh is judged by.
private struct RefreshableSession: Sendable {
    let live: LiveSession
    let lineage: RefreshLineage
    /// Whether the network, the replacements and the address are those of this lineage: a process of the release before
    /// rotates without a note of them.
    let isNoted: Bool
    /// Where it was last refreshed from.
    let lastUsedAddress: String?

    init(_ id: SessionID, _ row: PostgresRow) throws(PostgresError) {
        live = try LiveSession(id, row, from: 7)
        let parent = try Int32(from: row[0])
        isNoted = try Int32(from: row[2]) == parent
        lineage = RefreshLineage(
            generation: live.session.generation, parent: parent, rotatedAt: try Timestamp(from: row[1]),
            network: isNoted ? try Network?(from: row[3]) : nil,
            replacements: isNoted
                ? RefreshLineage.Replacements(
                    sameNetwork: try Int32(from: row[4]), otherNetwork: try Int32(from: row[5]))
                : RefreshLineage.Replacements())
        lastUsedAddress = try String?(from: row[6])
    }

    /// The condition that the row is still live and of this lineage.
    var isUnchanged: SQL {
        """
        session_id = \(live.session.id) AND generation = \(lineage.generation)
            AND parent_generation = \(lineage.parent) AND ended_at IS NULL
        """
    }
}
