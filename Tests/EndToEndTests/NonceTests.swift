import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Nonces that the service issues, from the phone's side.
@Suite(.limitedConcurrency, .world(["nonces.policy": "required"]), .timeLimit(.minutes(30)))
struct NonceTests: WorldSuite {
    private static func issue(_ provider: String) async throws -> String {
        let answer = try await World.current.service.post("/v1/nonces", ["provider": .string(provider)]).expecting(201)
        #expect(try answer.text("expiresAt").wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        #expect(answer.json?.members?.map(\.name).sorted() == ["expiresAt", "nonce"])
        return try answer.text("nonce")
    }

    @Test func `a nonce signs in once at the provider that it is for`() async throws {
        try await world.newPerson("nonce")
        let apple = try await Self.issue("apple")
        // An app hands the digest of a raw nonce to Apple's SDK.
        let digest = Hexadecimal.encode(SHA256.hash(Array(apple.utf8)))
        let appleToken = try await world.appleToken("nonce", nonce: digest)
        let google = try await Self.issue("google")
        let googleToken = try await world.googleToken("nonce", nonce: google)
        let crossed = try await world.googleToken("nonce", nonce: apple)

        #expect(try await service.signInWithGoogle(crossed, ["nonce": .string(apple)]).status == 401)
        #expect(try await service.signInWithApple(appleToken).status == 401)
        #expect(try await service.signInWithApple(appleToken, ["nonce": .string(apple)]).status == 200)
        #expect(try await service.signInWithGoogle(googleToken, ["nonce": .string(google)]).status == 200)

        let again = try await service.signInWithApple(appleToken, ["nonce": .string(apple)])
        let forged = try await service.signInWithApple("a.b.c", ["nonce": .string(apple)])
        #expect(again.code == "invalid_token")
        // The caller does not learn which check failed.
        #expect(again.withoutRequestID == forged.withoutRequestID)
        let id = try #require(again.header("X-Request-Id"))
        #expect(try await service.logged(id)["reason"]?.string == "nonce_spent")
        try await service.post("/v1/nonces", ["provider": "Apple"]).expectRefusal(400, "invalid_request")
    }
}
