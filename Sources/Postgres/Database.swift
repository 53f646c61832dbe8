package import Logging
package import Primitives

/// A PostgreSQL database: a pool of connections that statements and transactions are run on.
///
/// Connections are made when they are needed. A statement goes to the least loaded one and shares it with others, each
/// being a transaction by itself; a transaction has a connection for itself. The state machines are drawn in
/// `README.md`.
package final class Database: PostgresSession {
    let pool: Pool
    /// Raised by who has committed rows that a worker of this process waits for.
    package let written = AsyncSignal()

    package init(configuration: Configuration, logger: Logger) {
        pool = Pool(configuration, logger: logger)
        pool.start()
    }

    deinit {
        pool.close()
    }

    package var configuration: Configuration { pool.configuration }

    package var statistics: Statistics { pool.statistics }

    /// Whether writes are refused at once (`writesHeld`), because commits wait for a standby: what only reads goes on, on
    /// the connections that they would take. To be set by what looks at the server, on a connection of another pool.
    ///
    /// When it becomes true, the connections are closed on which a commit has waited for a second. Its outcome is unknown,
    /// and its wait goes on; what only reads and was sent behind it is sent again.
    package var holdsWrites: Bool {
        get { pool.holdsWrites }
        set { pool.hold(newValue) }
    }

    package func query<T: Sendable>(
        _ sql: SQL, at location: CodeLocation,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) async throws(PostgresError) -> [T] {
        try await pool.perform(Query.rows(sql, at: location, as: decode), submit: pool.submit)
    }

    package func execute(_ sql: SQL, at location: CodeLocation) async throws(PostgresError) -> Int {
        try await pool.perform(Query.effect(sql, at: location), submit: pool.submit)
    }

    /// Runs `body` in a transaction, which is committed when it returns and rolled back when it throws or its task was
    /// cancelled. What `body` throws passes through.
    ///
    /// A failed COMMIT throws `PostgresError` with the operation `commit`; only with the codes `connectionLost` and
    /// `outcomeUnknown` is it unknown whether the transaction took effect. It is not run again then.
    ///
    /// - Parameter retries: How often the whole of `body` is run again after a serialization failure or a deadlock.
    @discardableResult
    package func transaction<T: Sendable>(
        _ isolation: IsolationLevel = .readCommitted, retries: Int = 0,
        file: StaticString = #fileID, line: UInt = #line,
        _ body: @Sendable (Transaction) async throws -> T
    ) async throws -> T {
        let location = CodeLocation(file: file, line: line)
        var attempt = 0
        while true {
            let transaction = try await Transaction(pool, isolation, location)
            do {
                let value = try await body(transaction)
                try await transaction.commit()
                return value
            } catch {
                await transaction.rollBack()
                guard transaction.hasSerializationFailure, attempt < retries, !Task.isCancelled else { throw error }
            }
            attempt += 1
            // Jitter: the transactions that conflicted with this one are retried too, and should not meet it again.
            let pause = Duration.milliseconds(Double.random(in: 1...10) * Double(attempt))
            try? await Task.sleep(for: pause)
        }
    }

    /// Leases a connection outside of a transaction, for scripts and for statements that must not be in one. It is
    /// closed afterwards, so that no session state reaches another request.
    @discardableResult
    package func withConnection<T: Sendable>(
        file: StaticString = #fileID, line: UInt = #line,
        _ body: @Sendable (LeasedConnection) async throws -> T
    ) async throws -> T {
        let request = LeaseRequest(nil, CodeLocation(file: file, line: line))
        let lease = try await pool.perform(request, submit: pool.submit)
        defer { pool.release(lease, isSpent: true) }
        return try await body(LeasedConnection(pool: pool, lease: lease))
    }

    /// Throws when the database keeps its texts in another encoding than UTF8. What we send is always UTF-8: such a
    /// database would convert it, refuse what it cannot convert, or (SQL_ASCII) not look at it at all.
    package func requireUTF8() async throws(PostgresError) {
        let location = CodeLocation(file: #fileID, line: #line)
        let encodings = try await query("SELECT current_setting('server_encoding')", at: location) {
            row throws(PostgresError) in try row.decode(String.self)
        }
        guard encodings == ["UTF8"] else {
            throw PostgresError(
                .serverEncoding(encodings.first ?? ""), operation: .query, location: location.description)
        }
    }

    /// Whether a pooler stands in between: the process that answers is not the one that the connection announced.
    package func isPooled() async throws -> Bool {
        try await transaction { transaction in
            let pids = try await transaction.query("SELECT pg_backend_pid()", as: Int32.self)
            return pids != [transaction.announcedPID]
        }
    }

    /// Refuses new requests with `closed`, waits for all earlier ones, transactions included, and closes the
    /// connections.
    package func shutdown() async {
        pool.close()
        await pool.waitUntilClosed()
    }
}
