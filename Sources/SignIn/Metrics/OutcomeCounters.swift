import Metrics

/// What the label of a counter can be.
package typealias CounterLabel = CaseIterable & Hashable & Sendable & RawRepresentable<String>

/// Counters, one for each value of a label. All exist from the start, at 0: one that appears with its first event hides that
/// event from `rate`.
package struct CaseCounters<Case: CounterLabel>: Sendable {
    private let counters: [Case: Counter]

    /// - Parameters:
    ///   - dimension: the name of the label.
    ///   - others: the labels that all of them have.
    package init(label: String, by dimension: String, beside others: [(String, String)] = []) {
        counters = Dictionary(
            uniqueKeysWithValues: Case.allCases.map {
                ($0, Counter(label: label, dimensions: others + [(dimension, $0.rawValue)]))
            })
    }

    package func count(_ value: Case) { counters[value]?.increment() }
}

/// The outcomes of an operation, counted for each kind of it.
package struct OutcomeCounters<Kind: CounterLabel, Outcome: CounterLabel>: Sendable {
    private let counters: [Kind: CaseCounters<Outcome>]

    /// - Parameter dimension: the name of the label whose values are the kinds.
    package init(label: String, by dimension: String) {
        counters = Dictionary(
            uniqueKeysWithValues: Kind.allCases.map {
                ($0, CaseCounters<Outcome>(label: label, by: "outcome", beside: [(dimension, $0.rawValue)]))
            })
    }

    package func count(_ kind: Kind, _ outcome: Outcome) { counters[kind]?.count(outcome) }
}

/// The outcome of a step that people or clients take.
package enum StepOutcome: String, CaseIterable, Sendable {
    case done
    /// Refused by a rule, or given up by the person; the service is in order.
    case refused
    case unavailable
}
