import HTTPServer

/// The header fields of every page and redirect.
struct PageHeaders: Sendable {
    /// Seconds: a year.
    private static let transportSecurityLifetime = 31_536_000

    /// Whether the pages are served over https.
    let isSecure: Bool

    /// - Parameters:
    ///   - targets: the sources besides our own at which a form of the page may end. Browsers apply the list to the
    ///     redirects of a form too (CSP 3 §6.4.1.1).
    ///   - isIsolated: whether a page of another site that has opened this one loses its hold on it. Those of clients of
    ///     the OAuth server keep theirs, since they open it in a pop-up.
    func fields(targets: [String] = [], isIsolated: Bool = false) -> [(name: String, value: String)] {
        self.fields(policy: policy(targets), isIsolated: isIsolated)
    }

    /// - Parameter policy: the whole `Content-Security-Policy`.
    func fields(policy: String, isIsolated: Bool) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = [
            ("Content-Security-Policy", policy), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
            ("X-Robots-Tag", "none"),
        ]
        fields += transportSecurity
        if isIsolated { fields.append(("Cross-Origin-Opener-Policy", "same-origin")) }
        return fields
    }

    private func policy(_ targets: [String]) -> String {
        // Providers and apps may share an origin.
        let sources = targets.reduce(into: ["'self'"]) { if !$0.contains($1) { $0.append($1) } }
        return """
            default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; \
            form-action \(sources.joined(separator: " "))
            """
    }

    /// Those of a style sheet or a picture: opened by itself, an SVG file runs nothing and loads nothing.
    var forAssets: [(name: String, value: String)] {
        [("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")] + transportSecurity
    }

    private var transportSecurity: [(name: String, value: String)] {
        isSecure ? [("Strict-Transport-Security", "max-age=\(Self.transportSecurityLifetime)")] : []
    }
}

extension Response {
    /// The file at the path of a request. Its path changes with its bytes, so it may be kept; but a page of a process of
    /// another release, which serves beside this one for a while, names another version, in whose place this one is for now.
    static func asset(
        of assets: [PageAsset], at request: Request, headers: [(name: String, value: String)]
    ) throws(Problem) -> Response {
        let path = request.path
        guard let asset = assets.first(where: { $0.path == path }) ?? assets.first(where: { $0.isVersion(at: path) })
        else { throw Problem(.notFound) }
        var response = Response(
            .ok, contentType: asset.mediaType, body: asset.bytes,
            caching: asset.path == path ? .shared(seconds: 31_536_000) : .noStore)
        response.headers = headers
        return response
    }
}
