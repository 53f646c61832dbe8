import JSON
import OpenSSL
import TestSupport
import Testing

/// The relay for apps whose library opens Apple's page itself and waits for an intent.
@Suite(.limitedConcurrency, .webWorld(["web.app.lamp.appleRelayPackage": "com.example.lamp"]), .timeLimit(.minutes(3)))
struct AppleRelayTests {
    var world: World { .current }

    static let url = WebWorld.publicURL + "/web/relay/apple/lamp"

    /// Apple's page, from which a browser posts.
    private func applePage(_ browser: Browser) async throws -> Browser.Page {
        return try await world.press(.apple, on: try await world.chooser(try AppAttempt(), browser), browser)
    }

    private func relay(
        _ fields: [(name: String, value: String)], to url: String = AppleRelayTests.url
    ) async throws -> Browser.Page {
        let browser = world.browser()
        return try await browser.send(fields, to: url, on: try await applePage(browser), following: false)
    }

    @Test func `what Apple posts goes on to the app's package, encoded, and nothing else does`() async throws {
        let user = ##"{"name":{"firstName":"#Intent;package=com.evil;end","lastName":"Lee"}}"##
        let sent = try await relay([
            ("state", "a b&c=d#e"), ("code", "c0de.0.x"), ("id_token", "a.b.c"), ("user", user), ("extra", "evil"),
            ("package", "com.evil"), ("scheme", "javascript"),
        ])
        #expect(sent.status == 303)
        let location = try #require(sent.answer["Location"])
        #expect(location.hasPrefix("intent://callback?"))
        #expect(location.hasSuffix("#Intent;package=com.example.lamp;scheme=signinwithapple;end"))
        #expect(location.utf8.filter { $0 == UInt8(ascii: "#") }.count == 1)
        let parameters = FormEncoding.parameters(of: location)
        #expect(Set(parameters.map(\.name)) == ["state", "code", "id_token", "user"])
        #expect(parameters.first { $0.name == "user" }?.value == user)
        #expect(parameters.first { $0.name == "state" }?.value == "a b&c=d#e")
        #expect(!location.contains("+"))
        #expect(sent.answer.values("Set-Cookie") == [])
        #expect(sent.answer["Referrer-Policy"] == "no-referrer")
    }

    @Test func `a name that comes twice is refused, and a cancellation is passed on`() async throws {
        for name in ["state", "code", "id_token", "user", "error"] {
            let twice = try await relay([("state", "s"), ("code", "c"), (name, "a"), (name, "b")])
            #expect(twice.status == 400, "\(name)")
            #expect(twice.answer["Location"] == nil)
        }
        let cancelled = try await relay([("state", "s"), ("error", "user_cancelled_authorize")])
        #expect(cancelled.answer["Location"]?.contains("error=user_cancelled_authorize") == true)
    }

    @Test func `only an app with a package has a relay, and only by POST`() async throws {
        for name in ["other", "unknown", "..%2Flamp"] {
            let missed = try await relay(
                [("state", "s"), ("code", "c")], to: WebWorld.publicURL + "/web/relay/apple/" + name)
            #expect(missed.status == 404, "\(name)")
            #expect(missed.answer["Location"] == nil)
        }
        #expect(try await world.browser().open(Self.url, following: false).status == 405)
    }

    @Test func `what a relay passed on signs in only with the nonce that the app kept`() async throws {
        try await world.newPerson("flutter")
        let raw = "raw-nonce-of-the-app-0123456789"
        let digest = Canaries.digits(SHA256.hash(Array(raw.utf8)))
        for (nonce, status) in [(nil, 401), ("another-nonce-0123456789", 401), (raw, 200)] as [(String?, Int)] {
            for isCodeAlone in [true, false] {
                let credential = try await world.sandbox.authorizeApple(
                    "flutter", clientID: WebWorld.servicesID, nonce: digest, repeatEmail: true, redirectURI: Self.url)
                var members: TokenMint.Members = [
                    "authorizationCode": .string(credential.authorizationCode),
                    "redirectUri": .string(Self.url), "clientId": .string(WebWorld.servicesID),
                ]
                if !isCodeAlone { members["identityToken"] = .string(credential.identityToken) }
                members["nonce"] = nonce.map { .string($0) }
                let answer = try await world.service.post("/v1/sign-in/apple", members)
                #expect(answer.status == status, "\(String(describing: nonce)) \(isCodeAlone): \(answer.text)")
                if status == 401 { #expect(answer.code == "invalid_token") }
            }
        }
    }
}
