import Metrics

/// The outcomes of a use case, counted by a dimension of its own. The expected series exist from the start, at 0: a counter
/// that appears with its first event hides that event from `rate`.
struct LabelledCounters<Kind: Hashable & Sendable & RawRepresentable<String>>: Sendable {
    private struct Series: Hashable {
        let kind: Kind
        let outcomeLabel: OutcomeLabel
    }

    private let label: String
    private let dimension: String?
    private let expected: [Series: Counter]
    private let history: OutcomeHistory?

    /// - Parameters:
    ///   - dimension: `nil` where there is only one kind.
    ///   - history: also counts each outcome by the minute.
    init(
        label: String, by dimension: String?, expecting outcomeLabels: [Kind: [OutcomeLabel]],
        history: OutcomeHistory? = nil
    ) {
        self.history = history
        self.label = label
        self.dimension = dimension
        var expected: [Series: Counter] = [:]
        for (kind, outcomeLabels) in outcomeLabels {
            for outcomeLabel in outcomeLabels {
                let series = Series(kind: kind, outcomeLabel: outcomeLabel)
                expected[series] = Self.counter(label, dimension, kind, outcomeLabel)
            }
        }
        self.expected = expected
    }

    private static func counter(
        _ label: String, _ dimension: String?, _ kind: Kind, _ outcomeLabel: OutcomeLabel
    ) -> Counter {
        Counter(
            label: label,
            dimensions: [dimension.map { ($0, kind.rawValue) }].compactMap(\.self) + [
                ("outcome", outcomeLabel.outcome.rawValue), ("reason", outcomeLabel.reason),
            ])
    }

    func count(_ kind: Kind, _ outcomeLabel: OutcomeLabel) {
        let counter = expected[Series(kind: kind, outcomeLabel: outcomeLabel)]
        (counter ?? Self.counter(label, dimension, kind, outcomeLabel)).increment()
        history?.count(outcomeLabel)
    }

    /// Runs a use case and counts its outcome.
    func counting<Value>(
        _ kind: Kind, as outcomeLabel: (Value) -> OutcomeLabel, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        let value = try await countingFailure(of: kind, body)
        count(kind, outcomeLabel(value))
        return value
    }

    /// Runs the first part of a use case, which counts here only if it ends with it.
    func countingFailure<Value>(
        of kind: Kind, _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            return try await body()
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
