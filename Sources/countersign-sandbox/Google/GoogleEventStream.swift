import Foundation
import Synchronization

/// What Google's RISC API keeps of the project: who may manage its event stream, and the stream.
final class GoogleEventStream: Sendable {
    struct Configuration: Sendable {
        let url: String
        let eventTypes: [String]
        var isEnabled = true
    }

    /// A verification that was asked for, and what came of it.
    struct Verification: Sendable {
        let state: String?
        /// nil while it is under way, and for ever when the stream does not ask for it, is disabled or leads elsewhere.
        var delivery: EventDelivery?
    }

    private struct State {
        var accounts: [String: GoogleServiceAccount] = [:]
        var domains: [String] = []
        var configuration: Configuration?
        var verifications: [Verification] = []
    }

    private let state = Mutex(State())

    func reset() {
        state.withLock { $0 = State() }
    }

    // MARK: The project

    var accounts: [GoogleServiceAccount] {
        state.withLock { state in state.accounts.values.sorted { $0.email < $1.email } }
    }

    /// Creates the account or changes it.
    func update(_ email: String, _ change: (inout GoogleServiceAccount) -> Void) -> GoogleServiceAccount {
        state.withLock { state in
            var account = state.accounts[email] ?? GoogleServiceAccount(email: email)
            change(&account)
            state.accounts[email] = account
            return account
        }
    }

    /// Of the OAuth consent screen; their subdomains too.
    var authorizedDomains: [String] {
        get { state.withLock { $0.domains } }
        set { state.withLock { $0.domains = newValue } }
    }

    // MARK: The stream

    func configuration() throws(StreamRefusal) -> Configuration {
        guard let configuration = state.withLock({ $0.configuration }) else { throw .noStream }
        return configuration
    }

    var verifications: [Verification] { state.withLock { $0.verifications } }

    /// A type that Google does not know is dropped without a word.
    func configure(url: String, eventTypes: [String]) throws(StreamRefusal) {
        let known = eventTypes.filter(GoogleEventType.known.contains)
        try state.withLock { state throws(StreamRefusal) in
            guard Self.mayReceive(url, domains: state.domains) else {
                throw .forbidden("The delivery URL is not https on an authorized domain of the project.")
            }
            state.configuration = Configuration(
                url: url, eventTypes: known, isEnabled: state.configuration?.isEnabled ?? true)
        }
    }

    /// Plain http only to this machine, for there a test or a developer listens.
    private static func mayReceive(_ url: String, domains: [String]) -> Bool {
        if LoopbackTarget(url) != nil { return true }
        guard let parts = URLComponents(string: url), parts.scheme == "https", let host = parts.host?.lowercased()
        else { return false }
        return domains.contains { host == $0 || host.hasSuffix("." + $0) }
    }

    func enable(_ isEnabled: Bool) throws(StreamRefusal) {
        try state.withLock { state throws(StreamRefusal) in
            guard state.configuration != nil else { throw .noStream }
            state.configuration?.isEnabled = isEnabled
        }
    }

    /// Notes that it was asked for; where it goes to, if anywhere, and the number by which its outcome is added.
    func beginVerification(_ text: String?) throws(StreamRefusal) -> (number: Int, target: LoopbackTarget?) {
        try state.withLock { state throws(StreamRefusal) in
            guard let configuration = state.configuration else { throw .noStream }
            state.verifications.append(Verification(state: text))
            let goes = configuration.isEnabled && configuration.eventTypes.contains(GoogleEventType.verification)
            return (state.verifications.count - 1, goes ? LoopbackTarget(configuration.url) : nil)
        }
    }

    func endVerification(_ number: Int, _ delivery: EventDelivery?) {
        state.withLock { state in
            if state.verifications.indices.contains(number) { state.verifications[number].delivery = delivery }
        }
    }
}
