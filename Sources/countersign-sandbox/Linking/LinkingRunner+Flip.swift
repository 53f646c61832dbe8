import OpenSSL
import Primitives

/// App Flip: Google's app opens the vendor's, which answers with a code.
extension LinkingRunner {
    /// What Google's documents let the vendor's app answer instead of a code.
    private static let errors = ["access_denied", "cancelled", "invalid_request", "unrecoverable"]

    /// Begins a link by App Flip.
    ///
    /// - Returns: the link that opens the vendor's app.
    func beginFlip() throws -> String {
        let settings = try linking.settings()
        let state = Base64URL.encode(try SecureRandom.bytes(18)) + "+/="
        let url = Self.flipURL(settings, state: state)
        linking.begin(.init(way: .flip, state: state, url: url))
        return url
    }

    /// As Google's test tool for App Flip writes it: this order, the values as they are, scopes joined with `+`.
    static func flipURL(_ settings: LinkingSettings, state: String) -> String {
        "\(settings.flipLink)?client_id=\(settings.clientID)&scope=\(settings.scopes.joined(separator: "+"))"
            + "&state=\(state)&redirect_uri=\(settings.flipRedirectURI)"
    }

    /// Takes the URL that the vendor's app has opened, which on a phone opens Google's app.
    func takeFlip(_ url: String) async throws(ControlRefusal) {
        let client = try client()
        let settings = client.settings
        var findings = LinkingFindings(way: .flip)
        let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        findings.note(.redirectURI, parts[0] == settings.flipRedirectURI, String(parts[0].prefix(100)))
        // In a URL, unlike in a form, a plus sign is one.
        let query = (parts.count == 2 ? parts[1] : "").replacing("+", with: "%2B")
        let values = LinkingValues(fields: FormFields(Array(query.utf8))?.fields ?? [])
        guard parts[0] == settings.flipRedirectURI, let state = values.only("state"),
            linking.end(.flip, state: state) != nil
        else {
            findings.note(.state, false, "no link that waits has the state of this answer")
            return linking.add(findings)
        }
        findings.note(.state, true, "\(state.utf8.count) bytes")
        let code = Self.code(values, refusals: Self.errors, &findings)
        linking.add(findings)
        guard let code else { return }
        await redeem(.init(code: code, redirectURI: settings.flipRedirectURI, verifier: nil), .flip, client)
    }
}
