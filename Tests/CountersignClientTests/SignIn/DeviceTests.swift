import Foundation
import Testing

@testable import CountersignClient

@Suite struct DeviceTests {
    /// What every way to sign in posts as its device.
    private static func posted(_ device: DeviceDescription) async throws -> [JSONValue?] {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn()) }
        let client = server.client(device: device)
        _ = try await client.signIn(apple: AppleCredential(identityToken: Fixture.token()))
        _ = try await client.signIn(google: GoogleCredential(idToken: "token"))
        _ = try await client.signIn(email: "a@x.example", password: "p")
        _ = try await client.signIn(email: "a@x.example", code: "123456")
        let redirect = try #require(URL(string: "com.example.lamp:/signed-in"))
        let attempt = await client.makeWebSignIn(app: "lamp", redirectURI: redirect)
        let issuer = FormText.encode(server.url().absoluteString)
        let callback = try #require(
            URL(string: "com.example.lamp:/signed-in?code=c&state=\(attempt.state)&iss=\(issuer)"))
        _ = try await client.signIn(web: attempt, callback: callback)
        return server.requests.map { $0.json?["device"] }
    }

    @Test func `every sign-in says which device it is on`() async throws {
        let device = JSONValue.object(["name": "Kim’s phone", "platform": "iOS"])
        #expect(
            try await Self.posted(DeviceDescription(name: "Kim’s phone", platform: "iOS"))
                == Array(repeating: device, count: 5))
    }

    @Test(arguments: [nil, "", " ", "\u{7}"] as [String?])
    func `a device without a name or platform is not sent`(_ text: String?) async throws {
        #expect(try await Self.posted(DeviceDescription(name: text, platform: text)) == Array(repeating: nil, count: 5))
    }

    @Test func `a name that the server would refuse is made one that it takes`() {
        let device = DeviceDescription(
            name: "\nKim\u{0}’s phone \(String(repeating: "ä", count: 100))",
            platform: String(repeating: "p", count: 65))
        #expect(
            device.json
                == .object([
                    "name": .string("Kim’s phone " + String(repeating: "ä", count: 57)),
                    "platform": .string(String(repeating: "p", count: 64)),
                ]))
    }

    @Test(arguments: ["علی\u{200C}رضا", "ශ්\u{200D}රී", "👩\u{200D}💻"])
    func `what joins and parts letters stays, in names of people too`(_ text: String) throws {
        #expect(DeviceDescription(name: text, platform: nil).json == .object(["name": .string(text)]))
        #expect(StoredName(Fixture.name(text, nil))?.givenName == text)
    }

    @Test func `by default it is the kind of device, and nobody's name`() {
        let current = DeviceDescription.current
        #if os(Linux)
            #expect(current == DeviceDescription(name: nil, platform: "Linux"))
        #else
            #expect(current.name?.allSatisfy(\.isLetter) == true && current.platform != nil)
        #endif
    }
}
