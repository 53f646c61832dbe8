public import Foundation

/// Where an OAuth server is asked.
public struct OAuthConfiguration: Sendable, Codable, Equatable {
    public var authorizationEndpoint: URL
    /// https; a session refuses to send a token elsewhere.
    public var tokenEndpoint: URL
    public var issuer: URL?

    public init(authorizationEndpoint: URL, tokenEndpoint: URL, issuer: URL? = nil) {
        self.authorizationEndpoint = authorizationEndpoint
        self.tokenEndpoint = tokenEndpoint
        self.issuer = issuer
    }

    /// Google's endpoints as GTMAppAuth has them: sessions that it stored were granted there.
    public static let google = Self(
        authorizationEndpoint: fixed("https://accounts.google.com/o/oauth2/v2/auth"),
        tokenEndpoint: fixed("https://www.googleapis.com/oauth2/v4/token"))

    /// - Parameter text: a literal that is a URL.
    private static func fixed(_ text: StaticString) -> URL {
        guard let url = URL(string: "\(text)") else { preconditionFailure("not a URL: \(text)") }
        return url
    }
}
