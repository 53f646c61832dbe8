import Primitives

/// The parameters of `GET /oauth/authorize`: all values that came under each name. An empty value is no value
/// (RFC 6749 §3.1).
package struct OAuthQuery: Sendable {
    package let clientID: [String]
    package let redirectURI: [String]
    package let state: [String]
    package let responseType: [String]
    package let scope: [String]
    package let codeChallenge: [String]
    package let codeChallengeMethod: [String]
    package let uiLocales: [String]
    /// Google's own.
    package let userLocale: [String]
    package let loginHint: [String]
    /// Whether a name came more than once, be it one that the server doesn't know, or with a value that can't be read.
    package let isMalformed: Bool

    /// - Parameter values: all values of a parameter.
    package init(isMalformed: Bool, _ values: (_ name: String) -> [String]) {
        self.isMalformed = isMalformed
        func given(_ name: String) -> [String] { values(name).filter { !$0.isEmpty } }
        clientID = given("client_id")
        redirectURI = given("redirect_uri")
        state = given("state")
        responseType = given("response_type")
        scope = given("scope")
        codeChallenge = given("code_challenge")
        codeChallengeMethod = given("code_challenge_method")
        uiLocales = given("ui_locales")
        userLocale = given("user_locale")
        loginHint = given("login_hint")
    }
}

/// The errors that an app or a client gets at its redirect URI in the place of a code (RFC 6749 §4.1.2.1).
package enum AuthorizationError: String, Sendable {
    case invalidRequest = "invalid_request"
    case unsupportedResponseType = "unsupported_response_type"
    case invalidScope = "invalid_scope"
    case accessDenied = "access_denied"
    case serverError = "server_error"
    case temporarilyUnavailable = "temporarily_unavailable"
}

/// A client's request for a code, with nothing wrong in it.
package struct OAuthAuthorization: Hashable, Sendable {
    package static let maximumStateBytes = 2_048

    package let clientID: OAuthClientID
    /// As it was requested.
    package let redirectURI: String
    package let state: String
    package let scopes: OAuthScopes
    /// S256 of the client's verifier (RFC 7636 §4.2).
    package let challenge: String?

    package init(clientID: OAuthClientID, redirectURI: String, state: String, scopes: OAuthScopes, challenge: String?) {
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.state = state
        self.scopes = scopes
        self.challenge = challenge
    }

    package enum Decision: Sendable {
        case accept(OAuthAuthorization)
        /// The client hears of it at its redirect URI.
        case redirect(AuthorizationError, to: String, state: String?)
        /// Nothing may be sent to the redirect URI: the person hears of it on our own page.
        case refuse
    }

    /// The decision on a request, in the order of RFC 6749 §4.1.2.1: first whether anything may be sent to the redirect
    /// URI, then all else.
    ///
    /// - Parameters:
    ///   - client: the one of the request's only `client_id`.
    ///   - configured: the scopes of the server.
    package static func decide(_ query: OAuthQuery, client: OAuthClient?, configured: OAuthScopes) -> Decision {
        guard query.clientID.count == 1, let client, client.status == .active, query.redirectURI.count == 1,
            case let uri = query.redirectURI[0], client.redirectURI(matching: uri)?.isForFlip == false
        else { return .refuse }
        let state = query.state.count == 1 ? query.state[0] : nil
        func redirect(_ error: AuthorizationError) -> Decision { .redirect(error, to: uri, state: state) }
        guard !query.isMalformed, let state, state.utf8.count <= maximumStateBytes, let type = query.responseType.first
        else { return redirect(.invalidRequest) }
        guard type.hasSameBytes(as: "code") else { return redirect(.unsupportedResponseType) }
        let allowed = client.allowedScopes(of: configured)
        let requested = query.scope.first.map(OAuthScopes.init(parameter:)) ?? allowed
        guard let requested, !requested.isEmpty, requested.isSubset(of: allowed) else { return redirect(.invalidScope) }
        let challenge = query.codeChallenge.first
        guard challenge == nil ? query.codeChallengeMethod.isEmpty : isS256(challenge, query.codeChallengeMethod),
            challenge != nil || !client.requiresPKCE
        else { return redirect(.invalidRequest) }
        return .accept(
            OAuthAuthorization(
                clientID: client.id, redirectURI: uri, state: state, scopes: requested, challenge: challenge))
    }

    /// A challenge without a method is `plain`, which is refused as any other method but S256.
    private static func isS256(_ challenge: String?, _ method: [String]) -> Bool {
        guard let challenge, method.count == 1, method[0].hasSameBytes(as: "S256") else { return false }
        return CodeChallenge.isChallenge(challenge)
    }

    /// The languages that the pages shall have, in their order.
    package static func languages(_ query: OAuthQuery) -> [String] {
        AppAuthorization.languages((query.uiLocales.prefix(1) + query.userLocale.prefix(1)).joined(separator: " "))
    }

    package static func loginHint(_ query: OAuthQuery) -> String? {
        query.loginHint.first.flatMap(AppAuthorization.hint)
    }
}

/// The redirect that ends a request (RFC 6749 §4.1.2).
package enum OAuthReturn {
    /// - Parameters:
    ///   - state: returned byte for byte, form-encoded.
    ///   - issuer: our own, by which the client knows who answers (RFC 9207 §2); nil for Google's clients.
    package static func uri(code: String, to redirectURI: String, state: String, issuer: String?) -> String {
        uri([("code", code), ("state", state)], to: redirectURI, issuer)
    }

    package static func uri(
        error: AuthorizationError, to redirectURI: String, state: String?, issuer: String?
    ) -> String {
        uri([("error", error.rawValue)] + (state.map { [("state", $0)] } ?? []), to: redirectURI, issuer)
    }

    private static func uri(_ parameters: [(String, String)], to redirectURI: String, _ issuer: String?) -> String {
        URIQuery.appending(parameters + (issuer.map { [("iss", $0)] } ?? []), to: redirectURI)
    }
}
