#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
    import AuthenticationServices
    import Foundation

    /// One visit to the service's pages in the system's browser, until it comes to the redirect URI, the person closes it, or
    /// the caller's task is cancelled.
    @MainActor
    final class WebAuthentication {
        private let anchor: PresentationAnchor
        private var session: ASWebAuthenticationSession?
        private var answer: CheckedContinuation<Result<URL, SessionError>, Never>?

        init(over anchor: ASPresentationAnchor) { self.anchor = PresentationAnchor(anchor) }

        /// The URL that the browser came to.
        func callback(from url: URL, to redirectURI: URL, isEphemeral: Bool) async throws(SessionError) -> URL {
            let isHTTPS = redirectURI.scheme?.lowercased() == "https"
            let session = try makeSession(url, redirectURI) { @Sendable callback, error in
                let result: Result<URL, SessionError> =
                    if let callback { .success(callback) } else { .failure(Self.end(error).error(isHTTPS: isHTTPS)) }
                Task { @MainActor in self.finish(result) }
            }
            session.presentationContextProvider = anchor
            session.prefersEphemeralWebBrowserSession = isEphemeral
            self.session = session
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    answer = continuation
                    guard !session.start() else { return }
                    // Behind what the system may have said of it meanwhile.
                    Task { @MainActor in self.finish(.failure(.transient(retryAfter: nil))) }
                }
            } onCancel: {
                Task { @MainActor in
                    self.session?.cancel()
                    self.finish(.failure(.cancelled))
                }
            }
            return try result.get()
        }

        /// An https callback, which no other app can receive, is known to the system from iOS 17.4 and macOS 14.4 on.
        private func makeSession(
            _ url: URL, _ redirectURI: URL, _ completion: @escaping @Sendable (URL?, (any Error)?) -> Void
        ) throws(SessionError) -> ASWebAuthenticationSession {
            guard let scheme = redirectURI.scheme?.lowercased(), scheme != "http" else {
                throw .refused(code: "unsupported_callback", status: 0)
            }
            guard #available(iOS 17.4, macOS 14.4, visionOS 1.1, *) else {
                guard scheme != "https" else { throw .refused(code: "unsupported_callback", status: 0) }
                return ASWebAuthenticationSession(url: url, callbackURLScheme: scheme, completionHandler: completion)
            }
            guard scheme == "https" else {
                return ASWebAuthenticationSession(
                    url: url, callback: .customScheme(scheme), completionHandler: completion)
            }
            guard let host = redirectURI.host else { throw .refused(code: "unsupported_callback", status: 0) }
            return ASWebAuthenticationSession(
                url: url, callback: .https(host: host, path: redirectURI.path), completionHandler: completion)
        }

        private nonisolated static func end(_ error: (any Error)?) -> BrowserEnd {
            guard let error = error as? ASWebAuthenticationSessionError else { return .failed }
            if error.code == .canceledLogin { return .closed(isExplained: !error.errorUserInfo.isEmpty) }
            let isOfWindow =
                error.code == .presentationContextNotProvided || error.code == .presentationContextInvalid
            return isOfWindow ? .noWindow : .failed
        }

        /// The first outcome counts.
        private func finish(_ result: Result<URL, SessionError>) {
            answer?.resume(returning: result)
            answer = nil
            session = nil
        }
    }
#endif
