package import Accounts

/// When a failed event is tried again: after the first try and then after each step, counted from the end of the one before.
package struct WebhookSchedule: Sendable {
    /// Seconds.
    package let steps: [Int64]

    /// That of Standard Webhooks: about 75 hours.
    package static let standard = WebhookSchedule(steps: [
        5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ])

    package init(steps: [Int64]) { self.steps = steps }

    /// - Parameters:
    ///   - attempts: those that have failed.
    ///   - retryAfter: the seconds that the receiver asks for. They make it later, at most twice the step.
    ///   - jitter: 0 to 1, of which a fifth of the step is added.
    /// - Returns: `nil` when the event is given up.
    package func next(
        after attempts: Int, at now: Timestamp, retryAfter: Int64, jitter: Double = .random(in: 0...1)
    ) -> Timestamp? {
        guard attempts >= 1, attempts <= steps.count else { return nil }
        let step = steps[attempts - 1] * 1000
        let spread = Int64(Double(step) * 0.2 * min(max(jitter, 0), 1))
        let asked = min(max(retryAfter, 0), 2 * steps[attempts - 1]) * 1000
        return Timestamp(microseconds: now.microseconds + max(step + spread, asked) * 1000)
    }
}
