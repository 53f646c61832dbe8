/// The words of App Flip for a request that gets no code, and what the app that asked does then.
public enum AppFlipError: String, Error, Sendable {
    /// Not signed in, no network, no answer in time. It goes on in the browser.
    case cancelled
    /// For example an account that is disabled. It gives up.
    case unrecoverable
    /// Something is missing from the request, or wrong in it. It goes on in the browser.
    case invalidRequest = "invalid_request"
    /// The person said no. It gives up.
    case accessDenied = "access_denied"
}
