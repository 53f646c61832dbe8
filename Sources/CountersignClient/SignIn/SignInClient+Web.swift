public import Foundation

extension SignInClient {
    /// Begins a sign-in on the server's own pages, with a verifier and a state of its own (RFC 7636, S256).
    ///
    /// - Parameters:
    ///   - app: the name of the app in the server's `web.apps`.
    ///   - redirectURI: one of that app's, exactly; for a loopback address with the port in use.
    ///   - provider: goes to this provider at once; without it the person chooses.
    ///   - languages: of the pages, as tags (BCP 47), best first: `Locale.preferredLanguages`. Without any they are in the
    ///     browser's.
    ///   - loginHint: the address that stands in the form.
    public func makeWebSignIn(
        app: String, redirectURI: URL, provider: IdentityProvider? = nil, languages: [String] = [],
        loginHint: String? = nil
    ) -> WebSignIn {
        begin()
        let verifier = Base64URL.encode(randomBytes(32))
        let state = Base64URL.encode(randomBytes(32))
        var query = [
            (name: "app", value: app), (name: "redirect_uri", value: redirectURI.absoluteString),
            (name: "code_challenge", value: Base64URL.encode(sha256(Data(verifier.utf8)))),
            (name: "code_challenge_method", value: "S256"), (name: "state", value: state),
        ]
        if let provider { query.append((name: "provider", value: provider.rawValue)) }
        // The server reads no more.
        let locales = languages.prefix(32).joined(separator: " ")
        if !locales.isEmpty { query.append((name: "ui_locales", value: locales)) }
        if let loginHint { query.append((name: "login_hint", value: loginHint)) }
        let url = server.url("web/authorize", query: FormText.encode(query))
        return WebSignIn(url: url, redirectURI: redirectURI, state: state, verifier: verifier)
    }

    /// Ends a sign-in on the server's pages with the URL to which the browser came back. An attempt is good for one
    /// callback with its own state.
    ///
    /// - Throws: `refused("foreign_callback", 0)` when the state, the issuer or the URI is not that of the attempt, and
    ///   nothing is sent; `cancelled` when the person said no; `refused("attempt_spent", 0)`; as the other sign-ins.
    public func signIn(web attempt: WebSignIn, callback: URL) async throws(SessionError) -> SignInOutcome {
        let code = try attempt.code(in: callback, issuer: issuer)
        // A second use of a code ends the session that the first one opened.
        guard spentAttempts.insert(attempt.state).inserted else { throw .refused(code: "attempt_spent", status: 0) }
        let body: [String: JSONValue] = [
            "code": .string(code), "codeVerifier": .string(attempt.verifier),
            "redirectUri": .string(attempt.redirectURI.absoluteString),
        ]
        return try await signIn("v1/sign-in/web", body)
    }
}
