import Testing

@testable import Postgres

/// The pool's decisions where no server could be made to show them: states that last for microseconds.
@Suite struct SeatingTests {
    private let here = CodeLocation(file: #fileID, line: #line)

    private func seating(seats: Int = 1, depth: Int = 4) -> Seating {
        Seating(.init(url: "", poolSize: seats, pipelineDepth: depth, maximumWaiting: 3))
    }

    private func statement() -> Statement { Statement("SELECT 1", .execute, here) }

    /// What the connection's thread takes.
    private func take(
        _ seating: inout Seating, seat: Int = 0, answered: Int = 0, again: [Statement] = [], isCancelling: Bool = false,
        retires: Bool = false
    ) -> (taken: [Statement], turn: Seating.Turn, effects: Seating.Effects) {
        var outbox: [Statement] = []
        var effects = Seating.Effects()
        let turn = seating.exchange(
            seat, answered: answered, again: again, isCancelling: isCancelling, retires: retires, outbox: &outbox,
            &effects)
        return (outbox, turn, effects)
    }

    /// A seating of one connection, with statements in its inbox.
    private func loaded(_ count: Int) -> (Seating, [Statement]) {
        var seating = seating()
        let statements = (0..<count).map { _ in statement() }
        _ = seating.connected(0)
        for statement in statements { _ = seating.submit(statement) }
        return (seating, statements)
    }

    @Test func `statements of a lost connection that were not sent go to the next one in their order`() {
        var (seating, statements) = loaded(2)
        let taken = take(&seating).taken
        #expect(taken.map(ObjectIdentifier.init) == statements.map(ObjectIdentifier.init))
        let late = statement()
        _ = seating.submit(late)
        // The first was sent, the second was not, the third was not even taken.
        let effects = seating.lost(0, unsent: [taken[1]])
        #expect(effects.answers.isEmpty)
        #expect(seating.line.count == 2)
        #expect(seating.demand(0) == .connect)
        _ = seating.connected(0)
        let next = take(&seating).taken
        #expect(next.map(ObjectIdentifier.init) == [taken[1], late].map(ObjectIdentifier.init))
    }

    @Test func `statements of a transaction do not outlive its connection`() throws {
        var seating = seating()
        _ = seating.connected(0)
        let request = LeaseRequest(.readCommitted, here)
        _ = seating.submit(request)
        let lease = try #require(try request.outcome?.get())
        let (sent, unsent, later) = (statement(), statement(), statement())
        _ = seating.submit(sent, on: lease, endsLease: false)
        _ = take(&seating)
        _ = seating.submit(unsent, on: lease, endsLease: false)
        let lost = seating.lost(0, unsent: [])
        #expect(lost.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(unsent)])
        #expect(seating.line.count == 0)
        let refused = seating.submit(later, on: lease, endsLease: false)
        #expect(refused.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(later)])
    }

    @Test func `BEGIN goes with the first statement that is really taken`() throws {
        var seating = seating()
        _ = seating.connected(0)
        let request = LeaseRequest(.serializable, here)
        _ = seating.submit(request)
        let lease = try #require(try request.outcome?.get())
        let (dropped, first, second) = (statement(), statement(), statement())
        for statement in [dropped, first, second] { _ = seating.submit(statement, on: lease, endsLease: false) }
        _ = seating.cancel(dropped)
        #expect(take(&seating).taken.map(\.opening) == [.serializable, nil])
    }

    @Test func `nothing is sent while a cancel is under way`() {
        var (seating, _) = loaded(1)
        _ = take(&seating)
        let behind = statement()
        _ = seating.submit(behind)
        #expect(take(&seating, isCancelling: true).taken.isEmpty)
        #expect(seating.line.count == 1)
        #expect(take(&seating, answered: 1, isCancelling: true).taken.isEmpty)
        #expect(take(&seating).taken.map(ObjectIdentifier.init) == [ObjectIdentifier(behind)])
    }

    @Test func `a lease that was promised a connection gets it before statements do`() throws {
        var (seating, _) = loaded(2)
        let request = LeaseRequest(.readCommitted, here)
        _ = seating.submit(request)
        let late = statement()
        _ = seating.submit(late)
        _ = take(&seating)
        #expect(request.outcome == nil)
        let effects = take(&seating, answered: 2).effects
        #expect(effects.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])
        #expect(seating.line.count == 1)
        let lease = try #require(try request.outcome?.get())
        _ = seating.release(lease, isSpent: false)
        #expect(take(&seating).taken.map(ObjectIdentifier.init) == [ObjectIdentifier(late)])
    }

    @Test func `a promise survives the loss of its connection, and a cancelled one frees it`() {
        var (seating, _) = loaded(1)
        let request = LeaseRequest(.readCommitted, here)
        _ = seating.submit(request)
        _ = take(&seating)
        _ = seating.lost(0, unsent: [])
        #expect(seating.demand(0) == .connect)
        let effects = seating.connected(0)
        #expect(effects.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])

        var (other, _) = loaded(1)
        let cancelled = LeaseRequest(.readCommitted, here)
        _ = other.submit(cancelled)
        let waiting = statement()
        _ = other.submit(waiting)
        #expect(other.line.count == 1)
        #expect(other.cancel(cancelled).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(cancelled)])
        #expect(other.line.count == 0)
    }

    @Test func `a statement that is put back and cancelled is answered once`() {
        var (seating, _) = loaded(1)
        let taken = take(&seating).taken
        _ = seating.cancel(taken[0])
        #expect(
            take(&seating, again: taken).effects.answers.map(ObjectIdentifier.init) == taken.map(ObjectIdentifier.init))
        #expect(seating.cancel(taken[0]).answers.isEmpty)
        #expect(seating.line.count == 0)
        #expect(seating.statistics == Database.Statistics(idle: 1))
    }

    @Test func `who waited too long is answered, who came later waits on`() throws {
        var seating = seating()
        let (old, young, gone) = (statement(), statement(), statement())
        let now = ContinuousClock.now
        old.since = now - .seconds(2)
        gone.since = now - .seconds(2)
        young.since = now - .seconds(1)
        for statement in [gone, old, young] { _ = seating.submit(statement) }
        _ = seating.cancel(gone)
        var effects = Seating.Effects()
        let next = try #require(seating.expire(now, &effects))
        #expect(effects.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(old)])
        #expect(next == now + .seconds(1))
        var later = Seating.Effects()
        #expect(seating.expire(now + .seconds(1), &later) == nil)
        #expect(later.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(young)])
    }

    @Test func `the pool grows by one connection for each request that waits, up to its size`() {
        var seating = seating(seats: 2, depth: 1)
        #expect(seating.demand(0) == .none)
        _ = seating.submit(statement())
        #expect([seating.demand(0), seating.demand(1)] == [.connect, .none])
        _ = seating.submit(statement())
        #expect([seating.demand(0), seating.demand(1)] == [.connect, .connect])
        _ = seating.submit(statement())
        #expect(seating.submit(statement()).answers.count == 1)
    }

    @Test func `closing waits for what is there and then closes every seat`() {
        var (seating, _) = loaded(1)
        _ = take(&seating)
        seating.isClosing = true
        #expect(seating.submit(statement()).answers.count == 1)
        #expect(take(&seating).turn == .proceed)
        #expect(take(&seating, answered: 1).turn == .close)
    }

    @Test func `a connection that retires takes nothing new and is replaced once idle`() {
        var (seating, _) = loaded(1)
        _ = take(&seating)
        #expect(take(&seating, retires: true).turn == .proceed)
        _ = seating.submit(statement())
        #expect(seating.line.count == 1)
        #expect(take(&seating, answered: 1, retires: true).turn == .reconnect)
        #expect(seating.demand(0) == .connect)
    }

    @Test func `a cancel is asked for again until the statement ends or the server is given up`() {
        let (target, other) = (statement(), statement())
        let start = ContinuousClock.now
        var cancellation = Cancellation(of: target, at: start)
        func step(_ current: Statement?, delivered: Bool, after: Duration) -> Cancellation.Step {
            cancellation.step(towards: current, isDelivered: delivered, at: start + after)
        }
        #expect(step(target, delivered: true, after: .zero) == .request)
        #expect(step(target, delivered: false, after: .milliseconds(10)) == .wait)
        #expect(step(target, delivered: true, after: .milliseconds(20)) == .wait)
        #expect(step(target, delivered: true, after: .milliseconds(69)) == .wait)
        #expect(step(target, delivered: true, after: .milliseconds(70)) == .request)
        // Ended, but the second request may still hit somebody.
        #expect(step(nil, delivered: false, after: .milliseconds(71)) == .wait)
        #expect(step(nil, delivered: true, after: .milliseconds(72)) == .over)
        #expect(step(other, delivered: true, after: .seconds(4)) == .request)
        #expect(step(other, delivered: true, after: .seconds(5)) == .wait)
        #expect(step(other, delivered: false, after: .seconds(9)) == .giveUp)
    }

    @Test func `a server that keeps forgetting prepared statements is no longer asked to prepare`() {
        var prepared = PreparedStatements()
        let key = PreparedKey(text: "SELECT 1", types: [])
        var preparations = 0
        for _ in 0..<1000 {
            switch prepared.plan(for: key) {
            case .unprepared: break
            case .execute: prepared.forget(key)
            case .prepare(let name):
                preparations += 1
                guard case .unprepared = prepared.plan(for: key) else {
                    Issue.record("relied on before the server confirmed it")
                    return
                }
                prepared.confirm(key, name)
            }
        }
        #expect(preparations == 256)
    }
}
