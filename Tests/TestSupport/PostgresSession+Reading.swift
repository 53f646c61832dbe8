package import Postgres

extension PostgresSession {
    /// The number of rows of a table, or of what else may follow `FROM`.
    package func count(_ table: SQL) async throws -> Int64 { try await number("SELECT count(*) FROM \(table)") }

    /// The only value of a query.
    package func number(_ query: SQL) async throws -> Int64 { try await self.query(query, as: Int64.self)[0] }

    /// The rows of a query of one text column.
    package func texts(_ query: SQL) async throws -> [String?] { try await self.query(query, as: String?.self) }

    /// Waits for the next month where this one ends within a minute, in UTC: for tests that ask for it more than once.
    package func awaitLastingMonth() async throws {
        let ending: SQL = """
            SELECT date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC' + interval '1 minute')
                > clock_timestamp() AT TIME ZONE 'UTC'
            """
        while try await query(ending, as: Bool.self) == [true] { try await pollingPause() }
    }
}
