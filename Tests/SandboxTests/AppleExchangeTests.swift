import Curl
import Foundation
import JOSE
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Codes at Apple's token endpoint, and the refresh tokens that they bring.
@Suite(.sharedSandbox) struct AppleExchangeTests {
    var sandbox: Sandbox { .current }
    let client: AppleClient
    let name = UUID().uuidString

    init() async throws {
        client = try await AppleClient.register(in: .current)
        try await client.sandbox.addApplePerson(name)
    }

    @Test func `a code is exchanged for every member of Apple's answer`() async throws {
        let answer = try await client.exchange(client.code())
        #expect(answer.status == 200)
        #expect(
            answer.json?.members?.map(\.name)
                == ["access_token", "token_type", "expires_in", "refresh_token", "id_token"])
        #expect(answer.json?["token_type"]?.string == "Bearer")
        #expect(answer.json?["expires_in"]?.integer == 3600)
        let tail = /[0-9a-f]{32}\.0\.[a-z0-9]{4}\.[A-Za-z0-9]{22}/
        let accessToken = try answer.text("access_token")
        let refreshToken = try answer.text("refresh_token")
        #expect(accessToken.first == "a" && accessToken.dropFirst().wholeMatch(of: tail) != nil)
        #expect(refreshToken.first == "r" && refreshToken.dropFirst().wholeMatch(of: tail) != nil)
        #expect(answer.headers.first("Content-Type") == "application/json;charset=UTF-8")
        #expect(answer.headers.first("Cache-Control") == "no-store")
    }

    @Test(.fixture(Sandbox.self))
    func `the ID token repeats the identity token and names the access token in place of the code`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        try await sandbox.addApplePerson(name, #"{"email":"kim@example.com"}"#)
        let credential = try await sandbox.authorizeApple(name, clientID: client.id, nonce: "n-1")
        try await sandbox.advanceClock(by: 60)
        let answer = try await client.exchange(credential.authorizationCode)
        let token = try answer.text("id_token")
        let keys = try await sandbox.keySet(.apple)
        let verified = try UnverifiedToken(Array(token.utf8)).verified(by: keys)
        let noon: Int64 = 1_767_268_800
        let checked = try ClaimRules(issuers: ["https://appleid.apple.com"], audiences: [client.id])
            .check(verified, at: noon + 60)
        #expect(checked.subject == credential.user)
        #expect(checked.issuedAt == noon + 60)
        #expect(checked.expiresAt == noon + 60 + 86_400)
        let claims = verified.claims
        #expect(claims["aud"]?.string == client.id)
        #expect(claims["nonce"]?.string == "n-1")
        #expect(claims["auth_time"]?.integer == noon)
        #expect(claims["email"]?.string == "kim@example.com")
        let half = try SHA256.hash(Array(answer.text("access_token").utf8)).prefix(16)
        #expect(claims["at_hash"]?.string == Base64URL.encode(Array(half)))
        #expect(claims["c_hash"] == nil)
    }

    @Test func `the ID token has the address of the authorization and no other`() async throws {
        let name = UUID().uuidString
        try await sandbox.addApplePerson(name, #"{"email":"first@example.com"}"#)
        let first = try await client.code(name)
        try await sandbox.addApplePerson(name, #"{"email":"second@example.com"}"#)
        let second = try await client.code(name)
        let claims = try TokenParts(try await client.exchange(first).text("id_token")).claims
        #expect(claims["email"]?.string == "first@example.com")
        let later = try TokenParts(try await client.exchange(second).text("id_token")).claims
        #expect(later["email"] == nil)
    }

    @Test func `every exchange brings another refresh token`() async throws {
        let tokens = [try await client.refreshToken(name), try await client.refreshToken(name)]
        #expect(tokens[0] != tokens[1])
        let authorization = try await client.authorization(of: name)
        #expect(authorization?.grants.map(\.refreshToken) == tokens.map(Sandbox.fingerprint))
        #expect(authorization?.grants.allSatisfy(\.isLive) == true)
        #expect(authorization?.teamID == client.team)
    }

    // MARK: What a code is worth

    // MARK: redirect_uri

    @Test(arguments: ["https://a.example/callback", ""])
    func `the code of a native app goes without redirect_uri`(_ sent: String) async throws {
        let code = try await client.code()
        #expect(
            try await client.exchange(code, [("redirect_uri", sent)]).refusal
                == "400 invalid_client redirect_uri: the authorization had none")
        #expect(try await client.exchange(code).status == 200)
    }

    @Test func `the code of a browser goes with the very redirect_uri of its request`() async throws {
        let address = "https://a.example/callback?x=1"
        let code = try await client.code(redirectURI: address)
        #expect(try await client.exchange(code).refusal == "400 invalid_request redirect_uri is missing")
        for other in ["https://a.example/callback", "https://A.example/callback?x=1", ""] {
            #expect(
                try await client.exchange(code, [("redirect_uri", other)]).refusal
                    == "400 invalid_client redirect_uri is another one")
        }
        #expect(try await client.exchange(code, [("redirect_uri", address)]).status == 200)
    }

    // MARK: Answers that Apple would not give

    @Test func `the ID token of the exchange can differ, and the posted one does not`() async throws {
        let credential = try await sandbox.authorizeApple(
            name, clientID: client.id,
            exchange: .init(token: .init(claims: #"{"sub":"somebody-else","at_hash":"x"}"#, signature: .forged)))
        #expect(try TokenParts(credential.identityToken).claims["sub"]?.string == credential.user)
        let token = try await client.exchange(credential.authorizationCode).text("id_token")
        #expect(try TokenParts(token).claims["sub"]?.string == "somebody-else")
        #expect(try TokenParts(token).claims["at_hash"]?.string == "x")
        #expect(rejection(of: token, by: try await sandbox.keySet(.apple)) == .signatureMismatch)
    }

    @Test func `the answer can lack its ID token, its refresh token or any member, and have others`() async throws {
        func names(_ changes: Sandbox.ExchangeChanges) async throws -> [String]? {
            try await client.exchange(client.code(exchange: changes)).json?.members?.map(\.name)
        }
        #expect(
            try await names(.init(omitsIDToken: true))
                == ["access_token", "token_type", "expires_in", "refresh_token"])
        #expect(
            try await names(.init(omitsRefreshToken: true))
                == ["access_token", "token_type", "expires_in", "id_token"])
        #expect(
            try await names(.init(withoutAnswer: ["access_token", "token_type"]))
                == ["expires_in", "refresh_token", "id_token"])
        let answer = try await client.exchange(
            client.code(exchange: .init(answer: #"{"refresh_token":"a\tb","expires_in":null,"x":[1]}"#)))
        #expect(answer.json?["refresh_token"]?.string == "a\tb")
        #expect(answer.json?["expires_in"]?.isNull == true)
        #expect(answer.json?["x"]?.elements?.count == 1)
    }
}
