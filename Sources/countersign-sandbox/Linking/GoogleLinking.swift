import Primitives
import Synchronization

/// Google's state of account linking with one service: the settings, what a person has begun, the link, the report.
final class GoogleLinking: Sendable {
    /// The path of the redirect URI, before the project.
    static let redirectPath = "/google/r/"
    static let pagePath = "/google/link"

    /// A request that waits for the answer of a person's browser, or of the vendor's app.
    struct Attempt: Sendable {
        let way: LinkingWay
        let state: String
        let url: String
        /// PKCE (RFC 7636).
        var verifier: String?
    }

    /// A linked account, by the tokens that Google keeps of it.
    struct Link: Sendable {
        let way: LinkingWay
        /// The redirect URI, and the verifier if there is one, that the code was redeemed with.
        let redemption: Redemption?
        var accessTokens: [String]
        let refreshToken: String?
        /// The `sub` of userinfo.
        let subject: String?
    }

    /// The parameters of a code's exchange.
    struct Redemption: Sendable {
        let code: String
        let redirectURI: String
        let verifier: String?

        var fields: [(String, String)] {
            [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI)]
                + (verifier.map { [("code_verifier", $0)] } ?? [])
        }
    }

    struct State: Sendable {
        var settings: LinkingSettings?
        var attempts: [Attempt] = []
        var link: Link?
        var report = LinkingReport()
    }

    /// The most attempts that wait; beyond it the oldest is forgotten.
    private static let capacity = 100

    private let state = Mutex(State())

    var current: State { state.withLock { $0 } }

    func reset() { state.withLock { $0 = State() } }

    /// Begins with these settings: nothing is linked, nothing is checked.
    func configure(_ settings: LinkingSettings) { state.withLock { $0 = State(settings: settings) } }

    func settings() throws(ControlRefusal) -> LinkingSettings {
        guard let settings = current.settings else {
            throw .conflict("There is no service to link with; POST /control/google/linking names one.")
        }
        return settings
    }

    func begin(_ attempt: Attempt) {
        state.withLock { state in
            state.attempts.append(attempt)
            if state.attempts.count > Self.capacity { state.attempts.removeFirst() }
        }
    }

    /// Ends the attempt with this state, byte for byte; nil when there is none.
    func end(_ way: LinkingWay, state text: String) -> Attempt? {
        state.withLock { state in
            let index = state.attempts.firstIndex { $0.way == way && $0.state.hasSameBytes(as: text) }
            return index.map { state.attempts.remove(at: $0) }
        }
    }

    func add(_ findings: LinkingFindings) { state.withLock { $0.report.add(findings) } }

    func keep(_ link: Link) { state.withLock { $0.link = link } }

    /// Takes the link away, so that one call alone ends it.
    func takeLink() throws(ControlRefusal) -> Link {
        let link = state.withLock { state in
            defer { state.link = nil }
            return state.link
        }
        guard let link else { throw .conflict("Nothing is linked.") }
        return link
    }
}
