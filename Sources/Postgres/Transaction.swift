import Synchronization

/// An open transaction. Its statements run in the order in which they were sent; it ends with the closure that got it.
package final class Transaction: PostgresSession {
    private let pool: Pool
    private let lease: Lease
    private let location: CodeLocation
    private let serializationFailed = Atomic(false)
    private let isSettled = Atomic(false)

    init(_ pool: Pool, _ isolation: IsolationLevel, _ location: CodeLocation) async throws(PostgresError) {
        self.pool = pool
        self.location = location
        lease = try await pool.perform(LeaseRequest(isolation, location), submit: pool.submit)
    }

    package func query<T: Sendable>(
        _ sql: SQL, at location: CodeLocation,
        as decode: @escaping @Sendable (PostgresRow) throws(PostgresError) -> T
    ) async throws(PostgresError) -> [T] {
        try await perform(Query.rows(sql, at: location, as: decode))
    }

    package func execute(_ sql: SQL, at location: CodeLocation) async throws(PostgresError) -> Int {
        try await perform(Query.effect(sql, at: location))
    }

    /// The server's process, as its connection announced it.
    var announcedPID: Int32 { pool.announcedPID(of: lease) }

    /// Whether a statement, or COMMIT, failed because of another transaction.
    var hasSerializationFailure: Bool { serializationFailed.load(ordering: .relaxed) }

    func commit() async throws(PostgresError) {
        guard !Task.isCancelled else { throw error(.cancelled) }
        guard pool.hasBegun(lease) else { return settle(isSpent: false) }
        do throws(PostgresError) {
            let tag = try await end("COMMIT", .commit)
            settle(isSpent: false)
            // PostgreSQL answers the COMMIT of a failed transaction with a rollback and no error.
            if tag != "COMMIT" { throw error(.server(sqlState: "25P02")) }
        } catch {
            note(error)
            // The server may be at the COMMIT still, and what is sent behind it would wait as long.
            settle(isSpent: error.code == .outcomeUnknown)
            throw error
        }
    }

    /// Does nothing after `commit`, which ends the transaction in every case. When not even ROLLBACK is answered, the
    /// connection is closed, and that rolls back as well.
    func rollBack() async {
        guard !isSettled.load(ordering: .relaxed) else { return }
        guard pool.hasBegun(lease) else { return settle(isSpent: false) }
        do throws(PostgresError) {
            _ = try await end("ROLLBACK", .rollback)
            settle(isSpent: false)
        } catch {
            settle(isSpent: true)
        }
    }

    private func perform<Output>(_ query: Query<Output>) async throws(PostgresError) -> Output {
        do throws(PostgresError) {
            return try await pool.perform(query) { pool.submit($0, on: lease) }
        } catch {
            note(error)
            throw error
        }
    }

    /// Not cancelled with the task: only its answer shows how the transaction ended.
    private func end(_ sql: SQL, _ operation: PostgresError.Operation) async throws(PostgresError) -> String {
        let query = Query<String>(sql, operation, location) { $0.commandTag }
        return try await pool.perform(query, isShielded: true) { pool.submit($0, on: lease, endsLease: true) }
    }

    private func settle(isSpent: Bool) {
        guard !isSettled.exchange(true, ordering: .relaxed) else { return }
        pool.release(lease, isSpent: isSpent)
    }

    private func note(_ error: PostgresError) {
        if error.isSerializationFailure { serializationFailed.store(true, ordering: .relaxed) }
    }

    private func error(_ code: PostgresError.Code) -> PostgresError {
        PostgresError(code, operation: .commit, location: location.description)
    }
}
