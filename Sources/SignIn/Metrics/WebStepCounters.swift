import Accounts

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

    private let counters = OutcomeCounters<Step, StepOutcome>(label: "countersign_web_steps_total", by: "step")

    /// Runs a step and counts its outcome.
    func counting<Value>(
        _ step: Step, as outcome: (Value) -> StepOutcome = { _ in .done },
        _ body: () async throws(SignInFailure) -> Value
    ) async throws(SignInFailure) -> Value {
        do throws(SignInFailure) {
            let value = try await body()
            counters.count(step, outcome(value))
            return value
        } catch {
            counters.count(step, StepOutcome(error))
            throw error
        }
    }
}

extension StepOutcome {
    fileprivate init(_ failure: SignInFailure) {
        self = OutcomeLabel(failure).outcome == .unavailable ? .unavailable : .refused
    }
}

extension WebStep {
    var stepOutcome: StepOutcome {
        switch self {
        case .returned(let answer): answer.isError ? .refused : .done
        case .link, .confirm, .passwordReset, .signedIn, .linked, .cancelled: .done
        case .choose(_, let reason): reason == nil ? .done : .refused
        case .unproven(_, .refused(let failure)), .notLinked(let failure?, _): StepOutcome(failure)
        case .unproven, .notLinked, .refusedClient(_, .accessDenied, _): .refused
        case .refusedClient(_, _, let failure), .failed(_, let failure): StepOutcome(failure)
        }
    }
}

extension AuthorizeOutcome {
    var stepOutcome: StepOutcome {
        switch self {
        case .opened: .done
        case .refused, .unknownApp: .refused
        }
    }
}
