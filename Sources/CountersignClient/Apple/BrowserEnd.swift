/// How a visit to the system's browser has ended without a URL.
enum BrowserEnd: Sendable {
    /// The system explains an end that it made by itself, with the same code as that of a person who closes the browser.
    case closed(isExplained: Bool)
    /// The window is not one to show a browser over.
    case noWindow
    case failed

    /// - Parameter isHTTPS: whether the redirect URI is. Its host has to be the app's (`webcredentials:`), else the system
    ///   ends the visit before the browser shows.
    func error(isHTTPS: Bool) -> SessionError {
        switch self {
        case .closed(isExplained: true) where isHTTPS: .refused(code: "unsupported_callback", status: 0)
        case .closed: .cancelled
        case .noWindow: .refused(code: "invalid_window", status: 0)
        case .failed: .transient(retryAfter: nil)
        }
    }
}
