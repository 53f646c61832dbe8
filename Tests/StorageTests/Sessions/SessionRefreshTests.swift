import Accounts
import Postgres
import Storage
import TestSupport
import Testing

/// A crowd of accounts, and the refreshes of their sessions.
private struct World: TestFixture {
    let crowd: AccountCrowd
    let refreshes: SessionRefreshes

    static func run(_ body: (World) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let crowd = try await AccountCrowd.create(120, in: database)
            try await body(World(crowd: crowd, refreshes: SessionRefreshes(database: database)))
        }
    }

    /// Refreshes the session of an account of the crowd.
    func refresh(_ number: Int, generation: Int32 = 1, seconds: Int64 = 30) async throws -> String {
        let outcome = try await refreshes.refresh(
            crowd.id(number), generation: generation,
            by: .at(
                crowd.time(0).advanced(bySeconds: 60 + seconds),
                from: ChangeOrigin(actor: .person, requestID: nil, network: "192.0.2.0/24")),
            lifetimes: SessionLifetimes(unused: 86_400), address: "192.0.2.\(number)")
        return switch outcome {
        case .renewed(let session) where session.id == crowd.id(number): "generation \(session.generation)"
        case .renewed(let session): "another session, \(session.id)"
        case .reused(let account) where account == crowd.id(number): "reused"
        case .reused(let account): "another account, \(account)"
        case .unknown: "unknown"
        }
    }

    func refreshAll(_ numbers: some Sequence<Int>, seconds: Int64) async throws -> [Int: [String]] {
        let outcomes = try await concurrently(numbers) { ($0, try await refresh($0, seconds: seconds)) }
        return outcomes.reduce(into: [:]) { $0[$1.0, default: []].append($1.1) }
    }

    static func end(_ id: SessionID, in session: some PostgresSession) async throws {
        _ = try await session.execute(
            "UPDATE sessions SET ended_at = now(), end_reason = 'signed_out' WHERE session_id = \(id)")
    }
}

/// Refreshes that share their statements: each has its own answer.
@Suite(.fixture(World.self), .timeLimit(.minutes(2))) struct SessionRefreshTests {
    private var world: World { .current }

    @Test func `of those that come at once each gets its own session's next token, or its own refusal`() async throws {
        try await World.end(world.crowd.id(7), in: world.crowd.database)
        // 0 and 100 are disabled, and from 120 on there is none.
        let first = try await world.refreshAll(0..<124, seconds: 30)
        for number in 0..<124 {
            let isRefused = [0, 7, 100].contains(number) || number >= 120
            #expect(first[number] == [isRefused ? "unknown" : "generation 2"], "\(number)")
        }
        #expect(
            try await world.crowd.database.texts(
                """
                SELECT count(*) || ' ' || count(*) FILTER (WHERE rotation_network = '192.0.2.0/24' AND rotation_parent = 1
                    AND last_used_ip = '192.0.2.' || ('x' || right(session_id::text, 12))::bit(48)::bigint)
                FROM sessions WHERE generation = 2 AND parent_generation = 1
                """) == ["117 117"])
        // A lost answer is repeated; later its successor counts as lost, and is replaced.
        for (seconds, generation) in [(40, 2), (200, 3)] as [(Int64, Int32)] {
            let again = try await world.refreshAll(1..<7, seconds: seconds)
            for number in 1..<7 { #expect(again[number] == ["generation \(generation)"]) }
        }
    }

    @Test func `many of one session are one rotation, whatever else comes beside them`() async throws {
        let outcomes = try await world.refreshAll((0..<160).map { $0 % 8 + 1 }, seconds: 30)
        #expect(outcomes.count == 8)
        for own in outcomes.values { #expect(own == Array(repeating: "generation 2", count: 20)) }
        let rotated = try await world.crowd.database.texts("SELECT count(*)::text FROM sessions WHERE generation = 2")
        #expect(rotated == ["8"])
        #expect(try await world.crowd.database.count("sessions WHERE generation > 2") == 0)
    }

    @Test func `one whose session is being ended waits for that, the others do not`() async throws {
        let ended = try await world.crowd.database.transaction { transaction in
            try await World.end(world.crowd.id(1), in: transaction)
            let alone = Task { try await world.refresh(1) }
            try await transaction.awaitWaiters()
            let amongOthers = Task { try await world.refresh(1) }
            let others = try await world.refreshAll(2..<60, seconds: 30)
            #expect(others.count == 58 && Set(others.values) == [["generation 2"]])
            return [alone, amongOthers]
        }
        for task in ended { #expect(try await task.value == "unknown") }
    }

    @Test(.noFixture(World.self)) func `both statements are planned once, and find each row by an index`() async throws
    {
        try await ScratchDatabase.withMigratedPool {
            $0.poolSize = 1
        } _: { database in
            let now = Timestamp(seconds: 1_767_225_600)
            let session = try await database.addSession(at: now).session
            let refreshes = SessionRefreshes(database: database)
            // Each comes twice: the first is swapped without a look, the second is looked up and answered again.
            for generation in (1...8).flatMap({ [$0, $0] as [Int32] }) {
                let outcome = try await refreshes.refresh(
                    session, generation: generation, by: .at(now.advanced(bySeconds: Int64(generation))),
                    lifetimes: SessionLifetimes(unused: 86_400), address: nil)
                guard case .renewed(let renewed) = outcome, renewed.generation == generation + 1 else {
                    Issue.record("not refreshed: \(outcome)")
                    return
                }
            }
            let scans = try await KeptPlans.scans(of: "WITH posted", in: database)
            #expect(scans == [])
        }
    }

    @Test func `a session that can't be read fails its own refresh, whose error names the table`() async throws {
        try await world.crowd.database.execute("ALTER TABLE accounts DROP CONSTRAINT accounts_status_known")
        try await world.crowd.database.execute(
            "UPDATE accounts SET status = 'frozen' WHERE account_id = \(world.crowd.id(3) as AccountID)")
        let outcomes = try await concurrently(1..<60) { number -> String? in
            do {
                return try await world.refresh(number)
            } catch let error as PostgresError {
                return error.table
            }
        }
        for (number, outcome) in zip(1..., outcomes) {
            #expect(outcome == (number == 3 ? "accounts" : "generation 2"), "\(number)")
        }
    }
}
