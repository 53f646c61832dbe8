package import JSON
import Primitives
import Synchronization

/// The liveness and readiness of this process: whether it is alive, and whether it should get requests.
///
/// ```
///   starting ── check passes ──▶ ready ◀──▶ unavailable        each /health/ready runs the check
///                                  └── shutdown begins ──▶ stopping, for good
/// ```
package final class Health: Sendable {
    /// The result of a readiness check.
    package struct Readiness: Sendable {
        package let isReady: Bool
        /// Writes further members of the response, such as the age of key sets.
        package let members: @Sendable (inout JSONWriter) -> Void

        package init(isReady: Bool, members: @escaping @Sendable (inout JSONWriter) -> Void = { _ in }) {
            self.isReady = isReady
            self.members = members
        }
    }

    private let check: @Sendable () async -> Readiness
    private let deadline: Duration
    private let stopping = Atomic<Bool>(false)

    /// - Parameters:
    ///   - deadline: a check that takes longer counts as failed.
    ///   - check: asks the database. It is abandoned, and its task cancelled, at the deadline.
    package init(deadline: Duration = .seconds(1), check: @escaping @Sendable () async -> Readiness) {
        self.deadline = deadline
        self.check = check
    }

    /// Makes the process not ready from now on, whatever the check says.
    package func stop() { stopping.store(true, ordering: .relaxed) }

    /// The answer that `/health/ready` gives now.
    package var isReady: Bool {
        get async {
            guard !stopping.load(ordering: .relaxed) else { return false }
            return await withTimeout(deadline, check)?.isReady ?? false
        }
    }

    package var routes: [Route] {
        [
            Route(.get, "/health/live", priority: .observing) { _ in .json { $0.member("status", "live") } },
            Route(.get, "/health/ready", priority: .observing) { [self] _ in try await ready() },
        ]
    }

    private func ready() async throws(Problem) -> Response {
        guard !stopping.load(ordering: .relaxed) else {
            var problem = Self.problem("stopping")
            // What a load balancer is meant to read in every restart.
            problem.isExpected = true
            throw problem
        }
        guard let readiness = await withTimeout(deadline, check) else { throw Self.problem("timed_out") }
        guard readiness.isReady else { throw Self.problem("unavailable", readiness.members) }
        return .json { writer in
            writer.member("status", "ready")
            readiness.members(&writer)
        }
    }

    /// `status` is the HTTP status in a problem, so the state has a member of its own.
    private static func problem(
        _ state: String, _ members: @escaping @Sendable (inout JSONWriter) -> Void = { _ in }
    ) -> Problem {
        Problem(.temporarilyUnavailable, reason: state) { writer in
            writer.member("readiness", state)
            members(&writer)
        }
    }
}
