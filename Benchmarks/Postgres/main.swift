import FoundationEssentials
import Glibc
import Logging
import Postgres
import Synchronization

// Statements per second and client CPU per statement: `SELECT $1`, and one statement that inserts through a CTE, at 32
// concurrent tasks. Usage: postgres-bench URL [seconds] [connections] [tasks]

let arguments = CommandLine.arguments
guard arguments.count > 1 else {
    print("usage: postgres-bench URL [seconds] [connections] [tasks]")
    exit(64)
}
let seconds = arguments.count > 2 ? Int(arguments[2]) ?? 5 : 5
let connections = arguments.count > 3 ? Int(arguments[3]) ?? 8 : 8
let tasks = arguments.count > 4 ? Int(arguments[4]) ?? 32 : 32

let database = Database(
    configuration: Database.Configuration(url: arguments[1], poolSize: connections),
    logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })

func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func measure(_ name: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    for _ in 0..<200 { try await body() }
    let end = ContinuousClock.now + .seconds(seconds)
    let (start, processor) = (ContinuousClock.now, processorTime())
    let total = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<tasks {
            group.addTask {
                var count = 0
                while ContinuousClock.now < end {
                    try await body()
                    count += 1
                }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
    let (whole, fraction) = start.duration(to: .now).components
    let elapsed = Double(whole) + Double(fraction) / 1e18
    let microseconds = (processorTime() - processor) * 1_000_000 / Double(total)
    print("\(name): \(Int(Double(total) / elapsed))/s, \(Int(microseconds + 0.5)) µs of client CPU each")
}

try await database.withConnection {
    try await $0.executeScript(
        unsafeSQL: """
            DROP TABLE IF EXISTS bench_identities, bench_sessions;
            CREATE TABLE bench_identities (id int8 PRIMARY KEY, account_id uuid NOT NULL DEFAULT gen_random_uuid());
            INSERT INTO bench_identities SELECT generate_series(1, 10000);
            CREATE TABLE bench_sessions (id uuid PRIMARY KEY, account_id uuid NOT NULL, token bytea NOT NULL,
                created_at timestamptz NOT NULL DEFAULT now());
            """)
}
try await measure("SELECT $1") {
    _ = try await database.query("SELECT \(7)") { row throws(PostgresError) in try row.decode(Int.self) }
}
let token = [UInt8](repeating: 7, count: 32)
let next = Atomic<UInt64>(0)
try await measure("look up and insert") {
    // Random numbers are not what is measured.
    let number = next.add(1, ordering: .relaxed).newValue
    let id = withUnsafeBytes(of: number.bigEndian) {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, $0[0], $0[1], $0[2], $0[3], $0[4], $0[5], $0[6], $0[7]))
    }
    _ = try await database.query(
        """
        WITH found AS (SELECT account_id FROM bench_identities WHERE id = \(Int(number % 10_000) + 1)),
        opened AS (
            INSERT INTO bench_sessions (id, account_id, token) SELECT \(id), account_id, \(token) FROM found
            RETURNING id, account_id
        )
        SELECT id, account_id FROM opened
        """
    ) { row throws(PostgresError) in try row.decode(UUID.self, UUID.self) }
}
await database.shutdown()
