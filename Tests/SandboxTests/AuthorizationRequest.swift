import Foundation
import TestSupport

/// The URL to which a service sends a browser. It is correct; tests change single parameters.
struct AuthorizationRequest {
    let page: String
    private(set) var parameters: [(name: String, value: String)]

    /// Apple's request is for code, ID token, name and address, Google's for a code; its challenge is the example of
    /// RFC 7636, appendix B.
    init(_ provider: Sandbox.Provider, _ clientID: String, redirectURI: String, in sandbox: Sandbox) {
        let own: [(name: String, value: String)]
        switch provider {
        case .apple:
            page = sandbox.appleAuthorizeURL
            own = [("response_type", "code id_token"), ("response_mode", "form_post"), ("scope", "name email")]
        case .google:
            page = sandbox.googleAuthorizeURL
            own = [
                ("response_type", "code"), ("scope", "openid email profile"),
                ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"), ("code_challenge_method", "S256"),
            ]
        }
        parameters =
            [("client_id", clientID), ("redirect_uri", redirectURI)] + own + [("state", "s-1"), ("nonce", "n-1")]
    }

    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    /// The same request with other values; nil removes a parameter.
    func with(_ changes: (name: String, value: String?)...) -> AuthorizationRequest {
        var copy = self
        for (name, value) in changes {
            copy.parameters.removeAll { $0.name == name }
            if let value { copy.parameters.append((name, value)) }
        }
        return copy
    }

    var url: String {
        page + "?" + parameters.map { Self.encoded($0.name) + "=" + Self.encoded($0.value) }.joined(separator: "&")
    }

    static func encoded(_ text: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? text
    }
}

extension Sandbox {
    /// Registers the client as one that a browser may come with, and gives its request.
    func webRequest(
        _ provider: Provider, _ clientID: String, redirectURI: String, secret: String? = nil
    ) async throws -> AuthorizationRequest {
        try await registerWebClient(provider, clientID, redirectURIs: [redirectURI], secret: secret)
        return AuthorizationRequest(provider, clientID, redirectURI: redirectURI, in: self)
    }
}
