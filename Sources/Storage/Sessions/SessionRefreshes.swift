package import Accounts
package import Postgres

/// The outcome of a refresh with an authentic refresh token.
package enum RefreshOutcome: Sendable {
    /// Answer with the token of `session.generation`.
    case renewed(Session)
    /// A dead token was used, or the previous one too often; the session has been ended.
    case reused(AccountID)
    case unknown
}

/// The refreshes of sessions: those that come at once share their statements and a commit.
package struct SessionRefreshes: Sendable {
    private let database: Database
    private let lookups: StatementBatcher<Lookup, Result<RefreshableSession?, PostgresError>>
    private let swaps: StatementBatcher<Swap, Result<Session?, PostgresError>>

    package init(database: Database) {
        self.database = database
        let timeout = database.configuration.acquireTimeout
        lookups = StatementBatcher(timeout: timeout, endsWithTask: true) { (lookups, _) throws(PostgresError) in
            try await SessionRefreshes.look(up: lookups, in: database)
        }
        swaps = StatementBatcher(timeout: timeout, endsWithTask: true) { (swaps, lockWait) throws(PostgresError) in
            try await database.run(lockWait) { session throws(PostgresError) in
                try await SessionRefreshes.swap(swaps, lockWait, in: session)
            }
        }
    }

    /// Rotates, repeats, or ends on reuse, as ``RefreshLineage`` decides.
    ///
    /// The lineage is compared and swapped. For the newest token, which nearly all present, that is all: what its use
    /// makes is known without a look at the row. Any other is looked up first and decided on, with no lock and no
    /// connection held between the two statements; the loser of a race decides again on what the winner wrote.
    ///
    /// - Parameter address: the client's network address as text.
    package func refresh(
        _ id: SessionID, generation presented: Int32, by call: Call, lifetimes: SessionLifetimes, address: String?
    ) async throws -> RefreshOutcome {
        if let renewed = RefreshLineage.firstUse(of: presented, from: call.origin.network, at: call.now),
            let session = try await swaps.answer(
                Swap(id: id, former: presented, renewed: renewed, address: address, now: call.now, lifetimes: lifetimes)
            ).get()
        {
            return .renewed(session)
        }
        // Each lost race ages the presented token by one generation, so this ends after a few rounds.
        while let row = try await lookups.answer(Lookup(id: id, now: call.now)).get(),
            row.live.accountStatus == .active
        {
            var session = row.live.session
            let expiresAt = lifetimes.end(ofSessionOpenedAt: session.createdAt, refreshedAt: call.now)
            // It was last refreshed when sessions lived longer.
            guard expiresAt > call.now else { return .unknown }
            switch row.lineage.presented(
                presented, from: call.origin.network, isRestored: try await isRestored(row, presented), at: call.now)
            {
            case .unknown:
                return .unknown
            case .lost:
                let event = AuditEvent(
                    .sessionsEnded, from: call.origin, accountID: session.accountID, sessionID: id,
                    reason: SessionEndReason.databaseRestored.rawValue)
                try await database.change(by: call) { change in
                    try await change.sessions.end(.session(id), because: .databaseRestored, recording: event)
                }
                return .unknown
            case .reused:
                let event = AuditEvent(.refreshReused, from: call.origin, accountID: session.accountID, sessionID: id)
                try await database.change(by: call) { change in
                    try await change.sessions.end(.session(id), because: .refreshReused, recording: event)
                }
                return .reused(session.accountID)
            case .renewed(row.lineage):
                // A client's retries come in numbers and from one place, which is noted with the first.
                if address != row.lastUsedAddress { try await note(address, of: row, by: call) }
                session.expiresAt = min(session.expiresAt, expiresAt)
                return .renewed(session)
            case .renewed(let renewed):
                let swap = Swap(
                    id: id, former: row.lineage.generation, renewed: renewed, address: address, now: call.now,
                    lifetimes: lifetimes)
                if let session = try await swaps.answer(swap).get() { return .renewed(session) }
            }
        }
        return .unknown
    }

    private func note(_ address: String?, of row: RefreshableSession, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE sessions
            SET last_used_at = GREATEST(last_used_at, \(call.now)), last_used_ip = \(address)
            WHERE session_id = \(row.live.session.id) AND generation = \(row.lineage.generation)
                AND parent_generation = \(row.lineage.parent) AND ended_at IS NULL
            """)
    }

    /// Whether a session is older than a restore of the database; looked up where that decides: for a token of which this
    /// database does not know yet.
    private func isRestored(_ row: RefreshableSession, _ presented: Int32) async throws(PostgresError) -> Bool {
        guard presented > row.lineage.generation else { return false }
        let restores = try await database.query(
            "SELECT EXISTS (SELECT FROM restores WHERE noted_at > \(row.live.session.createdAt))", as: Bool.self)
        return restores == [true]
    }
}

// MARK: - The statements of a batch

/// Each is planned once, as ``IdentityStore``'s is; `position` assigns its rows to their call.
extension SessionRefreshes {
    private struct Lookup: Sendable {
        let id: SessionID
        let now: Timestamp
    }

    private static func look(
        up lookups: [Lookup], in database: Database
    ) async throws(PostgresError) -> [Result<RefreshableSession?, PostgresError>] {
        let rows = try await database.query(
            """
            WITH posted AS MATERIALIZED (
                SELECT \(lookups.map(\.id)) AS session_ids, \(lookups.map(\.now)) AS nows
            )
            SELECT p.position, f.*
            FROM posted
            CROSS JOIN LATERAL unnest(session_ids, nows) WITH ORDINALITY AS p (session_id, now, position)
            CROSS JOIN LATERAL (
                SELECT s.parent_generation, s.rotated_at, s.rotation_network, s.same_network_replacements,
                    s.other_network_replacements, s.last_used_ip,
                    \(SessionStore.liveColumns)
                FROM sessions s
                JOIN accounts a ON a.account_id = s.account_id
                WHERE s.session_id = p.session_id AND s.ended_at IS NULL AND s.expires_at > p.now
                LIMIT 1
            ) f
            """
        ) { row throws(PostgresError) in
            let position = try Int(from: row[0])
            // A row that can't be read fails its own refresh.
            return (
                position,
                Result { () throws(PostgresError) in
                    try RefreshableSession(lookups[position - 1].id, row, from: 1) as RefreshableSession?
                }
            )
        }
        return await Array(rows, answering: lookups.count, missing: nil, in: database)
    }

    /// A lineage in place of that of a generation, of which a session has one.
    private struct Swap: Sendable {
        let id: SessionID
        let former: Int32
        let renewed: RefreshLineage
        let address: String?
        let now: Timestamp
        let lifetimes: SessionLifetimes
    }

    /// - Returns: each session with its new lineage, if it was live, of an active account and still of the former generation.
    private static func swap(
        _ swaps: [Swap], _ lockWait: LockWait, in session: any PostgresSession
    ) async throws(PostgresError) -> [Result<Session?, PostgresError>] {
        let renewed = swaps.map(\.renewed)
        let rows = try await session.query(
            """
            WITH posted AS MATERIALIZED (
                SELECT \(swaps.map(\.id)) AS session_ids, \(swaps.map(\.former)) AS former_generations,
                    \(renewed.map(\.generation)) AS generations, \(renewed.map(\.parent)) AS parents,
                    \(renewed.map(\.rotatedAt)) AS rotation_times, \(renewed.map(\.network)) AS networks,
                    \(renewed.map(\.replacements.sameNetwork)) AS same_network_counts,
                    \(renewed.map(\.replacements.otherNetwork)) AS other_network_counts,
                    \(swaps.map(\.now)) AS nows, \(swaps.map(\.address)) AS addresses,
                    \(swaps.map { $0.now.advanced(bySeconds: $0.lifetimes.unused) }) AS unused_ends,
                    \(swaps.map(\.lifetimes.absolute)) AS absolute_lifetimes
            ), locked AS (
                SELECT p.*, s.account_id,
                    -- As SessionLifetimes.end has it.
                    LEAST(p.unused_end, s.created_at + p.absolute_lifetime * interval '1 second') AS expires_at
                FROM posted
                CROSS JOIN LATERAL unnest(session_ids, former_generations, generations, parents, rotation_times, networks,
                    same_network_counts, other_network_counts, nows, addresses, unused_ends, absolute_lifetimes
                ) WITH ORDINALITY AS p (session_id, former_generation, generation, parent, rotated_at, network,
                    same_network, other_network, now, address, unused_end, absolute_lifetime, position)
                CROSS JOIN LATERAL (
                    SELECT s.account_id, s.created_at
                    FROM sessions s
                    WHERE s.session_id = p.session_id AND s.generation = p.former_generation AND s.ended_at IS NULL
                        AND s.expires_at > p.now
                    LIMIT 1
                    FOR NO KEY UPDATE \(lockWait.clause)
                ) s
            )
            UPDATE sessions s
            -- rotation_parent is for processes of the release before, which compare it with parent_generation.
            SET generation = f.generation, parent_generation = f.parent, rotated_at = f.rotated_at,
                rotation_parent = f.parent, rotation_network = f.network, same_network_replacements = f.same_network,
                other_network_replacements = f.other_network, last_used_at = f.now, last_used_ip = f.address,
                expires_at = f.expires_at
            -- Of two for one session the first; and sorted, so that all are locked before the first is updated. The range,
            -- in which all are, has the planner expect few: for many it would read the whole of a small table, and go on so.
            FROM (
                SELECT DISTINCT ON (session_id) *
                FROM locked
                WHERE position BETWEEN 1 AND 1000
                ORDER BY session_id, position
            ) f
            CROSS JOIN LATERAL (SELECT a.* FROM accounts a WHERE a.account_id = f.account_id LIMIT 1) a
            WHERE s.session_id = f.session_id AND f.expires_at > f.now AND a.status = 'active'
            RETURNING f.position, \(SessionStore.liveColumns)
            """
        ) { row throws(PostgresError) in
            let position = try Int(from: row[0])
            return (
                position,
                Result { () throws(PostgresError) in
                    try LiveSession(swaps[position - 1].id, row, from: 1).session as Session?
                }
            )
        }
        return await Array(rows, answering: swaps.count, missing: nil, in: session)
    }
}

/// A live session with what a refresh is judged by.
private struct RefreshableSession: Sendable {
    let live: LiveSession
    let lineage: RefreshLineage
    /// Where it was last refreshed from.
    let lastUsedAddress: String?

    init(_ id: SessionID, _ row: PostgresRow, from first: Int) throws(PostgresError) {
        live = try LiveSession(id, row, from: first + 6)
        lineage = RefreshLineage(
            generation: live.session.generation, parent: try Int32(from: row[first]),
            rotatedAt: try Timestamp(from: row[first + 1]), network: try Network?(from: row[first + 2]),
            replacements: RefreshLineage.Replacements(
                sameNetwork: try Int32(from: row[first + 3]), otherNetwork: try Int32(from: row[first + 4])))
        lastUsedAddress = try String?(from: row[first + 5])
    }
}
