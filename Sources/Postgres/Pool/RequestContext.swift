/// What holds for all requests that a task makes within a closure. A task local, since it is decided far from the
/// statements: by what calls a store, not by the store.
struct RequestContext: Sendable {
    @TaskLocal static var current = RequestContext()

    /// By when a request has to get a connection, if that comes before the end of the acquire timeout.
    var acquireDeadline: ContinuousClock.Instant?
    /// Whether the server is to plan a statement for its values, and not once for all.
    var isPlanningEachTime = false
    /// Whether it is background work, to which the answer timeout doesn't apply.
    var isInBackground = false

    fileprivate func run<T: Sendable, Failure: Error>(
        _ work: () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        try await RequestContext.$current.withValue(self) {
            do throws(Failure) {
                return Result<T, Failure>.success(try await work())
            } catch {
                return .failure(error)
            }
        }.get()
    }
}

extension Database {
    /// Runs `work`, whose requests have to get a connection by `deadline` if the acquire timeout doesn't end earlier: a
    /// caller that has waited already is not refused later than one that came straight here.
    package static func acquiring<T: Sendable, Failure: Error>(
        by deadline: ContinuousClock.Instant, _ work: () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        var context = RequestContext.current
        context.acquireDeadline = min(deadline, context.acquireDeadline ?? deadline)
        return try await context.run(work)
    }

    /// Runs `work`, for whose statements no caller waits: they may take as long as the server lets them run.
    package static func inBackground<T: Sendable, Failure: Error>(
        _ work: () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        var context = RequestContext.current
        context.isInBackground = true
        return try await context.run(work)
    }

    /// Runs `work`, whose statements the server plans for their values each time. For those whose best plan depends
    /// on a value, such as the limit of a list that few rows may belong to, and which are too rare for the time of the
    /// planning to count.
    package static func planningEachTime<T: Sendable, Failure: Error>(
        _ work: () async throws(Failure) -> T
    ) async throws(Failure) -> T {
        var context = RequestContext.current
        context.isPlanningEachTime = true
        return try await context.run(work)
    }
}
