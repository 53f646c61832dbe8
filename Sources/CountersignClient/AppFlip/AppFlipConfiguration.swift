public import Foundation

/// What an App Flip link has to be before it is answered: the app's universal link, the client that Google has with the
/// server, and where an answer may go.
public struct AppFlipConfiguration: Sendable {
    /// All that Google's apps use on iOS: two hosts, six apps.
    public static let googleRedirectURIs: Set<String> = {
        let hosts = ["oauth-redirect.googleusercontent.com", "oauth-redirect-sandbox.googleusercontent.com"]
        let apps = ["com.google.OPA", "com.google.Chromecast"].flatMap { [$0, "\($0).dev", "\($0).enterprise"] }
        return Set(hosts.flatMap { host in apps.map { "https://\(host)/a/\($0)" } })
    }()

    /// Those of the apps that people have.
    public static let googleProductionRedirectURIs: Set<String> = [
        "https://oauth-redirect.googleusercontent.com/a/com.google.OPA",
        "https://oauth-redirect.googleusercontent.com/a/com.google.Chromecast",
    ]

    let link: URL
    let clientID: String
    let redirectURIs: Set<String>

    /// - Parameters:
    ///   - link: the universal link that Google opens: `https://`, the app's domain and the server's `appFlip.path`.
    ///   - clientID: Google's client at the server.
    ///   - redirectURIs: where answers may go. Other URIs are never opened.
    public init(link: URL, clientID: String, redirectURIs: Set<String> = googleProductionRedirectURIs) {
        self.link = link
        self.clientID = clientID
        self.redirectURIs = redirectURIs
    }

    /// Whether a URL is the app's link, whatever its query. Scheme and host compare without case, the path by bytes.
    func isLink(_ url: URLComponents) -> Bool {
        guard let link = URLComponents(url: link, resolvingAgainstBaseURL: true) else { return false }
        func lowercase(_ text: String?) -> [UInt8]? { text?.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
        func port(_ url: URLComponents) -> Int { url.port ?? (lowercase(url.scheme) == Array("http".utf8) ? 80 : 443) }
        func path(_ url: URLComponents) -> [UInt8] {
            url.percentEncodedPath.isEmpty ? [UInt8(ascii: "/")] : Array(url.percentEncodedPath.utf8)
        }
        return lowercase(url.scheme) == lowercase(link.scheme) && port(url) == port(link)
            && lowercase(url.percentEncodedHost) == lowercase(link.percentEncodedHost)
            && url.percentEncodedUser == nil && url.percentEncodedPassword == nil && path(url) == path(link)
    }
}

/// Equality of texts as the bytes they are sent as. `String` also takes texts for equal that only look alike: the Kelvin
/// sign and K.
func isSame(_ first: String, _ second: String) -> Bool { first.utf8.elementsEqual(second.utf8) }
