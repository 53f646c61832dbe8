import Logging
import Primitives
import Synchronization

/// The connections of one database: a lock around `PoolStateMachine`, one thread for each slot, and a timer while
/// requests wait.
final class Pool: Sendable {
    /// The stack of each thread. libpq, its resolver and TLS need little; the usual 8 MB would only be reserved.
    static let threadStackBytes = 512 * 1024

    private struct State {
        var machine: PoolStateMachine
        var openThreads: Int
        /// The server's process, by slot, as its connection announced it.
        var announcedPIDs: [Int32]
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    let configuration: Database.Configuration
    let logger: Logger
    let signals: [WakeSignal]
    private let metrics = PoolMetrics()
    private let state: Mutex<State>
    /// The machine's `holdsWrites`, for the threads.
    private let holding = Atomic(false)
    /// The clock of the wait queue and the reservations: it calls `expire`.
    private let timer = DeadlineTimer()

    init(_ configuration: Database.Configuration, logger: Logger) {
        let machine = PoolStateMachine(configuration)
        self.configuration = configuration
        self.logger = logger
        signals = machine.slots.map { _ in WakeSignal() }
        let count = machine.slots.count
        state = Mutex(State(machine: machine, openThreads: count, announcedPIDs: Array(repeating: 0, count: count)))
    }

    func start() {
        let parameters = ConnectionParameters(configuration)
        for slot in signals.indices {
            let thread = ConnectionThread(pool: self, slot: slot, parameters: parameters)
            let name = "pg\(slot)-\(configuration.applicationName)"
            if !DedicatedThread.start(name, stackBytes: Pool.threadStackBytes, thread.run) {
                fatalError("no thread left for a connection")
            }
        }
    }

    // MARK: - Tasks

    /// Submits a request and waits for its answer.
    ///
    /// - Parameter isShielded: Whether the request outlives the cancellation of its task, as COMMIT and ROLLBACK do.
    func perform<R: Answering>(
        _ request: R, isShielded: Bool = false, submit: (R) -> Void
    ) async throws(PostgresError) -> R.Output {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                request.continuation = continuation
                submit(request)
            }
        } onCancel: {
            if !isShielded { cancel(request) }
        }
        if case .failure(let error) = result { metrics.count(error.code) }
        return try result.get()
    }

    func submit(_ request: PoolRequest) { update { $0.machine.submit(request) } }

    func submit(_ statement: Statement, on lease: Lease, endsLease: Bool = false) {
        update { $0.machine.submit(statement, on: lease, endsLease: endsLease) }
    }

    func release(_ lease: Lease, isSpent: Bool) { update { $0.machine.release(lease, isSpent: isSpent) } }

    /// Whether anything was sent on the lease that must be committed or rolled back.
    func hasBegun(_ lease: Lease) -> Bool { state.withLock { _ in lease.pendingBegin == nil } }

    private func cancel(_ request: PoolRequest) { update { $0.machine.cancel(request) } }

    var statistics: Database.Statistics { state.withLock { $0.machine.statistics } }

    var holdsWrites: Bool { holding.load(ordering: .relaxed) }

    func hold(_ holds: Bool) {
        guard holding.exchange(holds, ordering: .relaxed) != holds else { return }
        logger.log(
            level: holds ? .warning : .notice,
            holds ? "writes refused: commits wait for a standby" : "writes taken again")
        update { $0.machine.hold(holds) }
    }

    // MARK: - Shutdown

    /// Refuses new requests, and closes every connection once all earlier ones have been answered.
    func close() {
        update { state in
            var effects = PoolStateMachine.Effects()
            state.machine.isClosing = true
            state.machine.closeIfIdle(&effects)
            return effects
        }
    }

    func waitUntilClosed() async {
        await withCheckedContinuation { continuation in
            let isClosed = state.withLock { state in
                if state.openThreads > 0 { state.closing.append(continuation) }
                return state.openThreads == 0
            }
            if isClosed { continuation.resume() }
        }
    }

    // MARK: - Connection threads

    func connectCommand(_ slot: Int) -> PoolStateMachine.ConnectCommand {
        let (command, closing) = state.withLock { state in
            let command = state.machine.connectCommand(slot)
            return (command, command == .close ? threadEnded(&state) : [])
        }
        for continuation in closing { continuation.resume() }
        return command
    }

    func connected(_ slot: Int, announcedPID: Int32) {
        update { state in
            state.announcedPIDs[slot] = announcedPID
            return state.machine.connected(slot)
        }
    }

    /// The server's process, as the lease's connection announced it.
    func announcedPID(of lease: Lease) -> Int32 { state.withLock { $0.announcedPIDs[lease.slot] } }

    /// Whether an attempt to connect still makes sense.
    var isWanted: Bool { state.withLock { !($0.machine.isClosing && $0.machine.isIdle) } }

    func connectFailed(_ slot: Int, _ error: PostgresError) {
        let isFirstFailure = state.withLock { state in
            defer { state.machine.connectFailed(slot, error) }
            return state.machine.outage == nil
        }
        if isFirstFailure { report(error) }
    }

    private func report(_ outage: PostgresError) {
        logger.warning("database connection failed", metadata: ["error": "\(outage.debugDescription)"])
    }

    /// See `PoolStateMachine.advance`. The tasks of `answered` are resumed once the connection counts as free again.
    func advance(
        _ slot: Int, answered: inout [Statement], requeued: inout [Statement], isHeldBack: Bool, retires: Bool,
        batch: inout [Statement]
    ) -> PoolStateMachine.ThreadCommand {
        var effects = PoolStateMachine.Effects()
        let (command, hasWaiting, endsOutage, closing) = state.withLock { state in
            let wasOut = state.machine.outage != nil
            let command = state.machine.advance(
                slot, answered: answered.count, requeued: requeued, isHeldBack: isHeldBack, retires: retires,
                batch: &batch, &effects)
            let endsOutage = wasOut && state.machine.outage == nil
            return (command, state.machine.hasWaiting, endsOutage, command == .close ? threadEnded(&state) : [])
        }
        if endsOutage { logger.notice("database connected again") }
        metrics.sent(batch)
        for statement in answered { statement.answer() }
        answered.removeAll(keepingCapacity: true)
        requeued.removeAll(keepingCapacity: true)
        carryOut(effects, hasWaiting: hasWaiting)
        for continuation in closing { continuation.resume() }
        return command
    }

    /// See `PoolStateMachine.lost`.
    func lost(_ slot: Int, failure: PostgresError?, requeued: [Statement], unsent: [Statement]) {
        var isFirstFailure = false
        update { state in
            isFirstFailure = state.machine.outage == nil
            return state.machine.lost(slot, failure: failure, requeued: requeued, unsent: unsent)
        }
        if let failure, isFirstFailure { report(failure) }
    }

    private func threadEnded(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        state.openThreads -= 1
        guard state.openThreads == 0 else { return [] }
        defer { state.closing = [] }
        return state.closing
    }

    // MARK: - Effects and timeouts

    private func update(_ body: (inout sending State) -> PoolStateMachine.Effects) {
        let (effects, hasWaiting) = state.withLock { state in
            let effects = body(&state)
            return (effects, state.machine.hasWaiting)
        }
        carryOut(effects, hasWaiting: hasWaiting)
    }

    private func carryOut(_ effects: PoolStateMachine.Effects, hasWaiting: Bool) {
        for slot in effects.wakes { signals[slot].raise() }
        for request in effects.answers {
            metrics.answered(request)
            request.answer()
        }
        for request in effects.deadlines { startDeadline(of: request) }
        // Not to be kept until the deadline of a request that has been answered.
        if hasWaiting { timer.start { [weak self] in self?.expire() } }
    }

    /// A request with a deadline of its own is rare, and waits even more rarely: it gets a task. A request that has been
    /// answered isn't kept in memory until then, with its values.
    private func startDeadline(of request: PoolRequest) {
        guard let deadline = request.context.acquireDeadline else { return }
        Task.detached { [weak self, weak request] in
            try? await Task.sleep(until: deadline, clock: .continuous)
            guard let self, let request else { return }
            update { $0.machine.expire(request) }
        }
    }

    /// Fails requests that waited longer than the acquire timeout. Returns the next deadline, nil when none waits.
    private func expire() -> ContinuousClock.Instant? {
        var effects = PoolStateMachine.Effects()
        let next = state.withLock { $0.machine.expire(.now, &effects) }
        carryOut(effects, hasWaiting: false)
        return next
    }
}
