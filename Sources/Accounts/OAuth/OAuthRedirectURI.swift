/// A redirect URI of a client: compared byte for byte but for the port of a loopback address, never normalised (RFC 9700
/// §2.1).
///
/// Registrable are https URIs, and http ones on a loopback address.
package struct OAuthRedirectURI: ExactString {
    package let text: String

    package init?(registering text: String) {
        guard let uri = AppRedirectURI(registering: text) else { return nil }
        switch uri.kind {
        case .https, .loopback: self.text = text
        case .privateScheme: return nil
        }
    }

    /// Whether a request's URI is this one: by its bytes, but for the port of a loopback address, which a client on the
    /// person's device learns only when it listens (RFC 8252 §7.3).
    package func matches(_ requested: String) -> Bool { AppRedirectURI(registering: text)?.matches(requested) ?? false }

    /// Whether it is one of Google's for App Flip, which `/oauth/flip` alone takes.
    package var isForFlip: Bool { GoogleLinking.hosts.contains { text.hasPrefix("https://\($0)/a/") } }

    /// Whether Google's servers take what is sent there.
    package var isGoogles: Bool { GoogleLinking.hosts.contains { text.hasPrefix("https://\($0)/") } }

    /// What `form-action` has to allow for a form that ends there.
    package var formActionSource: String { AppRedirectURI(registering: text)?.formActionSource ?? "'none'" }
}

/// What Google, as a client, is registered with (docs/account-linking.md, "Setting it up").
package enum GoogleLinking {
    private static let production = "oauth-redirect.googleusercontent.com"
    private static let sandbox = "oauth-redirect-sandbox.googleusercontent.com"
    static let hosts = [production, sandbox]
    private static let productionApps = ["com.google.OPA", "com.google.Chromecast"]
    private static let apps = productionApps.flatMap { ["\($0)", "\($0).dev", "\($0).enterprise"] }

    /// The redirect URIs of the browser way.
    ///
    /// - Parameter project: the last segment of their path.
    package static func redirectURIs(project: String, includingSandbox: Bool) -> [String] {
        (includingSandbox ? hosts : [production]).map { "https://\($0)/r/\(project)" }
    }

    /// The two redirect URIs of App Flip that Google's published apps use.
    package static var flipURIs: [String] { productionApps.map { "https://\(production)/a/\($0)" } }

    /// All twelve.
    package static var allFlipURIs: [String] {
        hosts.flatMap { host in apps.map { "https://\(host)/a/\($0)" } }
    }
}
