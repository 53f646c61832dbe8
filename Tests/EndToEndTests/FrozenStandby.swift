import Accounts
import Postgres
import Synchronization
import TestSupport
import Testing

/// A service under load on a primary whose synchronous standby freezes, stutters and takes over, again and again. What
/// was answered with success has to be there afterwards.
///
/// ```
///   standby follows ──▶ frozen, commits wait ──▶ thawed ──▶ frozen ──▶ primary crashes ──▶ thawed without what had
///        ▲                                                             arrived unread, and promoted ──┐
///        └────────────── in the place of the dead primary ◀───────────────────────────────────────────┘
/// ```
struct FrozenStandby: Sendable {
    private static let clients = 6

    private let world: World
    private let acknowledged = AcknowledgedSessions()

    /// Runs as many passes as asked for on clusters of their own.
    ///
    /// - Parameter report: gets a line for each pass.
    static func run(passes: Int, report: (String) -> Void = { _ in }) async throws {
        try await World.onStandby { first, second, world in
            try await FrozenStandby(world: world).run(passes, [first, second], report)
        }
    }

    private init(world: World) { self.world = world }

    private func run(_ passes: Int, _ servers: [DatabaseServer], _ report: (String) -> Void) async throws {
        for client in 0..<Self.clients { _ = try await world.newAccount("client-\(client)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<Self.clients { group.addTask { try await act("client-\(client)") } }
            group.addTask { await pollReadiness() }
            do {
                defer { acknowledged.end() }
                for pass in 0..<passes {
                    let (primary, standby) = (servers[pass % 2], servers[(pass + 1) % 2])
                    if pass > 0 { _ = try await standby.cluster.follow(primary.cluster) }
                    try await failOver(from: primary, to: standby)
                    let checked = try await check(on: standby)
                    report("pass \(pass + 1): \(checked) acknowledged sessions, \(acknowledged.lost) lost")
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: - The load

    /// Signs in, refreshes and signs out until the end, as one person with one device after the other. An answer of an
    /// outage ends the device's part, for nobody knows what is true of it.
    private func act(_ person: String) async throws {
        var token = try await world.appleToken(person)
        var isSigningOutEverywhere = false
        while !acknowledged.isOver {
            let signedIn = try await world.service.signInWithApple(token)
            // The provider's token has expired.
            if signedIn.status == 401 { token = try await world.appleToken(person) }
            guard try isDone(signedIn, 200) else {
                try await Task.sleep(for: .milliseconds(20))
                continue
            }
            let id = try signedIn.sessionID()
            acknowledged.note(id)
            var access = try signedIn.bearer()
            var refresh = try signedIn.refreshToken()
            var isKnown = true
            for _ in 0..<2 where isKnown {
                let renewed = try await world.service.refresh(refresh)
                isKnown = try isDone(renewed, 200)
                guard isKnown else { break }
                acknowledged.note(id, refreshes: 1)
                access = try renewed.text("accessToken")
                refresh = try renewed.text("refreshToken")
            }
            guard isKnown else { continue }
            // One statement, or a transaction.
            let scope = isSigningOutEverywhere ? "all" : "current"
            isSigningOutEverywhere.toggle()
            let signedOut = try await world.service.signOut(scope, bearer: access)
            if try isDone(signedOut, 204) { acknowledged.note(id, isEnded: true) }
        }
    }

    /// Whether the answer is that of success; false for an outage.
    private func isDone(_ answer: Answer, _ success: Int) throws -> Bool {
        if answer.status == success { return true }
        if answer.status == 503 {
            #expect((answer.retryAfter ?? 0) >= 1)
            return false
        }
        // A provider's token that has expired. A session's own credentials stay good.
        #expect(answer.status == 401 && answer.code == "invalid_token", "\(answer.status) \(answer.text)")
        return false
    }

    /// Asks ten times a second, whether or not the last question is answered.
    private func pollReadiness() async {
        await withTaskGroup(of: Void.self) { group in
            while !acknowledged.isOver {
                group.addTask {
                    // What it answers is looked at elsewhere.
                    _ = try? await world.service.privateGet("/health/ready")
                }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    // MARK: - One pass

    private func failOver(from primary: DatabaseServer, to standby: DatabaseServer) async throws {
        let database = ScratchDatabase(url: primary.url)
        try await database.confirmCommits()
        try await database.withPool(.test(poolSize: 1, applicationName: "observer")) { observer in
            try await more(20)
            try standby.cluster.freeze()
            try await waitForCommitsToWait(observer)
            // It waits for no standby, and says that they wait.
            try await eventually("readiness to show it") { try await world.service.holdsWrites() }
            try standby.cluster.thaw()
            try await more(1)
            try standby.cluster.freeze()
            try await waitForCommitsToWait(observer)
        }
        try await primary.cluster.crash()
        try standby.cluster.cutOff()
        try standby.cluster.thaw()
        try await standby.cluster.promote()
        try await more(20)
    }

    /// Waits for further acknowledged answers.
    private func more(_ count: Int) async throws {
        let before = acknowledged.count
        try await eventually("\(count) answers", within: .seconds(120)) { acknowledged.count >= before + count }
    }

    /// Waits until a commit of the service has waited for the standby for longer than a readiness check may take.
    private func waitForCommitsToWait(_ observer: Database) async throws {
        try await eventually("commits that wait") {
            let waiting = try await observer.query(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE \(SQL.isOfService) AND wait_event = 'SyncRep'
                    AND clock_timestamp() - query_start > interval '1.2 seconds'
                """, as: Int64.self)
            return waiting != [0]
        }
    }

    // MARK: - What has to be there

    /// Looks for all that was acknowledged by now and not looked for before.
    ///
    /// - Returns: how many sessions that were.
    private func check(on server: DatabaseServer) async throws -> Int {
        let sessions = acknowledged.take()
        let ids = sessions.keys.compactMap { SessionID($0) }
        try #require(ids.count == sessions.count)
        let found = try await ScratchDatabase(url: server.url).withPool(.test(poolSize: 1)) { database in
            try await database.query(
                """
                SELECT session_id::text, generation, ended_at IS NOT NULL
                FROM sessions
                WHERE session_id = ANY (\(ids))
                """, as: String.self, Int32.self, Bool.self)
        }
        let stored = Dictionary(uniqueKeysWithValues: found.map { ($0.0, (generation: $0.1, isEnded: $0.2)) })
        for (id, session) in sessions {
            guard let row = stored[id], row.generation >= session.refreshes, row.isEnded || !session.isEnded else {
                acknowledged.noteLoss()
                Issue.record("acknowledged: \(session); found: \(String(describing: stored[id])); session \(id)")
                continue
            }
        }
        return sessions.count
    }
}

/// The sessions that were acknowledged to clients, with what has become of them.
private final class AcknowledgedSessions: Sendable {
    struct Session: Sendable {
        /// The least generation that its row may have.
        var refreshes: Int32 = 0
        var isEnded = false
    }

    private let state = Mutex<(sessions: [String: Session], count: Int, lost: Int, isOver: Bool)>(([:], 0, 0, false))

    func note(_ id: String, refreshes: Int32 = 0, isEnded: Bool = false) {
        state.withLock { state in
            state.count += 1
            state.sessions[id, default: Session()].refreshes += refreshes
            if isEnded { state.sessions[id, default: Session()].isEnded = true }
        }
    }

    /// The number of acknowledged answers.
    var count: Int { state.withLock(\.count) }
    var lost: Int { state.withLock(\.lost) }
    var isOver: Bool { state.withLock(\.isOver) }

    func take() -> [String: Session] {
        state.withLock { state in
            defer { state.sessions = [:] }
            return state.sessions
        }
    }

    func noteLoss() { state.withLock { $0.lost += 1 } }
    func end() { state.withLock { $0.isOver = true } }
}
