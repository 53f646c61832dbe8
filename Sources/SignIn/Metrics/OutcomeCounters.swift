import Metrics

/// What the label of a counter can be.
package typealias CounterLabel = CaseIterable & Hashable & Sendable & RawRepresentable<String>

/// The outcomes of an operation, counted for each kind of it. All counters exist from the start, at 0: one that appears with
/// its first event hides that event from `rate`.
package struct OutcomeCounters<Kind: CounterLabel, Outcome: CounterLabel>: Sendable {
    private let counters: [Kind: [Outcome: Counter]]

    /// - Parameter dimension: the name of the label whose values are the kinds.
    package init(label: String, by dimension: String) {
        counters = Dictionary(
            uniqueKeysWithValues: Kind.allCases.map { kind in
                let ofKind = Outcome.allCases.map { outcome in
                    let dimensions = [(dimension, kind.rawValue), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: label, dimensions: dimensions))
                }
                return (kind, Dictionary(uniqueKeysWithValues: ofKind))
            })
    }

    package func count(_ kind: Kind, _ outcome: Outcome) {
        counters[kind]?[outcome]?.increment()
    }
}

/// The outcome of a step that people or clients take.
package enum StepOutcome: String, CaseIterable, Sendable {
    case done
    /// Refused by a rule, or given up by the person; the service is in order.
    case refused
    case unavailable
}
