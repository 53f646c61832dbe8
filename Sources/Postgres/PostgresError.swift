/// The reason why the database did not do what it was asked.
///
/// `description` is one fixed sentence, because errors reach logs and clients by accident. What an operator needs is in
/// `debugDescription`; neither ever holds a bound value, nor a server message that could quote one.
package struct PostgresError: Error, Hashable, Sendable {
    package enum Code: Sendable, Hashable {
        /// The server refused the statement and rolled it back. The SQLSTATE is of PostgreSQL's appendix A.
        case server(sqlState: String)
        /// The connection ended before the answer came. Whether the statement took effect is unknown, and so it was not
        /// repeated; with `Operation.commit` the whole transaction is either there or not.
        case connectionLost
        /// The statement was sent, and whether it takes effect, or whether that lasts, is unknown: its task was
        /// cancelled, it or its COMMIT was not answered in time, or it was committed without the synchronous standby's
        /// confirmation, so that a failover may take it back. It was not repeated.
        case outcomeUnknown
        /// No connection could be made within the acquire timeout. Nothing was sent.
        case connectFailed
        /// Every connection was taken for the whole acquire timeout. Nothing was sent.
        case acquireTimedOut
        /// Commits wait for a standby, and this one would wait too (``Database/holdsWrites``). Nothing was sent.
        case writesHeld
        /// Too many requests wait already. Nothing was sent.
        case queueFull
        /// The task was cancelled before the statement was sent, or the server stopped it. It did not take effect.
        case cancelled
        /// A value has no form that PostgreSQL takes, such as a text with U+0000. Nothing was sent.
        case encoding
        /// A result does not have the type, the number of columns or the nullability that was asked for.
        case decoding
        /// The database was shut down, or the transaction was over. Nothing was sent.
        case closed
        /// The server's encoding is not UTF8, so that texts could be changed or refused on their way.
        case serverEncoding(String)
        /// The server sent something that this client does not support or expect. The connection was closed.
        case protocolViolation
    }

    package enum Operation: String, Sendable {
        case connect, query, execute, script, lease, commit, rollback
    }

    package let code: Code
    package var operation: Operation
    /// The line of our source that asked, as `Storage/Sessions.swift:42`.
    package var location: String
    /// The SQLSTATE where the server gave one; a lost connection may have one too (57P01: shut down by an
    /// administrator).
    package var sqlState: String?
    package var constraint: String?
    package var table: String?
    /// The object identifier of the table that a value which could not be decoded was read from; 0 for none.
    var tableID: UInt32 = 0
    /// The server's or libpq's own message where it cannot quote a value.
    package var message: String?

    package init(
        _ code: Code, operation: Operation, location: String, sqlState: String? = nil, constraint: String? = nil,
        table: String? = nil, message: String? = nil
    ) {
        self.code = code
        self.operation = operation
        self.location = location
        self.constraint = constraint
        self.table = table
        self.message = message
        if case .server(let state) = code { self.sqlState = state } else { self.sqlState = sqlState }
    }
}

extension PostgresError {
    package func isUniqueViolation(of constraint: String) -> Bool {
        code == .server(sqlState: "23505") && self.constraint == constraint
    }

    /// Whether the transaction failed because of a concurrent one and may succeed when it is run again: serialization
    /// failure or deadlock.
    package var isSerializationFailure: Bool {
        code == .server(sqlState: "40001") || code == .server(sqlState: "40P01")
    }

    /// Whether the same request may succeed later with nothing changed: answer 503, not 500.
    package var isTemporary: Bool {
        switch code {
        case .connectionLost, .outcomeUnknown, .connectFailed, .acquireTimedOut, .writesHeld, .queueFull, .closed,
            .cancelled:
            true
        case .server(let state):
            // Our own statement and lock time-outs and serialization failures count: a busy database is no fault of the
            // request. A disk that fails (58) is replaced, or another server takes over.
            ["08", "40", "53", "57P0", "58"].contains(where: state.hasPrefix)
                || ["25006", "55P03", "57014"].contains(state)
        case .encoding, .decoding, .serverEncoding, .protocolViolation: false
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "The database could not do what it was asked." }

    package var debugDescription: String {
        var text = "PostgresError \(code) during \(operation.rawValue)"
        if !location.isEmpty { text += " at \(location)" }
        if let sqlState { text += ", SQLSTATE \(sqlState)" }
        if let constraint { text += ", constraint \(constraint)" }
        if let table { text += ", table \(table)" }
        if let message { text += ": \(message)" }
        return text
    }
}

/// The line of source that asked for an operation; written out only when an error needs it.
package struct CodeLocation: Sendable, CustomStringConvertible {
    let file: StaticString
    let line: UInt

    package init(file: StaticString, line: UInt) {
        self.file = file
        self.line = line
    }

    package var description: String { "\(file):\(line)" }
}
