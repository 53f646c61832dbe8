import Postgres
import TestSupport
import Testing

/// The single integer that a statement returns.
func count(_ sql: SQL, in session: some PostgresSession) async throws -> Int {
    let rows = try await session.query(sql, as: Int.self)
    return try #require(rows.first)
}

func expect(
    _ sql: SQL, is expected: Int, in session: some PostgresSession, location: SourceLocation = #_sourceLocation
) async throws {
    let found = try await count(sql, in: session)
    #expect(found == expected, sourceLocation: location)
}

/// The error that `work` fails with; if it does not fail, an issue is recorded.
func failure<T>(location: SourceLocation = #_sourceLocation, of work: () async throws -> T) async -> PostgresError? {
    do {
        let value = try await work()
        Issue.record("\(value) where an error was due", sourceLocation: location)
    } catch let error as PostgresError {
        return error
    } catch { Issue.record("an error of another kind: \(error)", sourceLocation: location) }
    return nil
}

/// Expects `work` to fail with an error of that code, and of that operation where one is named.
func expectFailure<T>(
    _ code: PostgresError.Code, of operation: PostgresError.Operation? = nil,
    location: SourceLocation = #_sourceLocation, _ work: () async throws -> T
) async {
    let error = await failure(location: location, of: work)
    #expect(error?.code == code, sourceLocation: location)
    if let operation { #expect(error?.operation == operation, sourceLocation: location) }
}

/// A pool on a fresh database with an empty table, and one to observe it.
struct ObservedPool: TestFixture {
    let database: Database
    let observer: Database

    static func run(_ body: (ObservedPool) async throws -> Void) async throws {
        try await run(.test(poolSize: 1), body)
    }

    static func run(_ configuration: Database.Configuration, _ body: (ObservedPool) async throws -> Void) async throws {
        try await ScratchDatabase.withFresh { scratch in
            try await scratch.withPool(.test(poolSize: 1)) { observer in
                try await observer.execute("CREATE TABLE t (n int8)")
                try await scratch.withPool(configuration) { database in
                    try await body(ObservedPool(database: database, observer: observer))
                }
            }
        }
    }
}

/// The process of the server behind the connection that a session uses.
func backend(of session: some PostgresSession) async throws -> Int {
    try await count("SELECT pg_backend_pid()", in: session)
}

/// Asks until the server agrees.
/// The test's time limit ends it when the server never does.
func eventually(_ condition: SQL, in session: some PostgresSession) async throws {
    while try await count("SELECT (\(condition))::int", in: session) == 0 { try await pollingPause() }
}

/// The condition that a statement like `pattern` waits or runs in another session of the same database.
func isRunning(_ pattern: String) -> SQL {
    """
    EXISTS (
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE \(pattern)
    )
    """
}

/// A barrier at which tasks wait until all of them have arrived. A later one passes at once.
actor Barrier {
    private var missing: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(of count: Int) { missing = count }

    func arrive() async {
        missing -= 1
        if missing > 0 {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            for continuation in waiting { continuation.resume() }
            waiting = []
        }
    }
}

/// Failed tests show the details of an error, not only its opaque sentence.
extension PostgresError: CustomTestStringConvertible {
    public var testDescription: String { debugDescription }
}
