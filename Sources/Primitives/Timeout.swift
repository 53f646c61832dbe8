/// Runs `work` for at most `limit`. Past that its task is cancelled and not waited for, as a task group would: it may be
/// in a call that no cancellation reaches.
///
/// - Returns: `nil` when the time was over first.
package func withTimeout<Result: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async -> Result
) async -> Result? {
    let (results, result) = AsyncStream.makeStream(of: Result?.self, bufferingPolicy: .bufferingOldest(1))
    let working = Task { result.yield(await work()) }
    let waiting = Task {
        try await Task.sleep(for: limit)
        result.yield(nil)
    }
    defer {
        working.cancel()
        waiting.cancel()
    }
    return await results.first { _ in true } ?? nil
}
