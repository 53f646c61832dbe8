public import Foundation

/// What a link that opened the app asks for, and what to do with it.
public enum AppFlipLink: Sendable, Equatable {
    /// Ask the person, then ``SignInClient/answer(_:consent:)``.
    case request(AppFlipRequest)
    /// Open this URL: it carries `error=invalid_request`, and the state if there was exactly one.
    case reject(returnTo: URL)
    /// Another link, or no redirect URI that may be opened: unknown, repeated, missing. Open nothing.
    case ignore

    /// Reads a link. Values compare by bytes; `scope` may be missing; a name that comes twice, also one spelt with `%XX`,
    /// is a fault, as is text that can't be decoded.
    public init(_ url: URL, configuration: AppFlipConfiguration) {
        guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true), configuration.isLink(components)
        else {
            self = .ignore
            return
        }
        let query = LinkQuery(components.percentEncodedQuery ?? "")
        // Compared as a whole: parsed, `https://good.example@evil.example/` and `/a/%2E%2E/` look other than they are.
        guard let redirectURI = query.only("redirect_uri"),
            let allowed = configuration.redirectURIs.first(where: { isSame($0, redirectURI) }),
            let returnTo = ReturnURL(allowed)
        else {
            self = .ignore
            return
        }
        let state = query.only("state").flatMap { $0.isEmpty ? nil : $0 }
        guard !query.hasFault, let state, let clientID = query.only("client_id"),
            isSame(clientID, configuration.clientID)
        else {
            self = .reject(returnTo: returnTo.failure(.invalidRequest, state: state))
            return
        }
        let scopes = (query.only("scope") ?? "").split(separator: " ").map(String.init)
        self = .request(AppFlipRequest(clientID: clientID, scopes: scopes, state: state, returnTo: returnTo))
    }
}

/// The decoded values of a query by their decoded names.
private struct LinkQuery {
    private var values: [[UInt8]: [String?]] = [:]
    /// A part of it can't be decoded, or a name comes twice.
    private(set) var hasFault = false

    init(_ query: String) {
        for part in query.split(separator: "&") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormText.decode(sides[0]) else {
                hasFault = true
                continue
            }
            var text = sides.count > 1 ? String(sides[1]) : ""
            // Google joins scopes with `+`, unencoded. Elsewhere a `+` is one.
            if name == "scope" { text = text.replacingOccurrences(of: "+", with: " ") }
            let value = FormText.decode(text)
            let all = values[Array(name.utf8), default: []] + [value]
            values[Array(name.utf8)] = all
            hasFault = hasFault || value == nil || all.count > 1
        }
    }

    /// The value of a name that comes once; nil when it can't be decoded.
    func only(_ name: String) -> String? {
        guard let all = values[Array(name.utf8)], all.count == 1 else { return nil }
        return all[0]
    }
}

extension AppFlipLink: Redacted {
    public var description: String {
        switch self {
        case .request(let request): "request(\(request))"
        case .reject: "reject"
        case .ignore: "ignore"
        }
    }
}
