import Logging

/// What is on its way over one connection, oldest first, and what comes back.
///
/// Every statement ends with a Sync of its own: it is an implicit transaction by itself, and its failure does not touch
/// those behind it. Used by one thread.
struct Pipeline: ~Copyable {
    /// A statement in flight. In front of it may go a BEGIN and a PREPARE, which share its fate.
    struct Segment {
        enum Step {
            case begin
            case prepare(PreparedKey, String)
            case run
        }

        let statement: Statement
        var steps: [Step] = []
        var step = 0
        var key: PreparedKey?
        /// The current command has answered something.
        var hasResult = false
        var failure: PostgresError?
        var isStale = false

        var hasFailedToBegin = false
        /// What the next result belongs to. One after the last command comes from the commit at the Sync.
        var current: Step { step < steps.count ? steps[step] : .run }
    }

    let connection: LibpqConnection
    private let preparesStatements: Bool
    private let silenceLimit: Duration?
    /// Since when the server has had something to answer and has said nothing.
    private var silentSince = ContinuousClock.now
    private var prepared = PreparedStatements()
    private var flight: [Segment] = []
    /// Taken from the pool and held back: behind a script, which needs the connection for itself, or during a cancel.
    private var unsent: [Statement] = []
    private(set) var cancellation: Cancellation?
    private var cancelRequest: CancelRequest?
    /// The server refuses writes: it became a standby, and a new connection may find the new primary.
    private(set) var retires = false
    /// Something was answered; the connection works.
    private(set) var hasServed = false
    var finished: [Statement] = []
    /// Rolled back by the server for no fault of theirs, to be sent again.
    var again: [Statement] = []

    init(_ connection: consuming LibpqConnection, configuration: Database.Configuration) {
        self.connection = connection
        preparesStatements = configuration.preparedStatements
        silenceLimit = configuration.silenceLimit
    }

    // MARK: - Sending

    mutating func enqueue(_ statements: [Statement]) {
        unsent += statements
    }

    /// Sends what can be sent. A lost connection leaves the rest in `unsent`.
    mutating func send() throws(PostgresError) {
        var sent = 0
        defer { unsent.removeFirst(sent) }
        while sent < unsent.count, cancellation == nil, flight.last?.statement.isScript != true {
            let statement = unsent[sent]
            if statement.isScript && !flight.isEmpty { break }
            sent += 1
            if flight.isEmpty { silentSince = .now }
            // From here on it counts as sent, whatever becomes of it.
            flight.append(Segment(statement: statement))
            let isSent = statement.isScript ? sendScript(statement) : send(statement)
            guard isSent else { throw lost() }
        }
    }

    private func sendScript(_ statement: Statement) -> Bool {
        let begin = statement.opening.map { $0.beginStatement + ";\n" } ?? ""
        return connection.exitPipeline() && connection.sendScript(begin + statement.sql.text)
    }

    private mutating func send(_ statement: Statement) -> Bool {
        var segment = Segment(statement: statement)
        var isSent = true
        if let isolation = statement.opening {
            segment.steps.append(.begin)
            isSent = connection.sendText(isolation.beginStatement)
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
        flight[flight.count - 1] = segment
        return isSent && connection.sendSync()
    }

    // MARK: - Receiving

    /// Takes in what the socket has.
    mutating func receive() throws(PostgresError) {
        guard connection.consumeInput() else { throw lost() }
        silentSince = .now
        var silences = 0
        var answered = 0
        defer { flight.removeFirst(answered) }
        while !connection.isBusy, answered < flight.count {
            guard let result = connection.nextResult() else {
                // A NULL ends each command. Several without anything between would mean that we and libpq do not agree
                // on what is in flight, and answers would reach the wrong task.
                silences += 1
                guard silences < 4 else { throw lost(.protocolViolation, "results are out of step") }
                if flight[answered].statement.isScript {
                    try finishScript(flight[answered])
                    answered += 1
                } else if flight[answered].hasResult {
                    flight[answered].hasResult = false
                    flight[answered].step += 1
                }
                continue
            }
            silences = 0
            if result.status == .pipelineSync {
                let segment = flight[answered]
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
        let statement = flight[index].statement
        let step = flight[index].current
        flight[index].hasResult = true
        switch result.status {
        case .commandOK, .tuplesOK, .emptyQuery:
            switch step {
            case .begin: break
            case .prepare(let key, let name): prepared.confirm(key, name)
            case .run: statement.receive(result)
            }
        case .error:
            let error = result.error(statement.operation, at: statement.location)
            if result.isFatal { throw lost(.connectionLost, error.message, sqlState: error.sqlState) }
            flight[index].failure = flight[index].failure ?? error
            flight[index].isStale = result.isStalePreparation
            switch step {
            case .begin: flight[index].hasFailedToBegin = true
            case .prepare(let key, _): prepared.forget(key)
            case .run: break
            }
            if result.isStalePreparation, let key = flight[index].key { prepared.forget(key) }
        case .pipelineAborted: break
        case .pipelineSync, .unsupported: throw lost(.protocolViolation, "COPY is not spoken here")
        }
    }

    private mutating func finish(_ segment: Segment) {
        let statement = segment.statement
        hasServed = true
        guard let failure = segment.failure else { return finished.append(statement) }
        if failure.sqlState == "25006" { retires = true }
        let isCancelled = statement.isCancelled
        let isHit = failure.sqlState == "57014"
        if statement.lease == nil && !isCancelled {
            let isStale = segment.isStale && !statement.refusesPreparation
            if isStale || isHit && statement.isExposedToCancel {
                statement.refusesPreparation = isStale
                statement.isExposedToCancel = false
                statement.reset()
                return again.append(statement)
            }
        }
        statement.fail(isHit && isCancelled ? statement.error(.cancelled, sqlState: failure.sqlState) : failure)
        finished.append(statement)
    }

    private mutating func finishScript(_ segment: Segment) throws(PostgresError) {
        let isOutside = segment.statement.lease?.opensTransaction == true && !connection.isInTransaction
        finish(segment)
        // What follows in the transaction would be committed piece by piece.
        if isOutside { throw lost(.connectionLost, "the script left its transaction") }
        guard connection.enterPipeline() else { throw lost() }
    }

    // MARK: - Cancelling

    /// When something is to be done although nothing has come.
    var deadline: ContinuousClock.Instant? {
        guard let silenceEnd else { return cancellation?.deadline }
        return cancellation.map { min($0.deadline, silenceEnd) } ?? silenceEnd
    }

    private var silenceEnd: ContinuousClock.Instant? {
        guard !flight.isEmpty, let silenceLimit else { return nil }
        return silentSince + silenceLimit
    }

    /// Gives the connection up when the server should have said something: it, or something on the way to it, is gone
    /// without a word.
    func checkSilenceTimeout() throws(PostgresError) {
        if let silenceEnd, ContinuousClock.now >= silenceEnd { throw lost(.connectionLost, "the server is silent") }
    }

    /// Stops the statement at the head when its task was cancelled. One further behind waits for its turn, since the
    /// server would stop whatever it works on.
    mutating func pursueCancellation(signal: WakeSignal) throws(PostgresError) {
        let head = flight.first?.statement
        let target = head?.isCancelled == true ? head : nil
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
            for segment in flight where segment.statement !== target { segment.statement.isExposedToCancel = true }
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

    /// Everything in flight failed with the connection. Returns what was not sent.
    mutating func abandon(because error: PostgresError) -> [Statement] {
        for segment in flight {
            let statement = segment.statement
            statement.fail(statement.error(error.code, sqlState: error.sqlState, message: error.message))
            finished.append(statement)
        }
        flight = []
        defer { unsent = [] }
        return again + unsent
    }
}
