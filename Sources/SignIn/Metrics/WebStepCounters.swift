import Accounts
import Metrics

/// The steps of web flows, counted by their outcome. All counters exist from the start, at 0.
struct WebStepCounters: Sendable {
    enum Step: String, CaseIterable {
        case open
        case start
        case hold
        case finish
        case password
        case mailCode = "mail_code"
        case emailCode = "email_code"
        case link
        case cancel
        case exchange
    }

    enum Outcome: String, CaseIterable {
        case done
        /// Refused by a rule, or given up by the person; the service is in order.
        case refused
        case unavailable
    }

    private let counters: [Step: [Outcome: Counter]]

    init() {
        counters = Dictionary(
            uniqueKeysWithValues: Step.allCases.map { step in
                let ofStep = Outcome.allCases.map { outcome in
                    let dimensions = [("step", step.rawValue), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: "countersign_web_steps_total", dimensions: dimensions))
                }
                return (step, Dictionary(uniqueKeysWithValues: ofStep))
            })
    }

    /// Runs a step and counts its outcome.
    func counting<Value>(
        _ step: Step, as outcome: (Value) -> Outcome = { _ in .done },
        _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            let value = try await body()
            count(step, outcome(value))
            return value
        } catch {
            count(step, Outcome(error))
            throw error
        }
    }

    private func count(_ step: Step, _ outcome: Outcome) {
        counters[step]?[outcome]?.increment()
    }
}

extension WebStepCounters.Outcome {
    fileprivate init(_ failure: SignInFailure) {
        self = OutcomeLabel(failure).outcome == .unavailable ? .unavailable : .refused
    }
}

extension WebStep {
    var stepOutcome: WebStepCounters.Outcome {
        switch self {
        case .returned(let answer): answer.isError ? .refused : .done
        case .link, .confirm, .choose, .passwordReset, .signedIn, .linked, .cancelled: .done
        case .unproven, .notLinked, .refusedClient(_, .accessDenied, _): .refused
        case .refusedClient(_, _, let failure), .failed(_, let failure): WebStepCounters.Outcome(failure)
        }
    }
}

extension AuthorizeOutcome {
    var stepOutcome: WebStepCounters.Outcome {
        switch self {
        case .opened: .done
        case .refused, .unknownApp: .refused
        }
    }
}
