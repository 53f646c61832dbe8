import Foundation

/// The project's state in Google's RISC API: the service accounts that may manage its event stream, and the stream.
struct GoogleEventStream: Sendable {
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

    private var accountsByEmail: [String: GoogleServiceAccount] = [:]
    /// The domains of the OAuth consent screen; their subdomains are authorized too.
    var authorizedDomains: [String] = []
    private var registered: Configuration?
    private(set) var verifications: [Verification] = []

    var accounts: [GoogleServiceAccount] { accountsByEmail.values.sorted { $0.email < $1.email } }

    func account(_ email: String) -> GoogleServiceAccount? { accountsByEmail[email] }

    mutating func keep(_ account: GoogleServiceAccount) { accountsByEmail[account.email] = account }

    func configuration() throws(StreamRefusal) -> Configuration {
        guard let registered else { throw .noStream }
        return registered
    }

    /// Registers the stream. Types that Google does not know are silently dropped.
    mutating func configure(url: String, eventTypes: [String]) throws(StreamRefusal) {
        guard mayReceive(url) else {
            throw .forbidden("The delivery URL is not https on an authorized domain of the project.")
        }
        registered = Configuration(
            url: url, eventTypes: eventTypes.filter(GoogleEventType.known.contains),
            isEnabled: registered?.isEnabled ?? true)
    }

    /// Whether events may be sent to this URL: https on an authorized domain, or plain http on this machine, where
    /// tests and developers listen.
    private func mayReceive(_ url: String) -> Bool {
        if LoopbackTarget(url) != nil { return true }
        guard let parts = URLComponents(string: url), parts.scheme == "https", let host = parts.host?.lowercased()
        else { return false }
        return authorizedDomains.contains { host == $0 || host.hasSuffix("." + $0) }
    }

    mutating func enable(_ isEnabled: Bool) throws(StreamRefusal) {
        var configuration = try configuration()
        configuration.isEnabled = isEnabled
        registered = configuration
    }

    /// Records that a verification was requested. Returns the number by which its result is added, and the address it
    /// is sent to, if any.
    mutating func beginVerification(_ text: String?) throws(StreamRefusal) -> (number: Int, target: LoopbackTarget?) {
        let configuration = try configuration()
        verifications.append(Verification(state: text))
        let isSent = configuration.isEnabled && configuration.eventTypes.contains(GoogleEventType.verification)
        return (verifications.count - 1, isSent ? LoopbackTarget(configuration.url) : nil)
    }

    mutating func endVerification(_ number: Int, _ delivery: EventDelivery?) {
        if verifications.indices.contains(number) { verifications[number].delivery = delivery }
    }
}
