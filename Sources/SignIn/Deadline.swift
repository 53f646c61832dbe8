/// Runs `work` for at most as long as `limit`; what takes longer is cancelled.
///
/// - Returns: `nil` when the time was over first.
func within<Result: Sendable>(
    _ limit: Duration, _ work: @escaping @Sendable () async -> Result
) async -> Result? {
    await withTaskGroup(of: Result?.self) { group in
        group.addTask { await work() }
        group.addTask {
            try? await Task.sleep(for: limit)
            return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
    }
}
