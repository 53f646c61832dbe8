import Metrics
import Storage

/// The commits of the service's role that wait for a synchronous standby, in all processes: while one has waited for as
/// long as a request may, no write succeeds, although the primary takes them.
struct WaitingCommits: Sendable {
    /// As long as a request waits for its commit (`Database.Configuration.commitTimeout`). A standby that is slow for
    /// less than that costs no answer, and should cost no readiness.
    private static let limit = Duration.seconds(5)

    private let inspection: DatabaseInspection
    private let gauge = Gauge(label: "countersign_postgres_commits_waiting")

    /// - Parameter inspection: of a connection of its own, since those of the requests may be the ones that wait.
    init(inspection: DatabaseInspection) { self.inspection = inspection }

    /// Counts them, and updates the gauge.
    @discardableResult
    func count() async throws -> Int {
        let count = try await inspection.commitsWaiting(longerThan: Self.limit)
        gauge.record(count)
        return count
    }
}
