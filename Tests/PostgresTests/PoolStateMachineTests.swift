import Testing

@testable import Postgres

/// The pool's decisions that no real server can be made to provoke: in states that last for microseconds.
@Suite struct PoolStateMachineTests {
    private let here = CodeLocation(file: #fileID, line: #line)

    private func machine(slots: Int = 1, depth: Int = 4) -> PoolStateMachine {
        PoolStateMachine(.init(url: "", poolSize: slots, pipelineDepth: depth, maximumWaiting: 3))
    }

    private func statement() -> Statement { Statement("SELECT 1", .execute, here) }

    /// A request for a lease, which is submitted.
    private func ask(_ machine: inout PoolStateMachine, _ isolation: IsolationLevel = .readCommitted) -> LeaseRequest {
        let request = LeaseRequest(isolation, here)
        _ = machine.submit(request)
        return request
    }

    private func lease(of request: LeaseRequest) throws -> Lease { try #require(try request.outcome?.get()) }

    /// One iteration of the connection's thread: the statements it takes, its command and the effects.
    private func take(
        _ machine: inout PoolStateMachine, answered: Int = 0, requeued: [Statement] = [], isHeldBack: Bool = false,
        retires: Bool = false
    ) -> (taken: [Statement], command: PoolStateMachine.ThreadCommand, effects: PoolStateMachine.Effects) {
        var batch: [Statement] = []
        var effects = PoolStateMachine.Effects()
        let command = machine.advance(
            0, answered: answered, requeued: requeued, isHeldBack: isHeldBack, retires: retires, batch: &batch,
            &effects)
        return (batch, command, effects)
    }

    /// A state machine of one connected slot with pending statements.
    private func loaded(_ count: Int) -> (PoolStateMachine, [Statement]) {
        var machine = machine()
        let statements = (0..<count).map { _ in statement() }
        _ = machine.connected(0)
        for statement in statements { _ = machine.submit(statement) }
        return (machine, statements)
    }

    @Test func `statements of a lost connection that were not sent go to the next one in their order`() {
        var (machine, statements) = loaded(2)
        let taken = take(&machine).taken
        #expect(taken.map(ObjectIdentifier.init) == statements.map(ObjectIdentifier.init))
        let late = statement()
        _ = machine.submit(late)
        // The first was sent, the second was not, the third was not even taken.
        let effects = machine.lost(0, requeued: [], unsent: [taken[1]])
        #expect(effects.answers.isEmpty)
        #expect(machine.queue.count == 2)
        #expect(machine.connectCommand(0) == .connect)
        _ = machine.connected(0)
        let next = take(&machine).taken
        #expect(next.map(ObjectIdentifier.init) == [taken[1], late].map(ObjectIdentifier.init))
    }

    @Test func `statements of a transaction do not outlive its connection`() throws {
        var machine = machine()
        _ = machine.connected(0)
        let lease = try lease(of: ask(&machine))
        let (sent, unsent, later) = (statement(), statement(), statement())
        _ = machine.submit(sent, on: lease, endsLease: false)
        _ = take(&machine)
        _ = machine.submit(unsent, on: lease, endsLease: false)
        let lost = machine.lost(0, requeued: [], unsent: [])
        #expect(lost.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(unsent)])
        #expect(machine.queue.count == 0)
        let refused = machine.submit(later, on: lease, endsLease: false)
        #expect(refused.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(later)])
    }

    @Test func `BEGIN goes with the first statement that is really taken`() throws {
        var machine = machine()
        _ = machine.connected(0)
        let lease = try lease(of: ask(&machine, .serializable))
        let (dropped, first, second) = (statement(), statement(), statement())
        for statement in [dropped, first, second] { _ = machine.submit(statement, on: lease, endsLease: false) }
        _ = machine.cancel(dropped)
        #expect(take(&machine).taken.map(\.beginIsolation) == [.serializable, nil])
    }

    @Test func `nothing is sent while a cancel is under way, or a statement that was given up`() {
        var (machine, _) = loaded(1)
        _ = take(&machine)
        let behind = statement()
        _ = machine.submit(behind)
        #expect(take(&machine, isHeldBack: true).taken.isEmpty)
        #expect(machine.queue.count == 1)
        #expect(take(&machine, answered: 1, isHeldBack: true).taken.isEmpty)
        #expect(take(&machine).taken.map(ObjectIdentifier.init) == [ObjectIdentifier(behind)])
    }

    @Test func `a lease that has reserved a connection gets it before statements do`() throws {
        var (machine, _) = loaded(2)
        let request = ask(&machine)
        let late = statement()
        _ = machine.submit(late)
        _ = take(&machine)
        #expect(request.outcome == nil)
        let effects = take(&machine, answered: 2).effects
        #expect(effects.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])
        #expect(machine.queue.count == 1)
        let lease = try lease(of: request)
        _ = machine.release(lease, isSpent: false)
        #expect(take(&machine).taken.map(ObjectIdentifier.init) == [ObjectIdentifier(late)])
    }

    @Test func `a reservation survives the loss of its connection, and a cancelled one frees it`() {
        var (machine, _) = loaded(1)
        let request = ask(&machine)
        _ = take(&machine)
        _ = machine.lost(0, requeued: [], unsent: [])
        #expect(machine.connectCommand(0) == .connect)
        let effects = machine.connected(0)
        #expect(effects.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])

        var (other, _) = loaded(1)
        let cancelled = ask(&other)
        let waiting = statement()
        _ = other.submit(waiting)
        #expect(other.queue.count == 1)
        #expect(other.cancel(cancelled).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(cancelled)])
        #expect(other.queue.count == 0)
    }

    @Test func `a lease does not wait for the connection of a statement that was given up`() {
        var machine = machine(slots: 2)
        _ = machine.connected(0)
        _ = machine.submit(statement())
        _ = take(&machine)
        let request = ask(&machine)
        #expect(machine.slots[0].reservation === request)
        #expect(take(&machine, isHeldBack: true).effects.answers.isEmpty)
        #expect(machine.slots[0].reservation == nil)
        #expect(machine.connected(1).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])
    }

    @Test func `a statement that is put back and cancelled is answered once`() {
        var (machine, _) = loaded(1)
        let taken = take(&machine).taken
        _ = machine.cancel(taken[0])
        #expect(
            take(&machine, requeued: taken).effects.answers.map(ObjectIdentifier.init)
                == taken.map(ObjectIdentifier.init))
        #expect(machine.cancel(taken[0]).answers.isEmpty)
        #expect(machine.queue.count == 0)
        #expect(machine.statistics == Database.Statistics(idle: 1))
    }

    @Test func `a request that waited too long is answered, a later one waits on`() throws {
        var machine = machine()
        let (old, young, gone) = (statement(), statement(), statement())
        let now = ContinuousClock.now
        old.since = now - .seconds(2)
        gone.since = now - .seconds(2)
        young.since = now - .seconds(1)
        for statement in [gone, old, young] { _ = machine.submit(statement) }
        _ = machine.cancel(gone)
        var effects = PoolStateMachine.Effects()
        let next = try #require(machine.expire(now, &effects))
        #expect(effects.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(old)])
        #expect(next == now + .seconds(1))
        var later = PoolStateMachine.Effects()
        #expect(machine.expire(now + .seconds(1), &later) == nil)
        #expect(later.answers.map(ObjectIdentifier.init) == [ObjectIdentifier(young)])
    }

    /// A statement that has to get a connection by `deadline`.
    private func statement(by deadline: ContinuousClock.Instant) -> Statement {
        RequestContext.$current.withValue(RequestContext(acquireDeadline: deadline)) { statement() }
    }

    @Test func `a request with a deadline of its own is refused then, if it still waits`() {
        var machine = machine(depth: 1)
        let (sent, waiting) = (statement(by: .now), statement(by: .now))
        #expect(machine.submit(sent).deadlines.map(ObjectIdentifier.init) == [ObjectIdentifier(sent)])
        let connected = machine.connected(0)
        #expect(connected.answers.isEmpty)
        #expect(take(&machine).taken.map(ObjectIdentifier.init) == [ObjectIdentifier(sent)])
        #expect(machine.submit(waiting).deadlines.map(ObjectIdentifier.init) == [ObjectIdentifier(waiting)])
        let other = statement()
        #expect(machine.submit(other).deadlines.isEmpty)
        #expect(machine.expire(sent).answers.isEmpty)
        #expect(machine.expire(waiting).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(waiting)])
        #expect(machine.expire(waiting).answers.isEmpty)
        #expect(machine.queue.count == 1)
        #expect(take(&machine, answered: 1).taken.map(ObjectIdentifier.init) == [ObjectIdentifier(other)])
    }

    @Test func `a statement keeps its deadline when it comes back from a lost connection`() {
        var machine = machine()
        _ = machine.connected(0)
        let sent = statement(by: .now)
        #expect(machine.submit(sent).deadlines.isEmpty)
        _ = take(&machine)
        let lost = machine.lost(0, requeued: [], unsent: [sent])
        #expect(lost.deadlines.map(ObjectIdentifier.init) == [ObjectIdentifier(sent)])
        #expect(machine.expire(sent).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(sent)])
    }

    @Test func `a lease that has reserved a connection gives it back at its own deadline`() {
        var (machine, _) = loaded(1)
        let request = RequestContext.$current.withValue(RequestContext(acquireDeadline: .now)) {
            LeaseRequest(.readCommitted, here)
        }
        #expect(machine.submit(request).deadlines.count == 1)
        #expect(machine.slots[0].reservation === request)
        #expect(machine.expire(request).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])
        #expect(machine.slots[0].reservation == nil)
    }

    @Test func `the pool grows by one connection for each request that waits, up to its size`() {
        var machine = machine(slots: 2, depth: 1)
        #expect(machine.connectCommand(0) == .none)
        _ = machine.submit(statement())
        #expect([machine.connectCommand(0), machine.connectCommand(1)] == [.connect, .none])
        _ = machine.submit(statement())
        #expect([machine.connectCommand(0), machine.connectCommand(1)] == [.connect, .connect])
        _ = machine.submit(statement())
        #expect(machine.submit(statement()).answers.count == 1)
    }

    @Test func `closing waits for the statements in flight and then closes every slot`() {
        var (machine, _) = loaded(1)
        _ = take(&machine)
        machine.isClosing = true
        #expect(machine.submit(statement()).answers.count == 1)
        #expect(take(&machine).command == .proceed)
        #expect(take(&machine, answered: 1).command == .close)
    }

    @Test func `a connection that retires takes nothing new and is replaced once idle`() {
        var (machine, _) = loaded(1)
        _ = take(&machine)
        #expect(take(&machine, retires: true).command == .proceed)
        _ = machine.submit(statement())
        #expect(machine.queue.count == 1)
        #expect(take(&machine, answered: 1, retires: true).command == .reconnect)
        #expect(machine.connectCommand(0) == .connect)
    }

    @Test func `a connection that retires in a transaction is replaced when that has ended`() throws {
        var machine = machine()
        _ = machine.connected(0)
        let lease = try lease(of: ask(&machine))
        for endsLease in [false, true] {
            _ = machine.submit(statement(), on: lease, endsLease: endsLease)
            _ = take(&machine)
            #expect(take(&machine, answered: 1, retires: true).command == .proceed)
        }
        // The thread sleeps by now.
        #expect(machine.release(lease, isSpent: false).wakes == [0])
        #expect(machine.statistics.idle == 0)
        #expect(take(&machine, retires: true).command == .reconnect)
    }

    @Test func `a lease that waits for a busy connection has a dormant one connect, and takes it`() throws {
        var machine = machine(slots: 2)
        _ = machine.connected(0)
        _ = machine.submit(statement())
        _ = take(&machine)
        let request = ask(&machine)
        #expect(machine.connectCommand(1) == .connect)
        #expect(machine.connected(1).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(request)])
        #expect(try lease(of: request).slot == 1)
    }

    @Test func `a lease that waits for a busy connection takes one that becomes free before`() throws {
        var machine = machine(slots: 2)
        for slot in [0, 1] { _ = machine.connected(slot) }
        let lease = try lease(of: ask(&machine))
        _ = machine.submit(statement())
        let second = ask(&machine)
        #expect(second.outcome == nil)
        #expect(machine.release(lease, isSpent: false).answers.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    }

    @Test func `a further connection that fails leaves the database up`() {
        var machine = machine(slots: 2)
        _ = machine.connected(0)
        serve(&machine)
        machine.connectFailed(1, PostgresError(.connectFailed, operation: .connect, location: ""))
        #expect(!machine.statistics.isDown)
        // An answer on a connection from before says nothing of the next attempt.
        serve(&machine)
        #expect(machine.outage != nil)
        _ = machine.lost(0, requeued: [], unsent: [])
        #expect(machine.statistics.isDown)
    }

    /// Has a statement answered on the first connection.
    private func serve(_ machine: inout PoolStateMachine) {
        _ = machine.submit(statement())
        _ = take(&machine)
        _ = take(&machine, answered: 1)
    }

    @Test func `a connection that is lost without an answer is an outage, which the first answer on another ends`() {
        var (machine, _) = loaded(1)
        let taken = take(&machine).taken
        #expect(!machine.statistics.isDown)
        let failure = PostgresError(.connectionLost, operation: .connect, location: "")
        _ = machine.lost(0, failure: failure, requeued: [], unsent: taken)
        #expect(machine.statistics.isDown)
        _ = machine.connected(0)
        _ = take(&machine)
        #expect(machine.statistics.isDown)
        _ = take(&machine, answered: 1)
        #expect(!machine.statistics.isDown)
        #expect(machine.outage == nil)
        // Such as a server that stops while it serves.
        _ = machine.lost(0, requeued: [], unsent: [])
        #expect(!machine.statistics.isDown)
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
        // Ended, but the second request may still hit another statement.
        #expect(step(nil, delivered: false, after: .milliseconds(71)) == .wait)
        #expect(step(nil, delivered: true, after: .milliseconds(72)) == .over)
        #expect(step(other, delivered: true, after: .seconds(4)) == .request)
        #expect(step(other, delivered: true, after: .seconds(5)) == .wait)
        #expect(step(other, delivered: false, after: .seconds(9)) == .giveUp)
    }

    @Test func `a prepared statement's name is of its text and types, and every process's`() {
        let names = [[], [23], [25]].map { PreparedKey(text: "SELECT $1", types: $0).name }
        #expect(Set(names).count == 3)
        #expect(names[1] == "se59c6710f8b4ae5c_cc918b7b7a586add")
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
