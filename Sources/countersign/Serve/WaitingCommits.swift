import Metrics
import Postgres
import Storage

/// The commits of the service's role that wait for a synchronous standby, in all processes. While one has waited for long no
/// write succeeds, although the primary takes them: writes are refused at once then, and what only reads goes on.
struct WaitingCommits: Sendable {
    /// A standby that is slow for less than that costs no answer. With the pause between two looks, no request waits for
    /// its commit for more than two seconds.
    private static let limit = Duration.milliseconds(1500)
    static let pause = Duration.milliseconds(500)

    private let inspection: DatabaseInspection
    private let database: Database
    private let gauge = Gauge(label: "countersign_postgres_commits_waiting")

    /// - Parameters:
    ///   - inspection: of a connection of its own, since those of the requests may be the ones that wait.
    ///   - database: whose writes are held.
    init(inspection: DatabaseInspection, database: Database) {
        self.inspection = inspection
        self.database = database
    }

    /// Counts them, and holds writes or lets them go. A database that can't be asked may be another one by now, which waits
    /// for nothing: its own answers show.
    func look() async {
        let count = try? await inspection.commitsWaiting(longerThan: Self.limit)
        if let count { gauge.record(count) }
        database.holdsWrites = count.map { $0 > 0 } ?? false
    }
}
