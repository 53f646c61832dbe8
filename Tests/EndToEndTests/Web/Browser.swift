import Foundation
import Synchronization
import TestSupport
import Testing

/// A browser as a server sees one, over real sockets: cookies, redirects, forms, `Sec-Fetch-Site`, and Chromium's reading of
/// the policy's `form-action`. It runs no script.
///
/// Each origin is a site of its own, whatever its address: the service and the sandbox share one. An origin with `https` is
/// what a proxy in front of the service makes of it.
final class Browser: Sendable {
    struct Cookie: Sendable, Equatable {
        let name: String
        let value: String
        /// As they came, in lower case, but for the values.
        let attributes: [String: String]
    }

    /// What a navigation led to.
    struct Page: Sendable {
        struct Hop: Sendable {
            let method: String
            let url: String
            /// As it was on the wire.
            let request: String
            let answer: RawAnswer

            var path: String { String(url.dropFirst(Browser.origin(of: url).count).prefix { $0 != "?" }) }
            var hasCookies: Bool { request.contains("\r\nCookie: ") }
        }

        /// The requests of the navigation; the last one was answered with this page.
        let hops: [Hop]
        /// The URI at which the browser left: that of an app.
        let handedOver: String?
        /// The URL that the page's `form-action` kept the browser from.
        let blocked: String?

        var url: String { hops.last?.url ?? "" }
        var answer: RawAnswer { hops[hops.count - 1].answer }
        var status: Int { answer.status }
        var html: HTML { HTML(answer.body) }

        /// Itself, which has this status.
        @discardableResult
        func expecting(_ status: Int, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
            #expect(self.status == status, "\(answer.text)", sourceLocation: sourceLocation)
            return self
        }

        /// Where the answer redirects to.
        func location(_ location: SourceLocation = #_sourceLocation) throws -> String {
            try #require(answer["Location"], "\(answer.text)", sourceLocation: location)
        }

        /// Where each redirect led.
        var locations: [String] { hops.compactMap { $0.answer["Location"] } }

        func form(_ path: String, _ location: SourceLocation = #_sourceLocation) throws -> HTML.Form {
            try #require(
                html.forms.first { $0.path == path }, "no form for \(path) in \(status) \(answer.body)",
                sourceLocation: location)
        }
    }

    /// By origin, the port of 127.0.0.1 that answers for it.
    private let ports: [String: UInt16]
    /// The address that the proxy names.
    let address: String
    let languages: String?
    private let jar = Mutex<[String: [Cookie]]>([:])

    private static let count = Atomic<Int>(0)

    /// Another client network (/24) than that of every other browser of this test run.
    init(ports: [String: UInt16], languages: String? = nil, address: String? = nil) {
        self.ports = ports
        self.languages = languages
        let number = Self.count.add(1, ordering: .relaxed).newValue
        self.address = address ?? "10.\(number / 256 % 256).\(number % 256).7"
    }

    func cookies(of origin: String) -> [Cookie] { jar.withLock { $0[origin] ?? [] } }

    func cookie(_ name: String, of origin: String) -> Cookie? { cookies(of: origin).first { $0.name == name } }

    func set(_ cookies: [Cookie], of origin: String) { jar.withLock { $0[origin] = cookies } }

    // MARK: Navigation

    /// A URL that is typed, or opened by an app.
    func open(
        _ url: String, method: String = "GET", following: Bool = true, headers: [(String, String)] = []
    ) async throws -> Page {
        try await navigate(Request(method: method, url: url, headers: headers), from: nil, following: following)
    }

    /// A link on a page.
    func click(_ link: String, on page: Page, following: Bool = true) async throws -> Page {
        try await navigate(
            Request(method: "GET", url: Self.resolve(link, on: page.url)), from: page, following: following)
    }

    /// Sends a form of a page.
    ///
    /// - Parameters:
    ///   - typed: what a person types, by name; other fields go as they are.
    ///   - button: the value of the button that is pressed; the first one, when the form has one with a name.
    func submit(
        _ form: HTML.Form, on page: Page, typed: [String: String] = [:], button: String? = nil, following: Bool = true,
        headers: [(String, String)] = []
    ) async throws -> Page {
        var fields = form.fields.map { (name: $0.name, value: typed[$0.name] ?? $0.value) }
        for (name, value) in typed.sorted(by: { $0.key < $1.key }) where !fields.contains(where: { $0.name == name }) {
            fields.append((name, value))
        }
        let pressed = button.flatMap { value in form.buttons.first { $0.value == value } } ?? form.buttons.first
        if let pressed, let name = pressed.name { fields.append((name, pressed.value)) }
        return try await send(
            fields, to: pressed?.action ?? form.action, on: page, method: form.method, following: following,
            headers: headers)
    }

    /// Sends the page's form for this path.
    func submit(
        _ path: String, on page: Page, typed: [String: String] = [:], button: String? = nil, following: Bool = true,
        headers: [(String, String)] = [], _ location: SourceLocation = #_sourceLocation
    ) async throws -> Page {
        let form = try page.form(path, location)
        return try await submit(form, on: page, typed: typed, button: button, following: following, headers: headers)
    }

    /// Goes to another screen of the flow, by the button or the link that leads there.
    func go(
        to screen: String, on page: Page, typed: [String: String] = [:], _ location: SourceLocation = #_sourceLocation
    ) async throws -> Page {
        if let form = page.html.forms.first(where: { $0.buttons.contains { $0.name == "to" && $0.value == screen } }) {
            return try await submit(form, on: page, typed: typed, button: screen)
        }
        let link = try #require(
            page.html.links.first { $0.target.contains("with=\(screen)") }, "no way to \(screen): \(page.answer.body)",
            sourceLocation: location)
        return try await click(link.target, on: page)
    }

    /// Sends any fields from a page, such as one of an attacker.
    func send(
        _ fields: [(name: String, value: String)], to action: String, on page: Page, method: String = "POST",
        following: Bool = true, headers: [(String, String)] = []
    ) async throws -> Page {
        let url = action.isEmpty ? page.url : Self.resolve(action, on: page.url)
        let encoded = FormEncoding.encode(fields)
        let request =
            method == "POST"
            ? Request(method: method, url: url, body: encoded, headers: headers)
            : Request(method: method, url: "\(url.prefix { $0 != "?" })?\(encoded)", headers: headers)
        return try await navigate(request, from: page, isForm: true, following: following)
    }

    /// Goes where a redirect leads that was not followed.
    func follow(_ page: Page) async throws -> Page {
        let location = try page.location()
        return try await navigate(
            Request(method: "GET", url: Self.resolve(location, on: page.url)), from: page, following: true)
    }

    private struct Request {
        var method: String
        var url: String
        var body: String?
        var headers: [(String, String)] = []
    }

    private func navigate(
        _ first: Request, from initiator: Page?, isForm: Bool = false, following: Bool
    ) async throws -> Page {
        var request = first
        var hops: [Page.Hop] = []
        var sites = initiator.map { [Self.origin(of: $0.url)] } ?? []
        let sources = isForm ? initiator.flatMap(Self.formActionSources) : nil
        while true {
            let origin = Self.origin(of: request.url)
            sites.append(origin)
            if let sources, let initiator, !Self.allows(sources, request.url, of: initiator.url) {
                return Page(hops: hops.isEmpty ? initiator.hops : hops, handedOver: nil, blocked: request.url)
            }
            guard let port = ports[origin] else {
                return Page(hops: hops.isEmpty ? initiator?.hops ?? [] : hops, handedOver: request.url, blocked: nil)
            }
            let fetchSite = initiator == nil ? "none" : Set(sites).count == 1 ? "same-origin" : "cross-site"
            let text = message(request, origin: origin, fetchSite: fetchSite, initiator: initiator)
            let answer = try await RawConnection.exchange(port, text)
            store(answer.values("Set-Cookie"), of: origin)
            hops.append(Page.Hop(method: request.method, url: request.url, request: text, answer: answer))
            guard following, hops.count < 10, 300..<400 ~= answer.status, let location = answer["Location"] else {
                return Page(hops: hops, handedOver: nil, blocked: nil)
            }
            let keepsBody = answer.status == 307 || answer.status == 308
            request = Request(
                method: keepsBody || request.method == "HEAD" ? request.method : "GET",
                url: Self.resolve(location, on: request.url), body: keepsBody ? request.body : nil)
        }
    }

    private func message(_ request: Request, origin: String, fetchSite: String, initiator: Page?) -> String {
        let target = request.url.dropFirst(origin.count).prefix { $0 != "#" }
        var fields = [
            ("Host", String(origin.drop { $0 != "/" }.dropFirst(2))), ("Connection", "close"),
            ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
            ("Accept", "text/html,*/*;q=0.8"),
            ("X-Forwarded-For", address), ("Sec-Fetch-Site", fetchSite), ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"), ("Sec-Fetch-User", "?1"), ("Upgrade-Insecure-Requests", "1"),
        ]
        if let languages { fields.append(("Accept-Language", languages)) }
        let isSameSite = fetchSite != "cross-site"
        let sent = cookies(of: origin).filter { cookie in
            switch cookie.attributes["samesite"]?.lowercased() {
            case "none": true
            case "strict": isSameSite
            // Of a navigation, whatever redirect led to it; a cookie without the attribute is treated likewise.
            default: isSameSite || request.method == "GET" || request.method == "HEAD"
            }
        }
        if !sent.isEmpty { fields.append(("Cookie", sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))) }
        if let initiator {
            let isSilent = initiator.answer["Referrer-Policy"]?.lowercased() == "no-referrer"
            let source = Self.origin(of: initiator.url)
            if !isSilent { fields.append(("Referer", source == origin ? initiator.url : source + "/")) }
            if request.method == "POST" { fields.append(("Origin", isSilent ? "null" : source)) }
        }
        if let body = request.body {
            fields.append(("Content-Type", "application/x-www-form-urlencoded"))
            fields.append(("Content-Length", "\(body.utf8.count)"))
        }
        for (name, value) in request.headers {
            fields.removeAll { $0.0.lowercased() == name.lowercased() }
            fields.append((name, value))
        }
        let head = fields.map { "\($0.0): \($0.1)\r\n" }.joined()
        return "\(request.method) \(target.isEmpty ? "/" : String(target)) HTTP/1.1\r\n\(head)\r\n\(request.body ?? "")"
    }

    // MARK: Cookies

    /// Keeps what a browser would keep: the prefix `__Host-` and `Secure` have their conditions.
    private func store(_ values: [String], of origin: String) {
        for value in values {
            let parts = value.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let first = parts.first, let equals = first.firstIndex(of: "=") else { continue }
            let name = String(first[..<equals])
            var attributes: [String: String] = [:]
            for part in parts.dropFirst() {
                let pair = part.split(separator: "=", maxSplits: 1)
                attributes[pair[0].lowercased()] = pair.count == 2 ? String(pair[1]) : ""
            }
            let isSecure = origin.hasPrefix("https:")
            if attributes["secure"] != nil, !isSecure { continue }
            let isOfHost = attributes["secure"] != nil && attributes["path"] == "/" && attributes["domain"] == nil
            if name.hasPrefix("__Host-"), !isOfHost { continue }
            let cookie = Cookie(name: name, value: String(first[first.index(after: equals)...]), attributes: attributes)
            jar.withLock { jar in
                jar[origin, default: []].removeAll { $0.name == name }
                if attributes["max-age"] != "0" { jar[origin, default: []].append(cookie) }
            }
        }
    }

    // MARK: URLs

    /// `https://auth.example.com`; of a private scheme `com.example.lamp:`.
    static func origin(of url: String) -> String {
        guard let scheme = url.firstIndex(of: ":") else { return "" }
        let rest = url[url.index(after: scheme)...]
        guard rest.hasPrefix("//") else { return String(url[...scheme]) }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        return "\(url[...scheme])//\(authority)"
    }

    static func resolve(_ reference: String, on url: String) -> String {
        if reference.firstMatch(of: /^[A-Za-z][A-Za-z0-9+.-]*:/) != nil { return reference }
        if reference.hasPrefix("//") { return String(url.prefix { $0 != ":" }) + ":" + reference }
        if reference.hasPrefix("/") { return origin(of: url) + reference }
        let path = url.prefix { $0 != "?" && $0 != "#" }
        if reference.hasPrefix("?") { return "\(path)\(reference)" }
        if reference.hasPrefix("#") || reference.isEmpty { return String(url.prefix { $0 != "#" }) + reference }
        return "\(path[...(path.lastIndex(of: "/") ?? path.startIndex)])\(reference)"
    }

    /// The sources of `form-action`; nil when the policy has none.
    private static func formActionSources(of page: Page) -> [String]? {
        let directives = (page.answer["Content-Security-Policy"] ?? "").split(separator: ";")
        let words = directives.map { $0.split(separator: " ").map(String.init) }
        return words.first { $0.first == "form-action" }.map { Array($0.dropFirst()) }
    }

    private static func allows(_ sources: [String], _ url: String, of page: String) -> Bool {
        let origin = origin(of: url)
        return sources.contains { source in
            switch source {
            case "'self'": origin == Self.origin(of: page)
            case _ where source.hasSuffix(":"):
                url.hasPrefix(source) || source == "http:" && url.hasPrefix("https:")
            // Chromium's matching knows no address in brackets.
            default: origin == source && !origin.contains("[")
            }
        }
    }
}
