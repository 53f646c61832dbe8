import Logging
import Synchronization

/// The connections of one database: a lock around `Seating`, one thread for each seat, and a clock while somebody waits.
final class Pool: Sendable {
    private struct State {
        var seating: Seating
        /// A task ends the waits that last too long. There is one while somebody waits.
        var hasClock = false
        var openThreads: Int
        var closing: [CheckedContinuation<Void, Never>] = []
    }

    let configuration: Database.Configuration
    let logger: Logger
    let signals: [WakeSignal]
    private let figures = PoolFigures()
    private let state: Mutex<State>

    init(_ configuration: Database.Configuration, logger: Logger) {
        let seating = Seating(configuration)
        self.configuration = configuration
        self.logger = logger
        signals = seating.seats.map { _ in WakeSignal() }
        state = Mutex(State(seating: seating, openThreads: seating.seats.count))
    }

    func start() {
        let parameters = ConnectionParameters(configuration)
        for seat in signals.indices {
            let thread = ConnectionThread(pool: self, seat: seat, parameters: parameters)
            if !DedicatedThread.start("pg\(seat)-\(configuration.applicationName)", thread.run) {
                fatalError("No thread is left to start with.")
            }
        }
    }

    // MARK: - Tasks

    /// Sends a request on its way and waits for its answer.
    ///
    /// - Parameter isShielded: The end of a transaction is not cancelled with its task.
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
        if case .failure(let error) = result { figures.count(error.code) }
        return try result.get()
    }

    func submit(_ request: Request) {
        update { state in
            let effects = state.seating.submit(request)
            startClock(&state)
            return effects
        }
    }

    func submit(_ statement: Statement, on lease: Lease, endsLease: Bool = false) {
        update { $0.seating.submit(statement, on: lease, endsLease: endsLease) }
    }

    func release(_ lease: Lease, isSpent: Bool) {
        update { $0.seating.release(lease, isSpent: isSpent) }
    }

    /// Whether anything was sent on the lease that must be committed or rolled back.
    func hasBegun(_ lease: Lease) -> Bool {
        state.withLock { _ in lease.pendingBegin == nil }
    }

    private func cancel(_ request: Request) {
        update { $0.seating.cancel(request) }
    }

    var statistics: Database.Statistics { state.withLock { $0.seating.statistics } }

    // MARK: - The end

    /// Refuses what comes, and closes every connection once everything before has been answered.
    func close() {
        update { state in
            var effects = Seating.Effects()
            state.seating.isClosing = true
            state.seating.closeIfQuiet(&effects)
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

    func demand(_ seat: Int) -> Seating.Demand {
        let (demand, closing) = state.withLock { state in
            let demand = state.seating.demand(seat)
            return (demand, demand == .close ? threadEnds(&state) : [])
        }
        for continuation in closing { continuation.resume() }
        return demand
    }

    func connected(_ seat: Int) {
        let wasDown = state.withLock { $0.seating.outage != nil }
        if wasDown { logger.notice("The database is connected again.") }
        update { $0.seating.connected(seat) }
    }

    /// Whether an attempt to connect still makes sense.
    var isWanted: Bool { state.withLock { !($0.seating.isClosing && $0.seating.isQuiet) } }

    func connectFailed(_ seat: Int, _ error: PostgresError) {
        let isNews = state.withLock { state in
            defer { state.seating.connectFailed(seat, error) }
            return state.seating.outage == nil
        }
        if isNews {
            logger.warning("The database cannot be connected.", metadata: ["error": "\(error.debugDescription)"])
        }
    }

    /// See `Seating.exchange`. The tasks of `answered` are resumed once the connection counts as free again.
    func exchange(
        _ seat: Int, answered: inout [Statement], again: inout [Statement], isCancelling: Bool, retires: Bool,
        outbox: inout [Statement]
    ) -> Seating.Turn {
        var effects = Seating.Effects()
        let (turn, closing) = state.withLock { state in
            let turn = state.seating.exchange(
                seat, answered: answered.count, again: again, isCancelling: isCancelling, retires: retires,
                outbox: &outbox, &effects)
            startClock(&state)
            return (turn, turn == .close ? threadEnds(&state) : [])
        }
        figures.sent(outbox)
        for statement in answered { statement.answer() }
        answered.removeAll(keepingCapacity: true)
        again.removeAll(keepingCapacity: true)
        carryOut(effects)
        for continuation in closing { continuation.resume() }
        return turn
    }

    func lost(_ seat: Int, unsent: [Statement]) {
        update { state in
            let effects = state.seating.lost(seat, unsent: unsent)
            startClock(&state)
            return effects
        }
    }

    private func threadEnds(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        state.openThreads -= 1
        guard state.openThreads == 0 else { return [] }
        defer { state.closing = [] }
        return state.closing
    }

    // MARK: - Effects and time

    private func update(_ body: (inout sending State) -> Seating.Effects) {
        carryOut(state.withLock { body(&$0) })
    }

    private func carryOut(_ effects: Seating.Effects) {
        for seat in effects.wakes { signals[seat].raise() }
        for request in effects.answers {
            figures.answered(request)
            request.answer()
        }
    }

    private func startClock(_ state: inout State) {
        guard !state.hasClock, state.seating.hasWaiting else { return }
        state.hasClock = true
        Task.detached { [self] in
            while let next = expire() { try? await Task.sleep(until: next, clock: .continuous) }
        }
    }

    private func expire() -> ContinuousClock.Instant? {
        var effects = Seating.Effects()
        let next = state.withLock { state in
            let next = state.seating.expire(.now, &effects)
            state.hasClock = next != nil
            return next
        }
        carryOut(effects)
        return next
    }
}
