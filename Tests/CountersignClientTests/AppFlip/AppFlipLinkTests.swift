import Foundation
import Testing

@testable import CountersignClient

struct AppFlipLinkTests {
    static let assistant = "https://oauth-redirect.googleusercontent.com/a/com.google.OPA"

    static let configuration = AppFlipConfiguration(
        link: url("https://link.acme.example/google/flip"), clientID: "google-link-7f3a")

    static func url(_ text: String) -> URL { URL(string: text) ?? URL(fileURLWithPath: "/") }

    /// The usual link with one part of its query replaced.
    static func link(
        client: String = "client_id=google-link-7f3a", scope: String = "scope=devices.read+profile",
        state: String = "state=Xy%2F9%2B1",
        redirect: String = "redirect_uri=https%3A%2F%2Foauth-redirect.googleusercontent.com%2Fa%2Fcom.google.OPA",
        more: String = "", base: String = "https://link.acme.example/google/flip"
    ) -> URL { url("\(base)?\([client, scope, state, redirect, more].filter { !$0.isEmpty }.joined(separator: "&"))") }

    static func read(
        _ link: URL, _ configuration: AppFlipConfiguration = AppFlipLinkTests.configuration
    ) -> AppFlipLink { AppFlipLink(link, configuration: configuration) }

    static func request(_ link: URL = link()) throws -> AppFlipRequest {
        guard case .request(let request) = read(link) else { throw SessionError.noSession }
        return request
    }

    @Test func `a link of Google's is a request`() throws {
        let request = try Self.request()
        #expect(request.clientID == "google-link-7f3a")
        #expect(request.scopes == ["devices.read", "profile"])
        #expect(request.state == "Xy/9+1")
        #expect(request.redirectURI == Self.assistant)
    }

    @Test func `a link that is concatenated without encoding is the same request`() throws {
        let link = Self.link(state: "state=Xy/9+1", redirect: "redirect_uri=\(Self.assistant)")
        #expect(try Self.request(link) == Self.request())
    }

    @Test(arguments: [
        ("scope=", []), ("", []), ("scope=a+b+a", ["a", "b", "a"]), ("scope=a%20%20b", ["a", "b"]),
        ("scope=a%2Bb", ["a+b"]), ("%73cope=a+b", ["a", "b"]),
    ])
    func `a plus is a space in scopes alone, which may be missing`(scope: String, scopes: [String]) throws {
        #expect(try Self.request(Self.link(scope: scope)).scopes == scopes)
    }

    @Test(arguments: [
        "HTTPS://link.acme.example/google/flip", "https://LINK.Acme.example/google/flip",
        "https://link.acme.example:443/google/flip",
    ])
    func `scheme and host compare without case`(base: String) throws {
        #expect(try Self.request(Self.link(base: base)) == Self.request())
    }

    @Test(arguments: [
        "http://link.acme.example/google/flip", "https://acme.example/google/flip",
        "https://link.acme.example/google/Flip", "https://link.acme.example/google/flip/",
        "https://link.acme.example/google/%66lip", "https://link.acme.example/x/../google/flip",
        "https://link.acme.example:8443/google/flip", "https://me@link.acme.example/google/flip",
        "https://link.acme.example.evil.test/google/flip", "acme://link.acme.example/google/flip",
    ])
    func `another link is ignored`(base: String) { #expect(Self.read(Self.link(base: base)) == .ignore) }

    @Test func `all twelve redirect URIs are known, two of them are open by default`() throws {
        #expect(AppFlipConfiguration.googleRedirectURIs.count == 12)
        #expect(AppFlipConfiguration.googleProductionRedirectURIs.isSubset(of: AppFlipConfiguration.googleRedirectURIs))
        let all = AppFlipConfiguration(
            link: Self.configuration.link, clientID: Self.configuration.clientID,
            redirectURIs: AppFlipConfiguration.googleRedirectURIs)
        for uri in AppFlipConfiguration.googleRedirectURIs {
            let link = Self.link(redirect: "redirect_uri=\(FormText.encode(uri))")
            guard case .request(let request) = Self.read(link, all) else {
                Issue.record("no request: \(uri)")
                continue
            }
            #expect(request.redirectURI == uri)
            let isOpen = AppFlipConfiguration.googleProductionRedirectURIs.contains(uri)
            #expect((Self.read(link) == .ignore) == !isOpen)
        }
    }

    @Test(arguments: [
        "https://oauth-redirect.googleusercontent.com/a/com.google.OPA/",
        "https://oauth-redirect.googleusercontent.com/a/com.google.opa",
        "HTTPS://oauth-redirect.googleusercontent.com/a/com.google.OPA",
        "https://oauth-redirect.googleusercontent.com:443/a/com.google.OPA",
        "http://oauth-redirect.googleusercontent.com/a/com.google.OPA",
        "https://oauth-redirect.googleusercontent.com/a/com.google.OPA?x=1",
        "https://oauth-redirect.googleusercontent.com/a/com.google.OPA#x",
        "https://oauth-redirect.googleusercontent.com/a/com.google%2EOPA",
        "https://oauth-redirect.googleusercontent.com/a/x/../com.google.OPA",
        "https://oauth-redirect.googleusercontent.com@evil.test/a/com.google.OPA",
        "https://oauth-redirect.googleusercontent.com/a/com.google.OPA.evil",
        "https://oauth-redirect.googleusercontent.com/r/acme-project",
        "https://oauth-redirect.googleusercontent.com/a/com.google.OPA ", "javascript:alert(1)", "",
    ])
    func `a redirect URI that is not one of the list is never opened`(uri: String) {
        let link = Self.link(redirect: "redirect_uri=\(FormText.encode(uri))")
        #expect(Self.read(link) == .ignore)
    }

    @Test func `text that only looks alike is another redirect URI and another client`() {
        // U+212A, which Unicode takes for K.
        let uri = "https://k.example/a/K"
        let configuration = AppFlipConfiguration(link: Self.configuration.link, clientID: "K", redirectURIs: [uri])
        let kelvin = "\u{212A}"
        #expect("K" == kelvin)
        let other = Self.link(client: "client_id=K", redirect: "redirect_uri=https://k.example/a/%E2%84%AA")
        #expect(Self.read(other, configuration) == .ignore)
        let client = Self.link(client: "client_id=%E2%84%AA", redirect: "redirect_uri=\(uri)")
        let answer = "\(uri)?error=invalid_request&state=Xy%2F9%2B1"
        #expect(Self.read(client, configuration) == .reject(returnTo: Self.url(answer)))
    }

    @Test(arguments: [
        "redirect_uri=https://evil.test/", "redirect%5Furi=https://evil.test/", "%72edirect_uri=\(assistant)",
    ])
    func `a repeated redirect URI opens nothing`(more: String) {
        #expect(Self.read(Self.link(more: more)) == .ignore)
        #expect(Self.read(Self.link(redirect: more, more: "redirect_uri=\(Self.assistant)")) == .ignore)
    }

    @Test(arguments: [
        link(client: ""), link(client: "client_id=another"), link(client: "client_id"),
        link(more: "client_id=google-link-7f3a"), link(more: "%63lient_id=google-link-7f3a"),
        link(more: "scope=admin"), link(more: "unknown=1&unknown=1"), link(scope: "scope=%FF"), link(more: "%FF=1"),
        link(client: "client_id=google-link-7f3a%20"), link(client: "client_id=Google-Link-7F3A"),
    ])
    func `a fault is answered with invalid_request and the state`(link: URL) {
        let answer = "\(Self.assistant)?error=invalid_request&state=Xy%2F9%2B1"
        #expect(Self.read(link) == .reject(returnTo: Self.url(answer)))
    }

    @Test(arguments: [
        link(state: ""), link(state: "state="), link(state: "state"), link(state: "state=%FF"),
        link(more: "state=another"), link(more: "%73tate=another"),
    ])
    func `without exactly one state the answer carries none`(link: URL) {
        let answer = "\(Self.assistant)?error=invalid_request"
        #expect(Self.read(link) == .reject(returnTo: Self.url(answer)))
    }

    @Test func `a link without a query is ignored`() { #expect(Self.read(Self.configuration.link) == .ignore) }

    @Test func `success carries code and state with unreserved characters alone`() throws {
        let request = try Self.request()
        #expect(request.success(code: "Zt0w").absoluteString == "\(Self.assistant)?code=Zt0w&state=Xy%2F9%2B1")
        let odd = try Self.request(Self.link(state: "state=a+b%26%3D%23%25%C3%A4~"))
        #expect(
            odd.success(code: "a+/=&?#é").absoluteString
                == "\(Self.assistant)?code=a%2B%2F%3D%26%3F%23%C3%A9&state=a%2Bb%26%3D%23%25%C3%A4~")
    }

    @Test(arguments: [
        (AppFlipError.cancelled, "cancelled"), (.unrecoverable, "unrecoverable"), (.invalidRequest, "invalid_request"),
        (.accessDenied, "access_denied"),
    ])
    func `failure carries the word of App Flip and the state`(error: AppFlipError, word: String) throws {
        let request = try Self.request()
        #expect(request.failure(error).absoluteString == "\(Self.assistant)?error=\(word)&state=Xy%2F9%2B1")
        #expect(
            request.failure(error, description: "You declined").absoluteString
                == "\(Self.assistant)?error=\(word)&error_description=You%20declined&state=Xy%2F9%2B1")
    }

    @Test func `a query that the redirect URI has stays`() throws {
        let configuration = AppFlipConfiguration(
            link: Self.configuration.link, clientID: "c", redirectURIs: ["https://a.example/flip?x=a+b%2F"])
        let link = Self.link(client: "client_id=c", redirect: "redirect_uri=https://a.example/flip?x%3Da%2Bb%252F")
        guard case .request(let request) = Self.read(link, configuration) else {
            Issue.record("no request")
            return
        }
        #expect(request.success(code: "1").absoluteString == "https://a.example/flip?x=a+b%2F&code=1&state=Xy%2F9%2B1")
    }

    @Test func `requests are equal by bytes`() throws {
        let composed = try Self.request(Self.link(state: "state=%C3%A9"))
        let decomposed = try Self.request(Self.link(state: "state=e%CC%81"))
        #expect(composed.state == decomposed.state)
        #expect(composed != decomposed)
        #expect(composed.success(code: "1") != decomposed.success(code: "1"))
    }

    @Test func `neither request nor link shows the state`() throws {
        let link = Self.link(state: "state=a-state-that-is-a-secret-of-the-other-app")
        for text in [printed(try Self.request(link)), printed(Self.read(link)), printed([Self.read(link)])] {
            #expect(!text.contains("a-state"))
        }
        let rejected = Self.read(Self.link(client: "", state: "state=a-state-that-is-a-secret-of-the-other-app"))
        #expect(!printed(rejected).contains("a-state"))
    }
}
