import Synchronization

/// A request of a task: a statement to be answered, or a connection to be leased.
///
/// Sendable because `phase`, `since` and `lease` are touched only under the pool's lock, and everything else that varies
/// only by the thread that moved the phase to `taken` (the connection's) or to `answered`; each happens once.
class PoolRequest: @unchecked Sendable {
    enum Phase {
        case new
        case waiting
        /// A lease that gets the connection in this slot as soon as its statements have been answered.
        case reserved(slot: Int)
        /// Among the pending statements of a slot, not sent.
        case assigned(slot: Int)
        /// With the connection's thread, which will answer it.
        case taken(slot: Int)
        case answered
    }

    let operation: PostgresError.Operation
    let location: CodeLocation
    var phase = Phase.new
    /// When it began to wait.
    var since = ContinuousClock.Instant.now
    let context = RequestContext.current
    private let cancelled = Atomic(false)

    init(_ operation: PostgresError.Operation, _ location: CodeLocation) {
        self.operation = operation
        self.location = location
    }

    /// Whether the task was cancelled: set at any time, read by the connection's thread.
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Whether it waits for a connection.
    var isWaiting: Bool {
        switch phase {
        case .waiting, .reserved: true
        case .new, .assigned, .taken, .answered: false
        }
    }

    func markCancelled() { cancelled.store(true, ordering: .relaxed) }

    func error(_ code: PostgresError.Code, sqlState: String? = nil, message: String? = nil) -> PostgresError {
        PostgresError(code, operation: operation, location: location.description, sqlState: sqlState, message: message)
    }

    func fail(_ error: PostgresError) {}
    /// Resumes the task; the outcome is set.
    func answer() {}
}

/// A statement to be run on one connection.
///
/// Sendable because its fields are touched as those of ``PoolRequest`` are.
class Statement: PoolRequest, @unchecked Sendable {
    let sql: SQL
    /// The lease of its transaction or leased connection, outside of which it must not run; nil for a lone statement.
    var lease: Lease?
    /// Whether the text holds several statements, sent by the simple protocol, which binds nothing.
    let isScript: Bool
    /// The isolation level of the transaction that this statement opens; its BEGIN travels in front of it.
    var beginIsolation: IsolationLevel?
    /// Whether the server is to plan it for its values. Not what ends a transaction: in a failed one nothing may come
    /// before it.
    var isPlannedEachTime: Bool { context.isPlanningEachTime && (operation == .query || operation == .execute) }
    /// Whether it stands alone, and a commit may have to be written for it.
    var mayCommitByItself: Bool { lease == nil && sql.mayCommit }
    /// Whether it stands alone, and nothing is written for it.
    var isLoneRead: Bool { lease == nil && !isScript && !sql.mayCommit }
    /// Whether it is still in flight after its task was given ``PostgresError/Code/outcomeUnknown``.
    var isAbandoned = false
    /// Whether it failed on a stale preparation before, and is now sent unprepared.
    var refusesPreparation = false

    init(_ sql: SQL, isScript: Bool = false, _ operation: PostgresError.Operation, _ location: CodeLocation) {
        self.sql = sql
        self.isScript = isScript
        super.init(operation, location)
    }

    /// Decodes the result of the statement itself, on the connection's thread.
    func receive(_ result: ServerResult) {}
    /// Drops an outcome that the server rolled back, before the statement is sent again.
    func reset() {}
}

/// A request whose task waits for its outcome.
protocol Answering<Output>: PoolRequest {
    associatedtype Output: Sendable
    var continuation: CheckedContinuation<Result<Output, PostgresError>, Never>? { get set }
}

/// Sendable because its fields are touched as those of ``PoolRequest`` are: the outcome by the connection's thread
/// alone.
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

    override func receive(_ result: ServerResult) {
        do throws(PostgresError) {
            outcome = .success(try decode(result))
        } catch {
            // A decoding error has no location of its own: only the statement knows its call site.
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

/// Sendable because its fields are touched as those of ``PoolRequest`` are.
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
