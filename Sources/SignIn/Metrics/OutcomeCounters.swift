import Accounts
import Metrics

/// The outcomes of an operation, counted at each provider. All counters exist from the start, at 0: one that appears with
/// its first event hides that event from `rate`.
struct OutcomeCounters<Outcome: CaseIterable & Hashable & Sendable & RawRepresentable<String>>: Sendable {
    private let counters: [Provider: [Outcome: Counter]]

    init(label: String, of outcome: Outcome.Type = Outcome.self) {
        counters = Dictionary(
            uniqueKeysWithValues: Provider.allCases.map { provider in
                let ofProvider = Outcome.allCases.map { outcome in
                    let dimensions = [("provider", provider.rawValue), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: label, dimensions: dimensions))
                }
                return (provider, Dictionary(uniqueKeysWithValues: ofProvider))
            })
    }

    func count(_ provider: Provider, _ outcome: Outcome) {
        counters[provider]?[outcome]?.increment()
    }
}
