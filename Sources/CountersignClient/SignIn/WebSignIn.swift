public import Foundation

/// An attempt to sign in on the server's own pages. Open the URL in the system's browser, and keep the attempt for the
/// callback.
///
/// The system may end the app while the browser is open: keep the coded form where tokens are kept, because it holds the
/// secret without which the callback is worth nothing, and forget it with the first callback.
public struct WebSignIn: Sendable, Codable {
    public let url: URL
    let redirectURI: URL
    let state: String
    /// Whose SHA-256 the URL carries (RFC 7636).
    let verifier: String

    /// The code of a callback that belongs to this attempt.
    ///
    /// - Throws: `refused` with status 0: `foreign_callback` for another URI or issuer, another state, or what is no answer
    ///   of the server's; `cancelled` when the person said no.
    func code(in callback: URL, issuer: String) throws(SessionError) -> String {
        let foreign = SessionError.refused(code: "foreign_callback", status: 0)
        guard let target = Target(callback), let own = Target(redirectURI), target.isSame(as: own),
            let parameters = target.parameters(besides: own)
        else { throw foreign }
        guard parameters["state"] == state, parameters["iss"]?.withoutSlash == issuer.withoutSlash else {
            throw foreign
        }
        switch (parameters["code"], parameters["error"]) {
        case (let code?, nil) where !code.isEmpty: return code
        case (nil, "access_denied"): throw .cancelled
        case (nil, "server_error"), (nil, "temporarily_unavailable"): throw .transient(retryAfter: nil)
        case (nil, "invalid_request"): throw .refused(code: "invalid_request", status: 0)
        default: throw foreign
        }
    }
}

extension WebSignIn: Redacted {
    public var description: String { "WebSignIn(\(url.host ?? ""))" }
}

/// A redirect URI or a callback, apart.
private struct Target {
    private let scheme: String
    private let authority: [String?]
    private let path: String
    private let pairs: [(name: String, value: String)]

    init?(_ url: URL) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: false), let scheme = parts.scheme,
            // Browsers write a space in a query as `+` or `%20`; the server writes `%20`.
            let pairs = FormText.pairs(parts.percentEncodedQuery ?? "")
        else { return nil }
        self.scheme = scheme.lowercased()
        authority = [
            parts.percentEncodedUser, parts.percentEncodedPassword, parts.percentEncodedHost?.lowercased(),
            parts.port.map { String($0) },
        ]
        let hasHost = parts.percentEncodedHost?.isEmpty == false
        path = hasHost && parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.pairs = pairs
    }

    func isSame(as other: Target) -> Bool {
        scheme == other.scheme && authority == other.authority && path == other.path
    }

    /// What the server has added to the redirect URI's own query; nil when that is not there, or a name is repeated.
    func parameters(besides own: Target) -> [String: String]? {
        var rest = pairs
        for pair in own.pairs {
            guard let index = rest.firstIndex(where: { $0 == pair }) else { return nil }
            rest.remove(at: index)
        }
        var parameters: [String: String] = [:]
        for pair in rest {
            guard parameters.updateValue(pair.value, forKey: pair.name) == nil else { return nil }
        }
        return parameters
    }
}
