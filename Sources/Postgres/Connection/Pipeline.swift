/// The statements in flight on one connection, oldest first, and the reading of their results.
///
/// Every statement ends with a Sync of its own: it is an implicit transaction by itself, and its failure does not touch
/// those behind it. Used by one thread.
struct Pipeline: ~Copyable {
    /// A statement in flight. A BEGIN, a setting and a PREPARE may go in front of it, under the same Sync.
    struct Segment {
        enum Step {
            case begin
            case setting
            case prepare(PreparedKey, String)
            case run
        }

        let statement: Statement
        /// When its task has waited long enough; nil when only the server's limits count.
        let answerEnd: ContinuousClock.Instant?
        var steps: [Step] = []
        var step = 0
        var key: PreparedKey?
        /// Whether the current command has returned a result.
        var hasResult = false
        var failure: PostgresError?
        var isStale = false

        var hasFailedToBegin = false
        /// The step that the next result belongs to. A result after the last command comes from the commit at the Sync.
        var current: Step { step < steps.count ? steps[step] : .run }
    }

    let connection: LibpqConnection
    private let preparesStatements: Bool
    private let silenceLimit: Duration?
    private let commitTimeout: Duration
    private let answerTimeout: Duration?
    private let acquireTimeout: Duration
    /// The start of the current silence: since then the server owes an answer and has sent nothing.
    private var silentSince = ContinuousClock.now
    private var prepared = PreparedStatements()
    private var inFlight: [Segment] = []
    /// Statements taken from the pool and held back: behind a script, which needs the connection for itself, or during
    /// a cancel.
    private var unsent: [Statement] = []
    private(set) var cancellation: Cancellation?
    private var cancelRequest: CancelRequest?
    /// The number of abandoned statements in flight, and when the first of them was abandoned.
    private var abandoned = 0
    private var abandonedSince = ContinuousClock.now
    /// Whether commits wait for a standby (``Database/holdsWrites``).
    var holdsWrites = false
    /// Whether the connection is to be replaced: the server refuses writes, so it became a standby, and a new
    /// connection may reach the new primary.
    private(set) var retires = false
    /// Whether the server has answered anything on this connection.
    private(set) var hasServed = false
    /// Whether the server owes an answer.
    var owesAnswer: Bool { !inFlight.isEmpty }
    var finished: [Statement] = []
    /// Statements that have done nothing, for no fault of theirs, to be sent again.
    var requeued: [Statement] = []

    init(_ connection: consuming LibpqConnection, configuration: Database.Configuration) {
        self.connection = connection
        preparesStatements = configuration.preparedStatements
        silenceLimit = configuration.silenceLimit
        commitTimeout = configuration.commitTimeout
        answerTimeout = configuration.answerTimeout
        acquireTimeout = configuration.acquireTimeout
    }

    // MARK: - Sending

    mutating func enqueue(_ statements: [Statement]) { unsent += statements }

    /// Sends what may be sent now. A lost connection leaves the rest in `unsent`.
    mutating func send() throws(PostgresError) {
        var sent = 0
        defer { unsent.removeFirst(sent) }
        while sent < unsent.count, cancellation == nil, inFlight.last?.statement.isScript != true {
            let statement = unsent[sent]
            if statement.isScript && !inFlight.isEmpty { break }
            sent += 1
            if inFlight.isEmpty { silentSince = .now }
            // From here on it counts as sent, whatever becomes of it.
            inFlight.append(Segment(statement: statement, answerEnd: answerEnd(of: statement)))
            let isSent = statement.isScript ? sendScript(statement) : send(statement)
            guard isSent else { throw lost() }
        }
    }

    private func sendScript(_ statement: Statement) -> Bool {
        connection.exitPipeline() && connection.sendScript(statement.sql.text)
    }

    /// In force to the end of the transaction, which is the statement's own or the one that it belongs to.
    private static let planningEachTime = "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)"

    private mutating func send(_ statement: Statement) -> Bool {
        var segment = inFlight[inFlight.count - 1]
        var isSent = true
        if let isolation = statement.beginIsolation {
            segment.steps.append(.begin)
            isSent = connection.sendText(isolation.beginStatement)
        }
        if statement.isPlannedEachTime {
            segment.steps.append(.setting)
            isSent = isSent && connection.sendText(Self.planningEachTime)
        }
        var plan = PreparedStatements.Plan.unprepared
        if preparesStatements && !statement.refusesPreparation {
            let key = PreparedKey(text: statement.sql.text, types: statement.sql.parameters.types)
            plan = prepared.plan(for: key)
            segment.key = key
        }
        switch plan {
        case .unprepared:
            isSent = isSent && connection.sendQuery(statement.sql)
            segment.key = nil
        case .prepare(let name):
            if let key = segment.key { segment.steps.append(.prepare(key, name)) }
            isSent =
                isSent && connection.sendPrepare(statement.sql, as: name)
                && connection.sendPrepared(name, statement.sql)
        case .execute(let name):
            isSent = isSent && connection.sendPrepared(name, statement.sql)
        }
        segment.steps.append(.run)
        inFlight[inFlight.count - 1] = segment
        return isSent && connection.sendSync()
    }

    // MARK: - Receiving

    /// Reads what the socket has.
    mutating func receive() throws(PostgresError) {
        guard connection.consumeInput() else { throw lost() }
        silentSince = .now
        var consecutiveNulls = 0
        var answered = 0
        defer { inFlight.removeFirst(answered) }
        while !connection.isBusy, answered < inFlight.count {
            guard let result = connection.nextResult() else {
                // A NULL ends each command. Several without anything between would mean that we and libpq do not agree
                // on what is in flight, and answers would reach the wrong task.
                consecutiveNulls += 1
                guard consecutiveNulls < 4 else { throw lost(.protocolViolation, "results are out of step") }
                if inFlight[answered].statement.isScript {
                    try finishScript(inFlight[answered])
                    answered += 1
                } else if inFlight[answered].hasResult {
                    inFlight[answered].hasResult = false
                    inFlight[answered].step += 1
                }
                continue
            }
            consecutiveNulls = 0
            if result.status == .pipelineSync {
                let segment = inFlight[answered]
                answered += 1
                finish(segment)
                if segment.hasFailedToBegin { throw lost(.connectionLost, "the transaction could not be opened") }
                if segment.statement.lease == nil && connection.isInTransaction {
                    // A bare BEGIN. Whatever shared the connection with it would wait for a COMMIT that never comes.
                    let error = lost(.protocolViolation, "a statement left a transaction open")
                    segment.statement.fail(segment.statement.error(error.code, message: error.message))
                    throw error
                }
            } else {
                try take(result, at: answered)
            }
        }
        if connection.isBroken { throw lost() }
    }

    private mutating func take(_ result: ServerResult, at index: Int) throws(PostgresError) {
        let statement = inFlight[index].statement
        let step = inFlight[index].current
        inFlight[index].hasResult = true
        switch result.status {
        case .commandOK, .tuplesOK, .emptyQuery:
            switch step {
            case .begin, .setting: break
            case .prepare(let key, let name): prepared.confirm(key, name)
            case .run: if !statement.isAbandoned { statement.receive(result) }
            }
        case .error:
            let error = result.error(statement.operation, at: statement.location)
            if result.isFatal { throw lost(.connectionLost, error.message, sqlState: error.sqlState) }
            inFlight[index].failure = inFlight[index].failure ?? error
            let preparation = result.preparation
            inFlight[index].isStale = preparation != nil
            switch step {
            case .begin: inFlight[index].hasFailedToBegin = true
            case .prepare(let key, let name): prepared.refuse(key, name, preparation)
            case .run: if let preparation, let key = inFlight[index].key { prepared.forget(key, preparation) }
            case .setting: break
            }
        case .pipelineAborted: break
        case .pipelineSync, .unsupported: throw lost(.protocolViolation, "COPY is not supported")
        }
    }

    private mutating func finish(_ segment: Segment) {
        let statement = segment.statement
        hasServed = true
        let isUnconfirmed = connection.takeUnconfirmedCommit()
        if segment.failure?.sqlState == "25006" { retires = true }
        if statement.isAbandoned {
            abandoned -= 1
        } else if isUnconfirmed {
            statement.fail(statement.error(.outcomeUnknown, message: "committed, but not confirmed by the standby"))
        } else if let failure = segment.failure {
            let isCancelled = statement.isCancelled
            if segment.isStale && statement.lease == nil && !isCancelled && !statement.refusesPreparation {
                statement.refusesPreparation = true
                statement.reset()
                return requeued.append(statement)
            }
            let isStopped = isCancelled && failure.sqlState == "57014"
            statement.fail(isStopped ? statement.error(.cancelled, sqlState: failure.sqlState) : failure)
        }
        finished.append(statement)
    }

    private mutating func finishScript(_ segment: Segment) throws(PostgresError) {
        finish(segment)
        guard connection.enterPipeline() else { throw lost() }
    }

    // MARK: - Silence

    /// When to act although nothing has arrived: the end of a silence, of a commit's or a task's time, or the next step
    /// of a cancellation.
    var deadline: ContinuousClock.Instant? {
        Self.earlier(
            Self.earlier(Self.earlier(silenceEnd, commitEnd), Self.earlier(firstAnswerEnd, heldEnd)),
            cancellation?.deadline)
    }

    /// Without an array: this is asked before each wait for the server.
    private static func earlier(
        _ one: ContinuousClock.Instant?, _ other: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    private var silenceEnd: ContinuousClock.Instant? {
        guard !inFlight.isEmpty else { return nil }
        if let silenceLimit { return silentSince + silenceLimit }
        return abandoned > 0 ? max(silentSince, abandonedSince) + Self.abandonedLimit : nil
    }

    /// How long a connection whose statements may run without limit is kept for an abandoned one.
    private static let abandonedLimit = Duration.seconds(5)

    private var commitEnd: ContinuousClock.Instant? {
        guard let head = inFlight.first?.statement, head.operation == .commit, !head.isAbandoned else { return nil }
        return silentSince + commitTimeout
    }

    /// How long a commit may go unanswered while others are known to wait for a standby.
    private static let heldLimit = Duration.seconds(1)

    /// When the connection is given up because the commit at its head waits for a standby. One whose commit was given up
    /// before is given up at once.
    private var heldEnd: ContinuousClock.Instant? {
        guard holdsWrites, let head = inFlight.first?.statement,
            head.operation == .commit || head.mayCommitByItself
        else { return nil }
        return head.isAbandoned ? silentSince : silentSince + Self.heldLimit
    }

    /// For a lone statement, the wait for its connection counts; in a transaction, each statement has the whole time. A
    /// caller that has waited before it came here has had that part of it: by its own deadline for the connection.
    private func answerEnd(of statement: Statement) -> ContinuousClock.Instant? {
        guard let answerTimeout, !statement.context.isInBackground, statement.operation != .commit else { return nil }
        let end = statement.since + answerTimeout
        guard let acquireDeadline = statement.context.acquireDeadline else { return end }
        return min(end, acquireDeadline + (answerTimeout - acquireTimeout))
    }

    private var firstAnswerEnd: ContinuousClock.Instant? {
        guard answerTimeout != nil else { return nil }
        return inFlight.lazy.filter { !$0.statement.isAbandoned }.compactMap(\.answerEnd).min()
    }

    /// Throws when the server has owed an answer for longer than the silence limit: it, or a device on the way to it,
    /// is gone without closing the connection.
    func checkSilenceTimeout() throws(PostgresError) {
        if let silenceEnd, ContinuousClock.now >= silenceEnd { throw lost(.connectionLost, "the server is silent") }
    }

    // MARK: - Giving up

    /// Whether nothing may be sent behind what is in flight: a cancel request would hit it, or an abandoned statement
    /// may keep it waiting.
    var isHeldBack: Bool { cancellation != nil || abandoned > 0 }

    /// Answers the tasks of statements that are given up, and leaves the statements in flight: their results are read
    /// and dropped. Given up are lone statements whose task was cancelled or has waited long enough, because a cancel
    /// request would reach whatever the server is at by then, and a COMMIT whose time is over, because a cancel request
    /// would only end its wait for the standby and make it look like a success.
    ///
    /// Throws when a statement within a transaction is late: the end of the connection rolls the transaction back.
    mutating func abandonStatements() throws(PostgresError) {
        let now = ContinuousClock.now
        if let heldEnd, heldEnd <= now { throw lost(.outcomeUnknown, "its commit waits for a standby") }
        let isCommitLate = commitEnd.map { $0 <= now } ?? false
        for index in inFlight.indices {
            let statement = inFlight[index].statement
            guard !statement.isAbandoned else { continue }
            let isLate = inFlight[index].answerEnd.map { $0 <= now } ?? false
            let reason: String
            if statement.isCancelled && statement.lease == nil {
                reason = "given up by its task"
            } else if isLate && statement.lease == nil {
                reason = "not answered within the answer timeout"
            } else if isLate {
                throw lost(.connectionLost, "not answered within the answer timeout")
            } else if index == 0 && isCommitLate {
                reason = "not answered within the commit timeout"
            } else {
                continue
            }
            statement.isAbandoned = true
            if abandoned == 0 { abandonedSince = .now }
            abandoned += 1
            statement.fail(statement.error(.outcomeUnknown, message: reason))
            statement.answer()
        }
    }

    /// The statement that a cancel request may stop: the one that the server executes, if its task was cancelled and the
    /// connection is leased to it. Not in front of a COMMIT, which the request could reach instead.
    private var cancellable: Statement? {
        guard let head = inFlight.first?.statement, head.isCancelled, head.lease != nil,
            !inFlight.contains(where: { $0.statement.operation == .commit })
        else { return nil }
        return head
    }

    /// Cancels the statement at the head. One further behind waits until it is the head, since a cancel request stops
    /// whatever the server is executing.
    mutating func advanceCancellation(signal: WakeSignal) throws(PostgresError) {
        let target = cancellable
        if cancellation == nil {
            guard let target else { return }
            cancellation = Cancellation(of: target, at: .now)
        }
        guard var current = cancellation else { return }
        cancellation = nil
        let now = ContinuousClock.now
        switch current.step(towards: target, isDelivered: cancelRequest?.isDelivered ?? true, at: now) {
        case .wait: cancellation = current
        case .over: break
        case .giveUp: throw lost(.connectionLost, "a cancelled statement did not end")
        case .request:
            guard let request = connection.cancelRequest() else { throw lost() }
            cancelRequest = request
            cancellation = current
            request.send(thenRaise: signal)
        }
    }

    // MARK: - Ending

    private func lost(
        _ code: PostgresError.Code = .connectionLost, _ message: String? = nil, sqlState: String? = nil
    ) -> PostgresError {
        PostgresError(
            code, operation: .connect, location: "", sqlState: sqlState, message: message ?? connection.lastMessage)
    }

    /// Fails everything in flight with the connection. Returns the statements that were not sent; see `requeued` too.
    ///
    /// What only reads and stood behind a commit that waits is sent again: it has done nothing.
    mutating func abandon(because error: PostgresError) -> [Statement] {
        for segment in inFlight {
            let statement = segment.statement
            if error.code == .outcomeUnknown, statement.isLoneRead, !statement.isAbandoned, !statement.isCancelled {
                statement.reset()
                requeued.append(statement)
                continue
            }
            statement.fail(statement.error(error.code, sqlState: error.sqlState, message: error.message))
            finished.append(statement)
        }
        inFlight = []
        defer { unsent = [] }
        return unsent
    }
}
