import Accounts
import Metrics

/// The counters and timers of the use cases. Made once, before the first service.
package struct SignInMetrics: Sendable {
    /// The method of a sign-in.
    enum Method: String {
        case apple
        case google
        case password
        case emailCode = "email_code"

        init(_ provider: Provider) {
            switch provider {
            case .apple: self = .apple
            case .google: self = .google
            }
        }
    }

    /// The action that links an identity to an account.
    enum LinkAction: String, CaseIterable {
        case create
        case bind
        /// A bind by the verified email, without asking.
        case automatic
        /// A link in a session of the account.
        case add
    }

    /// The kind of a refresh.
    enum Renewal: String {
        case session
    }

    /// The sign-ins of the last hour, for the console.
    package let history: OutcomeHistory
    let signIns: LabelledCounters<Method>

    package init() {
        let history = OutcomeHistory()
        self.history = history
        signIns = LabelledCounters(
            label: "countersign_sign_ins_total", by: "provider",
            expecting: [
                .apple: Self.ofProvider, .google: Self.ofProvider,
                .password: Self.bySecret + OutcomeLabel.refused(.passwordPerAccount, .guessPerNetwork),
                .emailCode: [OutcomeLabel(.linkRequired)] + Self.bySecret + OutcomeLabel.refused(.guessPerNetwork),
            ], history: history)
    }

    let links = LabelledCounters<LinkAction>(
        label: "countersign_links_total", by: "action",
        expecting: [
            .create: ofTicket + OutcomeLabel.refused("email_taken", "invalid_request", "weak_password"),
            .bind: [OutcomeLabel(.linkRequired)] + ofTicket
                + OutcomeLabel.refused(
                    "invalid_request", "invalid_credentials", "invalid_session", "reauthentication_required",
                    "account_disabled",
                    "provider_already_linked")
                + OutcomeLabel.refused(.passwordPerAccount, .guessPerNetwork, .linkPerAccount),
            .automatic: [OutcomeLabel(.linked)],
            .add: [OutcomeLabel(.linked)] + OutcomeLabel.ofCredential
                + OutcomeLabel.refused(
                    "invalid_session", "reauthentication_required", "identity_already_linked",
                    "provider_already_linked") + OutcomeLabel.refused(.linkPerAccount),
        ])

    let refreshes = LabelledCounters<Renewal>(
        label: "countersign_refreshes_total", by: nil,
        expecting: [
            .session: [OutcomeLabel(.refreshed)] + OutcomeLabel.refused("invalid_refresh_token", "refresh_token_reused")
                + OutcomeLabel.unavailable
        ])

    private let verifications = SignInMetrics.perProvider {
        Timer(label: "countersign_token_verify_seconds", dimensions: $0)
    }
    private let exchanges = SignInMetrics.perProvider {
        Timer(label: "countersign_code_exchange_seconds", dimensions: $0)
    }

    private static let ofProvider =
        [OutcomeLabel(.signedIn), OutcomeLabel(.linkRequired)] + OutcomeLabel.refused("account_disabled")
        + OutcomeLabel.ofCredential
    private static let bySecret =
        [OutcomeLabel(.signedIn)] + OutcomeLabel.refused("invalid_credentials", "account_disabled")
        + OutcomeLabel.unavailable
    private static let ofTicket =
        [OutcomeLabel(.linked)] + OutcomeLabel.refused("link_ticket_expired", "identity_already_linked")
        + OutcomeLabel.unavailable

    private static func perProvider(_ make: ([(String, String)]) -> Timer) -> [Provider: Timer] {
        Dictionary(uniqueKeysWithValues: Provider.allCases.map { ($0, make([("provider", $0.rawValue)])) })
    }

    func verified(for provider: Provider, since start: ContinuousClock.Instant) {
        verifications[provider]?.record(duration: .now - start)
    }

    func exchanged(for provider: Provider, since start: ContinuousClock.Instant) {
        exchanges[provider]?.record(duration: .now - start)
    }
}

extension SignInAnswer {
    var outcomeLabel: OutcomeLabel {
        switch self {
        case .signedIn: OutcomeLabel(.signedIn)
        case .linkRequired: OutcomeLabel(.linkRequired)
        }
    }
}
