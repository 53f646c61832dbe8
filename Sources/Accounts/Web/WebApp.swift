import Primitives

/// An app that people sign in to in a browser, as it is configured.
package struct WebApp: Sendable {
    package let id: String
    /// The name that its pages show.
    package let name: String
    package let redirectURIs: [AppRedirectURI]

    package init(id: String, name: String, redirectURIs: [AppRedirectURI]) {
        self.id = id
        self.name = name
        self.redirectURIs = redirectURIs
    }

    /// The registered URI that a request's matches.
    package func redirectURI(matching requested: String) -> AppRedirectURI? {
        redirectURIs.first { $0.matches(requested) }
    }
}

/// Where a web flow leaves us for the app.
package struct AppReturn: Hashable, Sendable {
    /// Complete, with its parameters: printable ASCII.
    package let uri: String
    package let appName: String
    package let kind: AppRedirectURI.Kind
    /// `nil` where it brings a code.
    package let error: AuthorizationError?
    /// What `form-action` has to allow.
    package let formActionSource: String
    /// The languages that its person has asked for, for the page that opens the app.
    package let languages: [String]
    /// The parameter for which the app's request is refused, or `repeated`; for the log alone.
    package var refusedParameter: String?

    package var isError: Bool { error != nil }

    package enum Outcome: Hashable, Sendable {
        case code(String)
        case error(AuthorizationError)
    }

    /// - Parameters:
    ///   - requested: the URI of the request, which matches `registered`.
    ///   - state: the app's own, returned unchanged; `nil` if it can't be returned.
    ///   - issuer: our own, by which the app knows who answers (RFC 9207 §2).
    package init(
        _ outcome: Outcome, to requested: String, registered: AppRedirectURI, of app: WebApp, state: String?,
        issuer: String, languages: [String]
    ) {
        var parameters: [(String, String)]
        switch outcome {
        case .code(let code):
            parameters = [("code", code)]
            self.error = nil
        case .error(let error):
            parameters = [("error", error.rawValue)]
            self.error = error
        }
        if let state { parameters.append(("state", state)) }
        parameters.append(("iss", issuer))
        uri = URIQuery.appending(parameters, to: requested)
        appName = app.name
        kind = registered.kind
        formActionSource = registered.formActionSource
        self.languages = languages
    }
}

/// The query of a URI (RFC 3986 §3.4). A space is `%20`: not every reader takes `+` for one.
package enum URIQuery {
    package static func appending(_ parameters: [(String, String)], to uri: String) -> String {
        let query = parameters.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        guard let mark = uri.utf8.firstIndex(of: UInt8(ascii: "?")) else { return "\(uri)?\(query)" }
        let isEmpty = uri.utf8.index(after: mark) == uri.utf8.endIndex
        return isEmpty || uri.utf8.last == UInt8(ascii: "&") ? uri + query : "\(uri)&\(query)"
    }
}
