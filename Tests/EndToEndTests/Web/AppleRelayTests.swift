import OpenSSL
import Primitives
import TestSupport
import Testing

/// The relay for apps whose library opens Apple's page itself and waits for an intent.
@Suite(.limitedConcurrency, .webWorld(["web.app.lamp.appleRelayPackage": "com.example.lamp"]), .timeLimit(.minutes(30)))
struct AppleRelayTests: WorldSuite {
    static let url = WebWorld.publicURL + "/web/relay/apple/lamp"

    @Test func `what Apple posts goes on to the app's package, encoded, and nothing else does`() async throws {
        let user = ##"{"name":{"firstName":"#Intent;package=com.evil;end","lastName":"Lee"}}"##
        let fields: [(name: String, value: String)] = [
            ("state", "a b&c=d#e"), ("code", "c0de.0.x"), ("id_token", "a.b.c"), ("user", user), ("extra", "evil"),
            ("package", "com.evil"), ("scheme", "javascript"),
        ]
        let browser = world.browser()
        // Apple's page, from which a browser posts.
        let page = try await world.press(.apple, on: try await world.chooser(try AppAttempt(), browser), browser)
        let sent = try await browser.send(fields, to: Self.url, on: page, following: false).expecting(303)
        let location = try sent.location()
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

    @Test func `what a relay passed on signs in only with the nonce that the app kept`() async throws {
        try await world.newPerson("flutter")
        let raw = "raw-nonce-of-the-app-0123456789"
        let digest = Hexadecimal.encode(SHA256.hash(Array(raw.utf8)))
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
                let answer = try await service.post("/v1/sign-in/apple", members)
                #expect(answer.status == status, "\(String(describing: nonce)) \(isCodeAlone): \(answer.text)")
                if status == 401 { #expect(answer.code == "invalid_token") }
            }
        }
    }
}
