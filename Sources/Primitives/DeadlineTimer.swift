import Synchronization

/// The clock of a queue whose entries wait for so long and no longer: one task that sleeps until the next deadline, and is
/// there only while something waits.
package final class DeadlineTimer: Sendable {
    private let isRunning = Atomic(false)

    package init() {}

    /// Starts the task unless it runs. To be called whenever something begins to wait, after it is in the queue.
    ///
    /// - Parameter expire: ends what has waited long enough, and returns the next deadline; `nil` when nothing waits.
    package func start(_ expire: @escaping @Sendable () -> ContinuousClock.Instant?) {
        guard isRunning.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
        else { return }
        Task.detached { [self] in
            while let next = expire() { try? await Task.sleep(until: next, clock: .continuous) }
            isRunning.store(false, ordering: .releasing)
            // What began to wait between the two lines above found the task running.
            if expire() != nil { start(expire) }
        }
    }
}
