import CPostgres
import Glibc
import Logging

/// One connection of libpq, non-blocking, used by one thread. It wraps the single calls; `Pipeline` puts them in order.
@safe
struct LibpqConnection: ~Copyable {
    private let handle: OpaquePointer
    /// Kept for libpq, which holds it unretained.
    private let notices: NoticeReceiver

    private init(adopting handle: OpaquePointer, logger: Logger) {
        unsafe self.handle = unsafe handle
        notices = NoticeReceiver(logger: logger)
    }

    deinit {
        unsafe PQfinish(handle)
    }

    /// - Parameter isWanted: asked whenever `signal` is raised; false gives the attempt up.
    static func connect(
        _ parameters: ConnectionParameters.Pairs, until deadline: ContinuousClock.Instant, signal: WakeSignal,
        logger: Logger, isWanted: () -> Bool
    ) throws(PostgresError) -> LibpqConnection {
        let keys = parameters.map(\.key)
        let values = parameters.map(\.value)
        let started = unsafe withCStrings(keys) { keys in
            unsafe withCStrings(values) { values in unsafe PQconnectStartParams(keys, values, 0) }
        }
        guard let handle = unsafe started else { throw failure("out of memory") }
        let connection = unsafe LibpqConnection(adopting: handle, logger: logger)
        // Only the verbose form of a refused connection names its SQLSTATE; there is no result to ask.
        unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        var events = Int32(POLLOUT)
        polling: while unsafe PQstatus(handle) != CONNECTION_BAD {
            let ready = unsafe signal.wait(socket: PQsocket(handle), events: events, until: deadline)
            guard isWanted() else { throw failure("no longer wanted") }
            if ready == 0 {
                if ContinuousClock.now >= deadline { throw failure("no answer within the connect timeout") }
                continue
            }
            switch unsafe PQconnectPoll(handle) {
            case PGRES_POLLING_OK: break polling
            case PGRES_POLLING_WRITING: events = Int32(POLLOUT)
            case PGRES_POLLING_READING: events = Int32(POLLIN)
            default: throw connection.connectFailure
            }
        }
        guard unsafe PQstatus(handle) == CONNECTION_OK else { throw connection.connectFailure }
        // From here on there are results to ask, and the text of an error could quote a value. An error that ends the
        // connection is in `lastMessage` too.
        unsafe PQsetErrorVerbosity(handle, PQERRORS_SQLSTATE)
        connection.receiveNotices()
        guard unsafe PQsetnonblocking(handle, 1) == 0, connection.enterPipeline() else {
            throw connection.connectFailure
        }
        return connection
    }

    private func receiveNotices() {
        unsafe PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context = unsafe context, let result = unsafe result else { return }
                let field = { (code: Int32) -> String in
                    guard let text = unsafe PQresultErrorField(result, code) else { return "" }
                    return unsafe String(cString: text)
                }
                unsafe Unmanaged<NoticeReceiver>.fromOpaque(context).takeUnretainedValue().receive(
                    ServerNotice(
                        severity: field(countersign_diag_severity), sqlState: field(countersign_diag_sqlstate),
                        message: field(countersign_diag_message_primary),
                        function: field(countersign_diag_source_function), file: field(countersign_diag_source_file)))
            }, Unmanaged.passUnretained(notices).toOpaque())
    }

    /// Whether the server has given up waiting for a standby's confirmation of a commit since this was last called.
    ///
    /// libpq hands a notice over as soon as it reads it, in the order of the server's messages. This one comes before the
    /// end of the statement that it is about, and behind the end of the one before, whose last result libpq doesn't read
    /// past: so a caller that asks at the end of each statement learns it of the right one.
    func takeUnconfirmedCommit() -> Bool { notices.takeUnconfirmedCommit() }

    private static func failure(_ message: String, sqlState: String? = nil) -> PostgresError {
        PostgresError(.connectFailed, operation: .connect, location: "", sqlState: sqlState, message: message)
    }

    private var connectFailure: PostgresError {
        let message = lastMessage
        return Self.failure(message, sqlState: Self.sqlState(inMessage: message))
    }

    /// `…FATAL:  28P01: password authentication failed…`: the five characters between two colons.
    static func sqlState(inMessage message: String) -> String? {
        for word in message.split(whereSeparator: \.isWhitespace) where word.utf8.count == 6 && word.last == ":" {
            let state = word.dropLast()
            if state.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) }),
                state.contains(where: \.isNumber)
            {
                return String(state)
            }
        }
        return nil
    }

    // MARK: - State

    var socket: Int32 { unsafe PQsocket(handle) }
    var isBroken: Bool { unsafe PQstatus(handle) == CONNECTION_BAD }

    /// The server's process, as it was announced; whatever stands in between announces a number of its own.
    var announcedPID: Int32 { unsafe PQbackendPID(handle) }

    /// libpq's last message: about the connection, not about a value.
    var lastMessage: String {
        guard let text = unsafe PQerrorMessage(handle) else { return "" }
        var message = unsafe String(cString: text)
        while message.last?.isNewline == true { message.removeLast() }
        return message
    }

    func enterPipeline() -> Bool { unsafe PQenterPipelineMode(handle) == 1 }
    func exitPipeline() -> Bool { unsafe PQexitPipelineMode(handle) == 1 }

    func cancelRequest() -> CancelRequest? {
        guard let key = unsafe PQgetCancel(handle) else { return nil }
        return unsafe CancelRequest(adopting: key)
    }

    // MARK: - Sending; false means that the connection is unusable

    func sendText(_ text: String) -> Bool { unsafe PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1) == 1 }

    func sendQuery(_ sql: SQL) -> Bool {
        unsafe withParameterPointers(sql.parameters) { count, values, lengths, formats in
            unsafe PQsendQueryParams(handle, sql.text, count, sql.parameters.types, values, lengths, formats, 1) == 1
        }
    }

    func sendPrepare(_ sql: SQL, as name: String) -> Bool {
        let types = sql.parameters.types
        return unsafe PQsendPrepare(handle, name, sql.text, Int32(types.count), types) == 1
    }

    func sendPrepared(_ name: String, _ sql: SQL) -> Bool {
        unsafe withParameterPointers(sql.parameters) { count, values, lengths, formats in
            unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) == 1
        }
    }

    /// Ends the implicit transaction of what was sent since the last Sync, and flushes the send buffer.
    func sendSync() -> Bool { unsafe PQpipelineSync(handle) == 1 }

    func sendScript(_ text: String) -> Bool { unsafe PQsendQuery(handle, text) == 1 }

    /// True when octets remain that the socket does not take yet; nil when the connection is lost.
    func flush() -> Bool? {
        switch unsafe PQflush(handle) {
        case 0: false
        case 1: true
        default: nil
        }
    }

    // MARK: - Receiving

    /// False when the connection is lost.
    func consumeInput() -> Bool { unsafe PQconsumeInput(handle) == 1 }
    var isBusy: Bool { unsafe PQisBusy(handle) == 1 }

    func nextResult() -> ServerResult? {
        guard let result = unsafe PQgetResult(handle) else { return nil }
        return unsafe ServerResult(adopting: result)
    }

    /// Takes the notifications that have come; they are of the one channel that is listened to.
    ///
    /// - Returns: whether there were any.
    func takeNotifications() -> Bool {
        var hasAny = false
        while let notification = unsafe PQnotifies(handle) {
            unsafe PQfreemem(notification)
            hasAny = true
        }
        return hasAny
    }

    /// Whether a transaction was left open; meaningful when nothing is in flight.
    var isInTransaction: Bool {
        let status = unsafe PQtransactionStatus(handle)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }
}

/// Calls `body` with the parameters as the parallel arrays that libpq takes, all of them in binary.
private func withParameterPointers<R>(
    _ parameters: PostgresEncoder,
    _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?) -> R
) -> R {
    let count = parameters.ranges.count
    // One octet more than the values, since a NULL pointer would turn an empty text into NULL.
    let bytes = parameters.bytes.isEmpty ? [0] : parameters.bytes
    return unsafe bytes.withUnsafeBytes { bytes in
        unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
            unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * 2) { numbers in
                for (index, range) in parameters.ranges.enumerated() {
                    let start = unsafe range.flatMap { unsafe bytes.baseAddress?.advanced(by: $0.lowerBound) }
                    unsafe values.initializeElement(at: index, to: start?.assumingMemoryBound(to: CChar.self))
                    unsafe numbers.initializeElement(at: index, to: Int32(clamping: range?.count ?? 0))
                    unsafe numbers.initializeElement(at: count + index, to: 1)
                }
                let lengths = unsafe UnsafePointer(numbers.baseAddress)
                return unsafe body(
                    Int32(clamping: count), UnsafePointer(values.baseAddress), lengths, lengths?.advanced(by: count))
            }
        }
    }
}

/// Calls `body` with the strings as a NULL-terminated array of C strings.
private func withCStrings<R>(_ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R) -> R {
    func withPointers(_ rest: ArraySlice<String>, _ pointers: [UnsafePointer<CChar>?]) -> R {
        guard let first = rest.first else {
            var pointers = unsafe pointers
            unsafe pointers.append(nil)
            return unsafe body(pointers)
        }
        return unsafe first.withCString { unsafe withPointers(rest.dropFirst(), pointers + [$0]) }
    }
    return unsafe withPointers(strings[...], [])
}
