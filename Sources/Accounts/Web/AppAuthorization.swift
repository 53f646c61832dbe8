import Primitives

/// The parameters of `GET /web/authorize`: all values that came under each name.
package struct AuthorizeQuery: Sendable {
    package var app: [String]
    package var redirectURI: [String]
    package var codeChallenge: [String]
    package var codeChallengeMethod: [String]
    package var state: [String]
    package var provider: [String]
    package var uiLocales: [String]
    package var loginHint: [String]
    /// Whether a name came more than once, be it one that we don't know, or with a value that can't be read.
    package var isMalformed: Bool

    package init(
        app: [String], redirectURI: [String], codeChallenge: [String] = [], codeChallengeMethod: [String] = [],
        state: [String] = [], provider: [String] = [], uiLocales: [String] = [], loginHint: [String] = [],
        isMalformed: Bool = false
    ) {
        self.app = app
        self.redirectURI = redirectURI
        self.codeChallenge = codeChallenge
        self.codeChallengeMethod = codeChallengeMethod
        self.state = state
        self.provider = provider
        self.uiLocales = uiLocales
        self.loginHint = loginHint
        self.isMalformed = isMalformed
    }
}

/// An app's request to sign a person in, with nothing wrong in it.
package struct AppAuthorization: Sendable {
    package let app: WebApp
    /// As it was requested.
    package let redirectURI: String
    package let registered: AppRedirectURI
    package let state: String
    /// Base64url of the SHA-256 of the app's verifier (RFC 7636 §4.2).
    package let challenge: String
    /// The only provider that the app wants.
    package let provider: Provider?
    /// Tags in lower case, preferred ones first.
    package let languages: [String]
    package let loginHint: String?
}

/// The decision on an app's request.
package enum AuthorizeDecision: Sendable {
    case open(AppAuthorization)
    case refuse(AppReturn)
    /// There is no such app, or it has no such redirect URI: nothing may be sent there.
    case refuseUnknownApp
}

extension AppAuthorization {
    package static let stateBytes = 16...512
    private static let maximumHintBytes = 320
    private static let maximumLanguages = 8

    /// - Parameters:
    ///   - offered: the providers that can be asked for.
    ///   - issuer: our own.
    package static func decide(
        _ query: AuthorizeQuery, apps: [WebApp], offered: [Provider], issuer: String
    ) -> AuthorizeDecision {
        guard let id = query.app.only, let app = apps.first(where: { $0.id.hasSameBytes(as: id) }),
            let requested = query.redirectURI.only, let registered = app.redirectURI(matching: requested)
        else { return .refuseUnknownApp }
        let state = query.state.only.flatMap { isState($0) ? $0 : nil }
        let languages = languages(query.uiLocales.first ?? "")
        func refusal(for parameter: String) -> AuthorizeDecision {
            var answer = AppReturn(
                .error(.invalidRequest), to: requested, registered: registered, of: app, state: state, issuer: issuer,
                languages: languages)
            answer.refusedParameter = parameter
            return .refuse(answer)
        }
        var provider: Provider?
        if !query.provider.isEmpty {
            provider = query.provider.only.flatMap(Provider.init).flatMap { offered.contains($0) ? $0 : nil }
            guard provider != nil else { return refusal(for: "provider") }
        }
        guard let state else { return refusal(for: "state") }
        guard let challenge = query.codeChallenge.only, CodeChallenge.isChallenge(challenge) else {
            return refusal(for: "code_challenge")
        }
        guard query.codeChallengeMethod.only.map({ $0.hasSameBytes(as: "S256") }) == true else {
            return refusal(for: "code_challenge_method")
        }
        guard query.uiLocales.count <= 1, query.loginHint.count <= 1, !query.isMalformed else {
            return refusal(for: "malformed")
        }
        return .open(
            AppAuthorization(
                app: app, redirectURI: requested, registered: registered, state: state, challenge: challenge,
                provider: provider, languages: languages,
                loginHint: query.loginHint.first.flatMap(hint)))
    }

    /// Printable ASCII without a space: it goes into a URI.
    private static func isState(_ text: String) -> Bool {
        stateBytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The language tags of a list (RFC 5646) that look like ones, in lower case; the others are passed over.
    package static func languages(_ list: String) -> [String] {
        let tags = list.utf8.split(separator: UInt8(ascii: " ")).filter { tag in
            tag.count <= 35 && tag.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
        }
        return tags.prefix(maximumLanguages).map { String(decoding: $0, as: UTF8.self).lowercased() }
    }

    /// A hint that could be an address. A provider or a form can do nothing with any other.
    static func hint(_ text: String) -> String? {
        guard (1...maximumHintBytes).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        else { return nil }
        return text
    }
}

extension [String] {
    /// The value of a parameter that came once.
    fileprivate var only: String? { count == 1 ? first : nil }
}
