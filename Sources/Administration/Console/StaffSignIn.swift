package import Accounts
package import Curl
import JOSE
package import Logging
import OpenSSL
import Primitives
package import Providers
package import SignIn

/// Signing in to the console with Google: an authorization code with PKCE and a nonce, and the rules of ``GoogleProvider`` for
/// its ID token. No account, identity or grant comes of it.
package struct StaffSignIn: Sendable {
    package struct Configuration: Sendable {
        let clientID: ProviderClientID
        let hostedDomain: String
        let authorizeURL: String
        let issuers: [String]

        package init(clientID: ProviderClientID, hostedDomain: String, authorizeURL: String, issuers: [String]) {
            self.clientID = clientID
            self.hostedDomain = hostedDomain
            self.authorizeURL = authorizeURL
            self.issuers = issuers
        }
    }

    /// Why a sign-in is refused.
    package enum Refusal: Error, Equatable, Sendable {
        /// The way was not begun in this browser, was gone before, or is over.
        case flow
        /// The person has cancelled.
        case cancelled
        /// Google's token, or the list. The reason is a code, for the trail.
        case notAllowed(reason: String)
        /// Google could not be asked. The detail is for the log.
        case unavailable(detail: String)

        /// For the trail.
        package var reason: String {
            switch self {
            case .flow: "flow"
            case .cancelled: "cancelled"
            case .notAllowed(let reason): reason
            case .unavailable: "unavailable"
            }
        }

        /// Whether it counts against the network. Neither who cancels nor Google's outages do.
        var isWrongGuess: Bool {
            switch self {
            case .flow, .notAllowed: true
            case .cancelled, .unavailable: false
            }
        }
    }

    /// What Google has sent the browser back with.
    package struct Answer: Sendable {
        package var state: String?
        package var code: String?
        package var error: String?
        package var issuer: String?
        /// Whether one of them came more than once.
        package var isAmbiguous = false

        package init() {}

        /// Whether it is to the question that the flow has asked.
        func belongs(to flow: StaffFlow) throws(AdministrationFailure) -> Bool {
            guard let state else { return false }
            return constantTimeEquals(state, try flow.derived(.state))
        }
    }

    /// Google's subject, and the person of the list.
    struct Found: Sendable {
        let person: ConsoleStaff.Person
        let subject: ProviderSubject
    }

    private static let timeout: Duration = .seconds(10)
    /// The errors of RFC 6749 §4.1.2.1 that are no decision of the person's. The log has no other text of the query.
    private static let authorizationErrors: Set<String> = [
        "invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope", "server_error",
        "temporarily_unavailable",
    ]

    package let staff: ConsoleStaff
    private let configuration: Configuration
    private let endpoint: GoogleTokenEndpoint
    private let refusedCredentials = RefusedCredentials()
    private let logger: Logger

    /// - Parameter keys: Google's.
    package init(
        _ configuration: Configuration, secret: String, staff: ConsoleStaff, tokenURL: String, keys: KeySource,
        fetcher: any Fetcher, logger: Logger
    ) {
        self.configuration = configuration
        self.staff = staff
        self.logger = logger
        // The token is for this client alone, whatever the apps' clients are.
        var rules = GoogleProvider.Configuration(
            clientIDs: [configuration.clientID], authorizedParties: [configuration.clientID],
            hostedDomains: [configuration.hostedDomain], issuers: configuration.issuers)
        rules.requiresParty = false
        endpoint = GoogleTokenEndpoint(
            provider: GoogleProvider(configuration: rules, keys: keys),
            configuration: .init(
                projects: [
                    .init(
                        clientIDs: [configuration.clientID], serverClientID: configuration.clientID,
                        serverClientSecret: secret)
                ], tokenURL: tokenURL),
            fetcher: fetcher, logger: logger)
    }

    /// Where a browser is sent. No refresh token is asked for.
    func url(for flow: StaffFlow, redirectURI: String) throws(AdministrationFailure) -> String {
        URIQuery.appending(
            [
                ("client_id", configuration.clientID.text), ("redirect_uri", redirectURI), ("response_type", "code"),
                ("scope", "openid email"), ("state", try flow.derived(.state)), ("nonce", try flow.derived(.nonce)),
                ("code_challenge", CodeChallenge.s256(of: try flow.derived(.verifier))),
                ("code_challenge_method", "S256"), ("hd", configuration.hostedDomain), ("prompt", "select_account"),
            ], to: configuration.authorizeURL)
    }

    /// Whom an answer of Google's proves, which belongs to the flow.
    func person(by answer: Answer, of flow: StaffFlow, redirectURI: String, at now: Timestamp) async throws -> Found {
        guard !answer.isAmbiguous else { throw Refusal.flow }
        if let issuer = answer.issuer, !configuration.issuers.contains(where: { $0.hasSameBytes(as: issuer) }) {
            throw Refusal.flow
        }
        if let error = answer.error {
            guard error != "access_denied" else { throw Refusal.cancelled }
            let code = Self.authorizationErrors.contains(error) ? error : "unknown"
            throw Refusal.unavailable(detail: "authorization_error \(code)")
        }
        guard let code = answer.code, 1...4096 ~= code.utf8.count else { throw Refusal.flow }
        let (nonce, verifier) = (try flow.derived(.nonce), try flow.derived(.verifier))
        let identity: VerifiedIdentity
        do throws(EndpointRefusal) {
            identity = try await endpoint.exchange(
                AuthorizationCode(
                    text: code, clientID: configuration.clientID, redirectURI: redirectURI, verifier: verifier),
                nonce: .posted(nonce), timeout: Self.timeout, at: now
            ).identity
        } catch {
            if case .clientRejected(let fault, let keyID) = error {
                refusedCredentials.log(fault, at: .google, keyID: keyID, clientID: configuration.clientID, to: logger)
            }
            throw Refusal(error)
        }
        guard let email = identity.email, email.isVerified else {
            throw Refusal.notAllowed(reason: "email_unverified")
        }
        guard let person = staff.person(with: email.address) else { throw Refusal.notAllowed(reason: "not_on_list") }
        return Found(person: person, subject: identity.key.subject)
    }
}

extension StaffSignIn.Refusal {
    fileprivate init(_ refusal: EndpointRefusal) {
        self =
            switch refusal {
            case .grantRejected, .requestRejected: .flow
            case .credentialRejected(let rejection, _): .notAllowed(reason: rejection.reason.rawValue)
            case .clientRejected, .unavailable, .notConfigured: .unavailable(detail: refusal.debugDescription)
            }
    }
}

/// `csn_console_flow`: binds a way to Google and back to the browser that began it.
package enum StaffFlowCookie {}

package typealias StaffFlow = CookieSecret<StaffFlowCookie>

/// What goes to Google is derived from the secret.
enum StaffFlowPart: String {
    case state
    case nonce
    case verifier
}

extension StaffFlow {
    func derived(_ part: StaffFlowPart) throws(AdministrationFailure) -> String {
        do {
            return Base64URL.encode(
                try HMACSHA256.authenticationCode(
                    for: Array("countersign console flow 1 \(part.rawValue)".utf8), key: Array(text.utf8)
                ).bytes)
        } catch {
            throw .fault(operation: "console flow")
        }
    }
}
