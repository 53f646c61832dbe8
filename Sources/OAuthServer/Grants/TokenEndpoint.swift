package import Accounts
import SignIn

/// The parameters of `POST /oauth/token`, each at most once; an empty one is absent.
package struct TokenRequest: Sendable {
    private let values: [String: String]

    package init(_ values: [String: String]) { self.values = values.filter { !$0.value.isEmpty } }

    subscript(name: String) -> String? { values[name] }

    func required(_ name: String) throws(OAuthFailure) -> String {
        guard let value = values[name] else { throw .invalidRequest("\(name) is missing") }
        return value
    }
}

/// What a client gets at the token endpoint.
package enum TokenAnswer: Sendable {
    case tokens(IssuedTokens)
    /// Streamlined linking's `check` has found the account.
    case accountFound

    package struct IssuedTokens: Sendable {
        package let accessToken: String
        /// Seconds.
        package let expiresIn: Int64
        /// Absent where the client keeps the one that it has.
        package let refreshToken: String?
        /// Where it is not what was asked for (RFC 6749 §5.1).
        package let scope: String
    }
}

extension OAuthServer {
    package func authenticate(
        _ authentication: ClientAuthentication, by call: Call
    ) async throws(OAuthFailure) -> OAuthClient {
        try await clients.authenticate(authentication, guesses: signIn.secretGuesses, by: call)
    }

    private static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// The grants that there are: assertions are Google's.
    package var grantTypes: [String] {
        ["authorization_code", "refresh_token"] + (google == nil ? [] : [Self.assertionGrant])
    }

    /// Each grant is a file beside this one: what it asks for, what it gives, and how its outcomes are refused.
    ///
    /// - Parameter client: authenticated.
    package func token(
        _ request: TokenRequest, of client: OAuthClient, by call: Call
    ) async throws(OAuthFailure) -> TokenAnswer {
        switch try request.required("grant_type") {
        case "authorization_code":
            try await metrics.counting(.code) { () throws(OAuthFailure) in
                try await redeem(request, of: client, by: call)
            }
        case "refresh_token":
            try await metrics.counting(.refresh) { () throws(OAuthFailure) in
                try await refresh(request, of: client, by: call)
            }
        case Self.assertionGrant: try await streamlined(request, of: client, by: call)
        default: throw .unsupportedGrantType
        }
    }

    /// The parameter `scope`, if it came.
    static func scopes(_ request: TokenRequest) throws(OAuthFailure) -> OAuthScopes? {
        guard let text = request["scope"] else { return nil }
        guard let scopes = OAuthScopes(parameter: text) else { throw .invalidScope }
        return scopes
    }

    func answer(_ access: OAuthSecret, _ refresh: String?, _ scopes: OAuthScopes) -> TokenAnswer {
        .tokens(
            .init(
                accessToken: access.text, expiresIn: configuration.accessLifetime, refreshToken: refresh,
                scope: scopes.description))
    }
}

extension Call {
    /// What a client does: the mails of it are in the language that its request asks for.
    func onBehalf(of client: OAuthClient) -> Call {
        onBehalf(
            of: ChangeOrigin(
                actor: .service, actorName: client.name, requestID: origin.requestID, network: origin.network,
                mailLanguage: origin.mailLanguage))
    }
}
