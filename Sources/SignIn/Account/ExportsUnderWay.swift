import Synchronization

/// The exports of people's data that are being made for an answer over HTTP, at most ``limit`` at once: each is whole in
/// memory until it is sent.
package final class ExportsUnderWay: Sendable {
    package static let limit = 2

    private let count = Mutex(0)

    package init() {}

    /// Makes one more export.
    ///
    /// - Returns: `nil` when there are too many, and nothing was run.
    package func admit<Value, Failure: Error>(
        _ export: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let isAdmitted = count.withLock { count in
            guard count < ExportsUnderWay.limit else { return false }
            count += 1
            return true
        }
        guard isAdmitted else { return nil }
        defer { count.withLock { $0 -= 1 } }
        return try await export()
    }
}
