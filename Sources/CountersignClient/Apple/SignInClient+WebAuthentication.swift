#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
    public import AuthenticationServices
    import Foundation

    extension SignInClient {
        /// Signs in on the service's own pages, in the system's browser over a window of the app.
        ///
        /// A redirect URI with a private scheme works everywhere. One with https, which no other app can receive, needs
        /// iOS 17.4 or macOS 14.4 and its host as an associated domain (`webcredentials:HOST`); without them it is refused
        /// as `unsupported_callback`, without a browser.
        ///
        /// - Parameter prefersEphemeralSession: no cookies are shared with the browser, so that each attempt asks again.
        /// - Throws: `cancelled` when the person closes the browser or the task is cancelled;
        ///   `refused("unsupported_callback", 0)`; `refused("invalid_window", 0)` for a window that the system takes for none
        ///   of the app's that shows; else as ``signIn(web:callback:)``.
        @MainActor
        public func signIn(
            web attempt: WebSignIn, over anchor: ASPresentationAnchor, prefersEphemeralSession: Bool = false
        ) async throws(SessionError) -> SignInOutcome {
            let browser = WebAuthentication(over: anchor)
            let callback = try await browser.callback(
                from: attempt.url, to: attempt.redirectURI, isEphemeral: prefersEphemeralSession)
            return try await signIn(web: attempt, callback: callback)
        }
    }
#endif
