/// Which failures of repeated work are worth a line of the log: the first one, one a minute while it goes on failing, and
/// the first one after a success.
package struct FailureReports: Sendable {
    private static let pause = Duration.seconds(60)
    private var quiet: ContinuousClock.Instant?

    package init() {}

    /// Notes a failure.
    ///
    /// - Returns: whether to report it.
    package mutating func failed(at now: ContinuousClock.Instant = .now) -> Bool {
        if let quiet, now < quiet { return false }
        quiet = now + Self.pause
        return true
    }

    package mutating func succeeded() { quiet = nil }
}
