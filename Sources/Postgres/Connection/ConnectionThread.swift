import Glibc
import Logging

/// The thread that owns one connection: it connects when requests wait, takes the statements that are assigned to its
/// slot, sends them all, sleeps until the socket or the pool has something, and connects again when the connection is
/// lost.
struct ConnectionThread: Sendable {
    let pool: Pool
    let slot: Int
    /// nil when the URL cannot be read.
    let parameters: ConnectionParameters?

    private var signal: WakeSignal { pool.signals[slot] }

    func run() {
        var backoff = Backoff()
        while true {
            switch pool.connectCommand(slot) {
            case .close: return
            case .none: _ = signal.wait()
            case .connect:
                do throws(PostgresError) {
                    let pipeline = try connect()
                    pool.connected(slot, announcedPID: pipeline.connection.announcedPID)
                    let connectedAt = ContinuousClock.now
                    switch serve(pipeline, since: connectedAt) {
                    case .closed: return
                    // A server that stays read-only counts as down: each write would be another connection.
                    case .retired:
                        if .now - connectedAt > .seconds(1) { backoff.reset() } else { pause(backoff.next()) }
                    case .lost(let isFailedAttempt):
                        if isFailedAttempt { pause(backoff.next()) } else { backoff.reset() }
                    }
                } catch {
                    pool.connectFailed(slot, error)
                    pause(backoff.next())
                }
            }
        }
    }

    private func connect() throws(PostgresError) -> Pipeline {
        guard let parameters else {
            throw PostgresError(.connectFailed, operation: .connect, location: "", message: "the URL is not readable")
        }
        let deadline = ContinuousClock.now + pool.configuration.connectTimeout
        var hosts = parameters.hosts[...]
        while true {
            let host = hosts.removeFirst()
            // A host that never answers leaves the others their share of the time.
            let share = (deadline - .now) / (hosts.count + 1)
            do throws(PostgresError) {
                let connection = try LibpqConnection.connect(
                    host, until: .now + share, signal: signal, logger: pool.logger, isWanted: { pool.isWanted })
                return Pipeline(connection, configuration: pool.configuration)
            } catch {
                guard !hosts.isEmpty, pool.isWanted else { throw error }
            }
        }
    }

    private func pause(_ duration: Duration) {
        let end = ContinuousClock.now + duration
        while ContinuousClock.now < end, pool.isWanted { _ = signal.wait(until: end) }
    }

    private enum Ending {
        case closed
        case retired
        case lost(isFailedAttempt: Bool)
    }

    private func serve(_ connected: consuming Pipeline, since connectedAt: ContinuousClock.Instant) -> Ending {
        var pipeline = connected
        var batch: [Statement] = []
        do throws(PostgresError) {
            while true {
                let command = pool.advance(
                    slot, answered: &pipeline.finished, requeued: &pipeline.requeued,
                    isHeldBack: pipeline.isHeldBack, retires: pipeline.retires, batch: &batch)
                switch command {
                case .close: return .closed
                case .reconnect: return .retired
                case .proceed: break
                }
                pipeline.enqueue(batch)
                batch.removeAll(keepingCapacity: true)
                try pipeline.send()
                try wait(&pipeline)
            }
        } catch {
            if error.code == .protocolViolation {
                pool.logger.warning("database connection lost", metadata: ["error": "\(error.debugDescription)"])
            }
            // A server that accepts connections and drops them at once counts as down, and so does a pooler that drops one
            // at its first statement. One that is idle for long may be closed by either, or by a proxy.
            let isNew = ContinuousClock.now - connectedAt < pool.configuration.connectTimeout
            let isFailedAttempt = !pipeline.hasServed && (pipeline.owesAnswer || isNew)
            let unsent = pipeline.abandon(because: error)
            pool.lost(slot, failure: isFailedAttempt ? error : nil, requeued: pipeline.requeued, unsent: unsent)
            for statement in pipeline.finished { statement.answer() }
            return .lost(isFailedAttempt: isFailedAttempt)
        }
    }

    private func wait(_ pipeline: inout Pipeline) throws(PostgresError) {
        let wasHeldBack = pipeline.isHeldBack
        pipeline.holdsWrites = pool.holdsWrites
        try pipeline.abandonStatements()
        try pipeline.advanceCancellation(signal: signal)
        // Reported at once: the pool assigns statements to other connections meanwhile.
        if pipeline.isHeldBack != wasHeldBack { return }
        guard let hasBacklog = pipeline.connection.flush() else { return try pipeline.receive() }
        let events = Int32(hasBacklog ? POLLIN | POLLOUT : POLLIN)
        let ready = signal.wait(socket: pipeline.connection.socket, events: events, until: pipeline.deadline)
        if ready != 0 { try pipeline.receive() } else { try pipeline.checkSilenceTimeout() }
    }
}

/// The pause before the next attempt to connect: doubled up to 1 s, with jitter, which avoids a reconnect stampede of
/// all connections of all processes.
struct Backoff {
    private static let shortest = 0.05
    private static let longest = 1.0
    private var ceiling = Self.shortest

    mutating func next() -> Duration {
        defer { ceiling = min(ceiling * 2, Self.longest) }
        return .seconds(ceiling * Double.random(in: 0.5...1))
    }

    mutating func reset() { ceiling = Self.shortest }
}
