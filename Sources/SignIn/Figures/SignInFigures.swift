import Accounts
import Metrics

/// What is counted and timed of the use cases. Made once, before the first service.
package struct SignInFigures: Sendable {
    /// What a person signs in by.
    enum Way: String {
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

    /// How an identity gets an account.
    enum Link: String, CaseIterable {
        case create
        case bind
        /// By the verified email, without a question.
        case automatic
        /// In a session of the account.
        case add
    }

    /// What is traded in for the next one of its kind.
    enum Renewal: String {
        case session
    }

    package init() {}

    let signIns = VerdictCounters<Way>(
        label: "countersign_sign_ins_total", by: "provider",
        expecting: [
            .apple: ofProvider, .google: ofProvider,
            .password: bySecret + Verdict.refused(.passwordPerAccount, .guessPerNetwork),
            .emailCode: bySecret + Verdict.refused(.guessPerNetwork),
        ])

    let links = VerdictCounters<Link>(
        label: "countersign_links_total", by: "action",
        expecting: [
            .create: ofTicket + Verdict.refused("email_taken"),
            .bind: ofTicket
                + Verdict.refused(
                    "invalid_credentials", "invalid_session", "reauthentication_required", "account_disabled",
                    "provider_already_linked") + Verdict.refused(.passwordPerAccount, .guessPerNetwork),
            .automatic: [Verdict(.linked)],
            .add: [Verdict(.linked)] + Verdict.ofCredential
                + Verdict.refused(
                    "invalid_session", "reauthentication_required", "identity_already_linked",
                    "provider_already_linked"),
        ])

    let refreshes = VerdictCounters<Renewal>(
        label: "countersign_refreshes_total", by: nil,
        expecting: [
            .session: [Verdict(.refreshed)] + Verdict.refused("invalid_refresh_token", "refresh_token_reused")
                + Verdict.unavailable
        ])

    private let verifications = SignInFigures.perProvider {
        Timer(label: "countersign_token_verify_seconds", dimensions: $0)
    }
    private let exchanges = SignInFigures.perProvider {
        Timer(label: "countersign_code_exchange_seconds", dimensions: $0)
    }

    private static let ofProvider =
        [Verdict(.signedIn), Verdict(.linkRequired)] + Verdict.refused("account_disabled") + Verdict.ofCredential
    private static let bySecret =
        [Verdict(.signedIn)] + Verdict.refused("invalid_credentials", "account_disabled") + Verdict.unavailable
    private static let ofTicket =
        [Verdict(.linked)] + Verdict.refused("link_ticket_expired", "identity_already_linked") + Verdict.unavailable

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
    var verdict: Verdict {
        switch self {
        case .signedIn: Verdict(.signedIn)
        case .linkRequired: Verdict(.linkRequired)
        }
    }
}
