import Synchronization

/// The timer of a queue whose entries have deadlines: one task that sleeps until the next deadline, and exists only
/// while an entry waits.
package final class DeadlineTimer: Sendable {
    private let isRunning = Atomic(false)

    package init() {}

    /// Starts the task unless it runs. To be called for every new entry, after it is in the queue.
    ///
    /// - Parameter expire: removes the entries that have waited long enough, and returns the next deadline; `nil` when
    ///   none waits.
    package func start(_ expire: @escaping @Sendable () -> ContinuousClock.Instant?) {
        guard isRunning.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        Task.detached { [self] in
            while let next = expire() { try? await Task.sleep(until: next, clock: .continuous) }
            isRunning.store(false, ordering: .releasing)
            // An entry that was added between the two lines above found the task running.
            if expire() != nil { start(expire) }
        }
    }
}
