import Postgres

extension Database {
    /// Reads by `touch`, which notes on its way that what it reads was used; where no write succeeds at the moment, by
    /// `read` alone. A session that is used then is not extended meanwhile.
    func touching<Value: Sendable>(
        _ touch: () async throws(PostgresError) -> Value, orReading read: () async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        if !holdsWrites {
            do {
                return try await touch()
            } catch  where error.code == .writesHeld || (holdsWrites && error.code == .outcomeUnknown) {
                // Noted or not: it is read once more. A server that doesn't answer is not asked twice.
            }
        }
        return try await read()
    }
}
