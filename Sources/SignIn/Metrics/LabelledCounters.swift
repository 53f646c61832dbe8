import Metrics

/// How often a use case came to what, by a dimension of its own. What is to be expected is there from the start, at 0: a
/// counter that appears with its first event hides that event from `rate`.
struct LabelledCounters<Kind: Hashable & Sendable & RawRepresentable<String>>: Sendable {
    private struct Series: Hashable {
        let kind: Kind
        let verdict: OutcomeLabel
    }

    private let label: String
    private let dimension: String?
    private let expected: [Series: Counter]

    /// - Parameter dimension: nil where there is one kind alone.
    init(label: String, by dimension: String?, expecting verdicts: [Kind: [OutcomeLabel]]) {
        self.label = label
        self.dimension = dimension
        var expected: [Series: Counter] = [:]
        for (kind, verdicts) in verdicts {
            for verdict in verdicts {
                expected[Series(kind: kind, verdict: verdict)] = Self.counter(label, dimension, kind, verdict)
            }
        }
        self.expected = expected
    }

    private static func counter(_ label: String, _ dimension: String?, _ kind: Kind, _ verdict: OutcomeLabel) -> Counter
    {
        Counter(
            label: label,
            dimensions: [dimension.map { ($0, kind.rawValue) }].compactMap(\.self) + [
                ("outcome", verdict.outcome.rawValue), ("reason", verdict.reason),
            ])
    }

    func count(_ kind: Kind, _ verdict: OutcomeLabel) {
        let counter = expected[Series(kind: kind, verdict: verdict)]
        (counter ?? Self.counter(label, dimension, kind, verdict)).increment()
    }

    /// Runs a use case and counts what it came to.
    func counting<Value>(
        _ kind: Kind, as verdict: (Value) -> OutcomeLabel, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            let value = try await body()
            count(kind, verdict(value))
            return value
        } catch {
            count(kind, OutcomeLabel(error))
            throw error
        }
    }

    func counting<Value>(
        _ kind: Kind, as outcome: OutcomeLabel.Outcome, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        try await counting(kind, as: { (_: Value) in OutcomeLabel(outcome) }, body)
    }
}
