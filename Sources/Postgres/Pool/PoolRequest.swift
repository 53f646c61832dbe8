import Synchronization

/// What a task waits for: a statement's answer, or a connection for itself.
///
/// Sendable because `phase`, `since` and `lease` are touched only under the pool's lock, and everything else only by
/// whoever moved the phase to `taken` (the connection's thread) or to `answered`, which each happen once.
class PoolRequest: @unchecked Sendable {
    enum Phase {
        case new
        case waiting
        /// A lease that gets this connection as soon as what is on its way has been answered.
        case reserved(slot: Int)
        /// In the inbox of a connection, not sent.
        case assigned(slot: Int)
        /// With the connection's thread, which will answer it.
        case taken(slot: Int)
        case answered
    }

    let operation: PostgresError.Operation
    let location: CodeLocation
    var phase = Phase.new
    /// Since when it waits.
    var since = ContinuousClock.Instant.now
    private let cancelled = Atomic(false)

    init(_ operation: PostgresError.Operation, _ location: CodeLocation) {
        self.operation = operation
        self.location = location
    }

    /// Set when the task was cancelled, at any time; read by the connection's thread.
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func markCancelled() { cancelled.store(true, ordering: .relaxed) }

    func error(_ code: PostgresError.Code, sqlState: String? = nil, message: String? = nil) -> PostgresError {
        PostgresError(
            code, operation: operation, location: location.description, sqlState: sqlState, message: message)
    }

    func fail(_ error: PostgresError) {}
    /// Resumes the task; the outcome is set.
    func answer() {}
}

/// A statement on its way to one connection and back.
///
/// Sendable because its fields are touched as those of ``Request`` are.
class Statement: PoolRequest, @unchecked Sendable {
    let sql: SQL
    /// It belongs to a transaction or a leased connection, and must not run anywhere else.
    var lease: Lease?
    /// Text of several statements by the simple protocol, which binds nothing.
    let isScript: Bool
    /// The transaction that this statement opens: its BEGIN travels in front of it.
    var opening: IsolationLevel?
    /// It was in flight behind a cancelled statement, so that the cancel may have hit it instead.
    var isExposedToCancel = false
    /// It ran on a stale preparation once already, and is sent without one.
    var refusesPreparation = false

    init(_ sql: SQL, isScript: Bool = false, _ operation: PostgresError.Operation, _ location: CodeLocation) {
        self.sql = sql
        self.isScript = isScript
        super.init(operation, location)
    }

    /// Takes the result of the statement itself; runs on the connection's thread.
    func receive(_ result: ServerResult) {}
    var hasOutcome: Bool { false }
    /// Forgets an answer that the server rolled back, before the statement is sent again.
    func reset() {}
}

/// A request with its waiting task.
protocol Answering<Output>: PoolRequest {
    associatedtype Output: Sendable
    var continuation: CheckedContinuation<Result<Output, PostgresError>, Never>? { get set }
}

/// Sendable because its fields are touched as those of ``Request`` are: the outcome by the connection's thread alone.
final class Query<Output: Sendable>: Statement, Answering, @unchecked Sendable {
    private let decode: @Sendable (ServerResult) throws(PostgresError) -> Output
    private var outcome: Result<Output, PostgresError>?
    var continuation: CheckedContinuation<Result<Output, PostgresError>, Never>?

    init(
        _ sql: SQL, isScript: Bool = false, _ operation: PostgresError.Operation, _ location: CodeLocation,
        decode: @escaping @Sendable (ServerResult) throws(PostgresError) -> Output
    ) {
        self.decode = decode
        super.init(sql, isScript: isScript, operation, location)
    }

    override var hasOutcome: Bool { outcome != nil }

    override func receive(_ result: ServerResult) {
        do throws(PostgresError) {
            outcome = .success(try decode(result))
        } catch {
            // What failed was reading; the place that asked is known here alone.
            var located = error
            if located.location.isEmpty { (located.operation, located.location) = (operation, location.description) }
            outcome = .failure(located)
        }
    }

    override func fail(_ error: PostgresError) { outcome = .failure(error) }

    override func reset() { outcome = nil }

    override func answer() {
        continuation?.resume(returning: outcome ?? .failure(error(.protocolViolation, message: "no answer")))
        continuation = nil
    }
}

/// Sendable because its fields are touched as those of ``Request`` are.
final class LeaseRequest: PoolRequest, Answering, @unchecked Sendable {
    /// The transaction to open before the first statement; nil for a connection without one.
    let isolation: IsolationLevel?
    var outcome: Result<Lease, PostgresError>?
    var continuation: CheckedContinuation<Result<Lease, PostgresError>, Never>?

    init(_ isolation: IsolationLevel?, _ location: CodeLocation) {
        self.isolation = isolation
        super.init(.lease, location)
    }

    override func fail(_ error: PostgresError) { outcome = .failure(error) }

    override func answer() {
        continuation?.resume(returning: outcome ?? .failure(error(.protocolViolation, message: "no answer")))
        continuation = nil
    }
}
