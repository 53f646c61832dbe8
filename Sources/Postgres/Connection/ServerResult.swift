import CPostgres

/// One `PGresult`, the answer to one command. Rows and values keep it alive; it is freed with the last of them.
@safe
final class ServerResult {
    private let handle: OpaquePointer
    let status: Status
    let rowCount: Int
    let columnCount: Int

    enum Status {
        case commandOK
        case tuplesOK
        case emptyQuery
        case error
        /// A command behind a failed one of the same implicit transaction; it did nothing.
        case pipelineAborted
        case pipelineSync
        /// COPY and other modes that no statement of ours uses.
        case unsupported

        init(_ status: ExecStatusType) {
            switch status {
            case PGRES_COMMAND_OK: self = .commandOK
            case PGRES_TUPLES_OK: self = .tuplesOK
            case PGRES_EMPTY_QUERY: self = .emptyQuery
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: self = .error
            case PGRES_PIPELINE_ABORTED: self = .pipelineAborted
            case PGRES_PIPELINE_SYNC: self = .pipelineSync
            default: self = .unsupported
            }
        }
    }

    init(adopting handle: OpaquePointer) {
        unsafe self.handle = unsafe handle
        status = Status(unsafe PQresultStatus(handle))
        rowCount = Int(unsafe PQntuples(handle))
        columnCount = Int(unsafe PQnfields(handle))
    }

    deinit {
        unsafe PQclear(handle)
    }

    /// The value in a row and column; nil where there is none, for which libpq would return a NULL pointer that reads
    /// as a NULL value.
    func value(row: Int, column: Int) -> PostgresValue? {
        guard (0..<rowCount).contains(row), (0..<columnCount).contains(column) else { return nil }
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        let isNull = unsafe PQgetisnull(handle, row, column) != 0
        let start = isNull ? nil : unsafe UnsafeRawPointer(PQgetvalue(handle, row, column))
        return unsafe PostgresValue(
            holding: self, start: start, count: Int(PQgetlength(handle, row, column)), type: PQftype(handle, column))
    }

    /// A column's name, and the table it was read from; 0 for an expression.
    func origin(ofColumn column: Int) -> (name: String, tableID: UInt32) {
        let column = Int32(truncatingIfNeeded: column)
        guard let name = unsafe PQfname(handle, column) else { return ("", 0) }
        return (unsafe String(cString: name), unsafe PQftable(handle, column))
    }

    /// The number of rows that a command affected or returned; 0 where its tag counts none.
    var affectedRows: Int {
        guard let count = unsafe PQcmdTuples(handle) else { return 0 }
        return Int(unsafe String(cString: count)) ?? 0
    }

    /// The command tag, such as `COMMIT`, or `ROLLBACK` for the `COMMIT` of a failed transaction.
    var commandTag: String {
        guard let tag = unsafe PQcmdStatus(handle) else { return "" }
        return unsafe String(cString: tag)
    }

    private func field(_ code: Int32) -> String? {
        guard let text = unsafe PQresultErrorField(handle, code) else { return nil }
        return unsafe String(cString: text)
    }

    var sqlState: String { field(countersign_diag_sqlstate) ?? "" }
    var severity: String { field(countersign_diag_severity) ?? "" }
    var primaryMessage: String { field(countersign_diag_message_primary) ?? "" }

    /// Whether the server ends the connection after this error.
    var isFatal: Bool { severity == "FATAL" || severity == "PANIC" }

    /// Why a prepared statement was refused. Nothing was done.
    enum Preparation {
        /// The server has none of the name: a pooler on the way dropped it, or came to another process.
        case missing
        /// It has one of the name.
        case present
        /// A migration changed the type of its result.
        case outdated
    }

    /// What an error says of a prepared statement; nil for any other error.
    var preparation: Preparation? {
        switch sqlState {
        case "26000": .missing
        case "42P05": .present
        case "0A000" where field(countersign_diag_source_function) == "RevalidateCachedQuery": .outdated
        default: nil
        }
    }

    func error(_ operation: PostgresError.Operation, at location: CodeLocation) -> PostgresError {
        let state = sqlState
        let code: PostgresError.Code = state.isEmpty ? .protocolViolation : .server(sqlState: state)
        return PostgresError(
            isFatal ? .connectionLost : code, operation: operation, location: location.description,
            sqlState: state.isEmpty ? nil : state, constraint: field(countersign_diag_constraint_name),
            table: field(countersign_diag_table_name),
            message: Self.quotesNoValue(state) ? primaryMessage : nil)
    }

    /// Messages of these classes name objects of the schema or of the server. The others may quote a value, as
    /// `invalid input syntax for type uuid: "…"` of class 22 does; DETAIL and CONTEXT do so in any class and are never read.
    static func quotesNoValue(_ sqlState: String) -> Bool {
        ["08", "0A", "23", "25", "26", "28", "3D", "40", "42", "53", "55", "57", "58"].contains(sqlState.prefix(2))
    }
}
