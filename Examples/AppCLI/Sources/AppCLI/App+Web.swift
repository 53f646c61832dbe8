import CountersignClient
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension App {
    /// Signs in on the service's pages by password, as a browser would.
    func signInOnTheWeb(as name: String) async throws {
        report.step("Sign in on the service's pages")
        let (address, password) = ("web.\(person)@example.com", "correct horse \(person)")
        let device = SignInClient(baseURL: service, store: InMemorySessionStore(), allowsLoopbackHTTP: true)
        let made = try await device.register(email: address, password: password)
        try report.expect(made.hasPassword, true, "there is an account with a password")
        guard let redirectURI = URL(string: "http://127.0.0.1:49152/signed-in") else { return }
        let attempt = await client.makeWebSignIn(app: name, redirectURI: redirectURI)
        var browser = Browser()
        try await browser.open(attempt.url)
        try report.expect(browser.page.contains("<form"), true, "the service shows its page")
        try await browser.submit(to: "/web/password", ["email": address, "password": password])
        guard let callback = browser.left, callback.absoluteString.hasPrefix(redirectURI.absoluteString) else {
            throw Mismatch("the browser did not come to the redirect URI, but shows \(browser.page.prefix(400))")
        }
        let known = try signedIn(try await client.signIn(web: attempt, callback: callback))
        try report.expect(known.email, address, "the app is signed in as whom the page was given")
        try await report.expect(
            SessionError.refused(code: "attempt_spent", status: 0), "an attempt is good once"
        ) { () async throws(SessionError) in _ = try await client.signIn(web: attempt, callback: callback) }
    }

}

/// As much of a browser as a page without script needs: cookies, redirects and forms.
struct Browser {
    private(set) var page = ""
    /// Where a redirect has left the site.
    private(set) var left: URL?
    private var url: URL?
    private var cookies: [String: String] = [:]
    private let transport = URLSessionTransport()

    mutating func open(_ url: URL) async throws {
        try await load(URLRequest(url: url))
    }

    /// Submits the form whose action is this path, with its hidden fields.
    mutating func submit(to path: String, _ fields: [String: String]) async throws {
        let forms = page.components(separatedBy: "<form").dropFirst()
        guard let url,
            let form = forms.first(where: { $0.prefix(while: { $0 != ">" }).contains("action=\"\(path)") }),
            let action = value(of: "action", in: form),
            let target = URL(string: action, relativeTo: url)?.absoluteURL
        else { throw Mismatch("the page has no form for \(path)") }
        var all = fields
        for input in form.components(separatedBy: "<input").dropFirst() {
            let tag = String(input.prefix { $0 != ">" })
            if tag.contains("type=\"hidden\""), let name = value(of: "name", in: tag) {
                all[name] = value(of: "value", in: tag) ?? ""
            }
        }
        var request = URLRequest(url: target)
        request.httpMethod = "POST"
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        let unreserved = CharacterSet(charactersIn: "-._~").union(.alphanumerics)
        request.httpBody = Data(
            all.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: unreserved) ?? "")" }
                .joined(separator: "&").utf8)
        try await load(request)
    }

    private func value(of attribute: String, in tag: String) -> String? {
        guard let start = tag.range(of: " \(attribute)=\"") else { return nil }
        return String(tag[start.upperBound...].prefix { $0 != "\"" }).replacingOccurrences(of: "&amp;", with: "&")
    }

    private mutating func load(_ first: URLRequest) async throws {
        var request = first
        for _ in 0..<10 {
            if !cookies.isEmpty {
                request.setValue(
                    cookies.map { "\($0)=\($1)" }.joined(separator: "; "), forHTTPHeaderField: "Cookie")
            }
            let (data, response) = try await transport.send(request)
            guard let here = request.url else { return }
            url = here
            keepCookies(of: response, from: here)
            page = String(decoding: data, as: UTF8.self)
            guard 300..<400 ~= response.statusCode, let place = response.value(forHTTPHeaderField: "Location"),
                let next = URL(string: place, relativeTo: here)?.absoluteURL
            else { return }
            guard next.host == here.host, next.port == here.port, next.scheme == here.scheme else {
                left = next
                return
            }
            request = URLRequest(url: next)
        }
        throw Mismatch("ten redirects")
    }

    private mutating func keepCookies(of response: HTTPURLResponse, from url: URL) {
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        for cookie in HTTPCookie.cookies(withResponseHeaderFields: headers, for: url) {
            cookies[cookie.name] = cookie.value
        }
    }
}
