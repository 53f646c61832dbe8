import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

@Suite(.fixture(Sandbox.self)) struct GoogleTokenTests {
    private let noon: Int64 = 1_767_268_800  // 2026-01-01T12:00:00Z

    private var sandbox: Sandbox { .current }

    init() async throws { try await sandbox.setClock("2026-01-01T12:00:00Z") }

    @Test func `a Workspace account's token verifies and carries every claim of its shape`() async throws {
        let kim = """
            {"email":"kim@example.com","hostedDomain":"example.com","givenName":"Kim","familyName":"Lee",\
            "picture":"https://pictures.example/kim"}
            """
        try await sandbox.addGooglePerson("kim", kim)
        let credential = try await sandbox.authorizeGoogle("kim", clientID: "web", authorizedParty: "ios", nonce: "n-1")
        let token = try UnverifiedToken(Array(credential.idToken.utf8))
        let verified = try token.verified(by: try await sandbox.keySet(.google))
        let checked = try ClaimRules(issuers: ["https://accounts.google.com"], audiences: ["web"])
            .check(verified, at: noon)
        #expect(checked.subject == credential.userID)
        #expect(checked.issuedAt == noon)
        #expect(checked.expiresAt == noon + 3600)

        let parts = try TokenParts(credential.idToken)
        #expect(parts.header["typ"]?.string == "JWT")
        #expect(
            parts.claimNames == [
                "iss", "azp", "aud", "sub", "hd", "email", "email_verified", "at_hash", "nonce", "name", "picture",
                "given_name", "family_name", "iat", "exp",
            ])
        #expect(parts.claims["azp"]?.string == "ios")
        #expect(parts.claims["hd"]?.string == "example.com")
        #expect(parts.claims["email_verified"]?.bool == true)
        #expect(parts.claims["name"]?.string == "Kim Lee")
        #expect(parts.claims["nonce"]?.string == "n-1")
        let half = Array(SHA256.hash(Array(credential.accessToken.utf8)).prefix(16))
        #expect(parts.claims["at_hash"]?.string == Base64URL.encode(half))
        #expect(credential.userID.wholeMatch(of: /\d{21}/) != nil)
        #expect(credential.serverAuthCode.hasPrefix("4/0A"))
        #expect(credential.email == "kim@example.com")
        #expect(credential.name == "Kim Lee")
    }

    @Test func `an account without domain, profile or nonce leaves those claims out`() async throws {
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@gmail.com","emailVerified":false}"#)
        let credential = try await sandbox.authorizeGoogle("kim", clientID: "web", authorizedParty: .some(nil))
        let parts = try TokenParts(credential.idToken)
        #expect(parts.claimNames == ["iss", "aud", "sub", "email", "email_verified", "at_hash", "iat", "exp"])
        #expect(parts.claims["email_verified"]?.bool == false)
        #expect(credential.name == nil)
    }

    @Test func `the authorized party is the client itself unless another is named`() async throws {
        try await sandbox.addGooglePerson("kim", "{}")
        let parts = try TokenParts(try await sandbox.authorizeGoogle("kim", clientID: "web").idToken)
        #expect(parts.claims["azp"]?.string == "web")
    }

    @Test func `without the email scope no address is shared`() async throws {
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@gmail.com","givenName":"Kim"}"#)
        let credential = try await sandbox.authorizeGoogle("kim", clientID: "web", scopes: ["profile"])
        #expect(credential.email == nil)
        #expect(credential.name == "Kim")
        #expect(!(try TokenParts(credential.idToken).claimNames.contains("email")))
    }

    @Test func `an update changes what it names, null takes away, and the subject stays`() async throws {
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@old.example","hostedDomain":"old.example"}"#)
        let before = try await sandbox.authorizeGoogle("kim", clientID: "web")
        try await sandbox.addGooglePerson("kim", #"{"email":"kim@gmail.com","hostedDomain":null}"#)
        let after = try await sandbox.authorizeGoogle("kim", clientID: "web")
        #expect(after.userID == before.userID)
        #expect(after.email == "kim@gmail.com")
        #expect(try TokenParts(after.idToken).claims["hd"] == nil)
        let chosen = try await sandbox.addGooglePerson("kim", #"{"subject":"109876543210987654321"}"#)
        #expect(chosen == "109876543210987654321")
    }
}
