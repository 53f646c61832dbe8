import Foundation
import Synchronization

/// The project's state in Google's RISC API: the service accounts that may manage its event stream, and the stream.
final class GoogleEventStream: Sendable {
    struct Configuration: Sendable {
        let url: String
        let eventTypes: [String]
        var isEnabled = true
    }

    /// A requested verification and its result.
    struct Verification: Sendable {
        let state: String?
        /// nil until it is delivered, and for good if the stream does not request such events, is disabled or has the
        /// URL of another machine.
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

    /// The domains of the OAuth consent screen; their subdomains are authorized too.
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

    /// Registers the stream. Types that Google does not know are silently dropped.
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

    /// Whether events may be sent to this URL: https on an authorized domain, or plain http on this machine, where
    /// tests and developers listen.
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

    /// Records that a verification was requested. Returns the number by which its result is added, and the address it
    /// is sent to, if any.
    func beginVerification(_ text: String?) throws(StreamRefusal) -> (number: Int, target: LoopbackTarget?) {
        try state.withLock { state throws(StreamRefusal) in
            guard let configuration = state.configuration else { throw .noStream }
            state.verifications.append(Verification(state: text))
            let isSent = configuration.isEnabled && configuration.eventTypes.contains(GoogleEventType.verification)
            return (state.verifications.count - 1, isSent ? LoopbackTarget(configuration.url) : nil)
        }
    }

    func endVerification(_ number: Int, _ delivery: EventDelivery?) {
        state.withLock { state in
            if state.verifications.indices.contains(number) { state.verifications[number].delivery = delivery }
        }
    }
}
