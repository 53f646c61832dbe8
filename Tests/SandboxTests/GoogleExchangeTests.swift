import Curl
import Foundation
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Codes and refresh tokens at Google's token endpoint.
@Suite(.sharedSandbox) struct GoogleExchangeTests {
    var sandbox: Sandbox { .current }
    let client: GoogleClient
    let name = UUID().uuidString

    init() async throws {
        client = try await GoogleClient.register(in: .current)
        try await client.sandbox.addGooglePerson(name, #"{"email":"kim@gmail.com"}"#)
    }

    @Test func `a code is exchanged for every member of Google's answer`() async throws {
        let answer = try await client.exchange(client.code(name))
        #expect(answer.status == 200)
        #expect(
            answer.json?.members?.map(\.name)
                == ["access_token", "expires_in", "refresh_token", "scope", "token_type", "id_token"])
        #expect(try answer.text("access_token").hasPrefix("ya29."))
        #expect(try answer.text("refresh_token").hasPrefix("1//0g"))
        #expect(answer.json?["expires_in"]?.integer == 3599)
        #expect(answer.json?["token_type"]?.string == "Bearer")
        #expect(
            try answer.text("scope")
                == "openid https://www.googleapis.com/auth/userinfo.email "
                + "https://www.googleapis.com/auth/userinfo.profile")
        #expect(answer.headers.first("Cache-Control") == "no-store")
    }

    @Test func `the ID token is for the server client, with the nonce and the hash of the new access token`()
        async throws
    {
        let credential = try await sandbox.authorizeGoogle(
            name, clientID: "ios." + client.id, nonce: "n-1", serverClientID: client.id)
        #expect(try TokenParts(credential.idToken).claims["aud"]?.string == "ios." + client.id)
        let answer = try await client.exchange(credential.serverAuthCode)
        let token = try answer.text("id_token")
        #expect(rejection(of: token, by: try await sandbox.keySet(.google)) == nil)
        let claims = try TokenParts(token).claims
        #expect(claims["iss"]?.string == "https://accounts.google.com")
        #expect(claims["aud"]?.string == client.id)
        #expect(claims["azp"]?.string == client.id)
        #expect(claims["sub"]?.string == credential.userID)
        #expect(claims["email"]?.string == "kim@gmail.com")
        #expect(claims["nonce"]?.string == "n-1")
        let half = try SHA256.hash(Array(answer.text("access_token").utf8)).prefix(16)
        #expect(claims["at_hash"]?.string == Base64URL.encode(Array(half)))
    }

    // MARK: The client

    @Test func `an unknown client, a wrong secret and a deleted client are refused with 401`() async throws {
        let code = try await client.code()
        func refusal(_ id: String, _ secret: String) async throws -> String {
            try await GoogleClient(sandbox: client.sandbox, id: id, secret: secret).exchange(code).refusal
        }
        #expect(try await refusal("nobody", client.secret) == "401 invalid_client The OAuth client was not found.")
        for secret in [client.secret + "x", String(client.secret.dropLast()), ""] {
            #expect(
                try await refusal(client.id, secret)
                    == "401 invalid_client The provided client secret is invalid.")
        }
        #expect(try await client.exchange(code).status == 200)
        try await sandbox.deleteGoogleClient(client.id)
        #expect(try await refusal(client.id, client.secret) == "401 deleted_client The OAuth client was deleted.")
    }

    @Test func `the client's credentials may come as Basic, each half encoded, but not twice`() async throws {
        try await sandbox.registerGoogleClient(client.id, secret: "a:b c%")
        func send(_ basic: String, _ others: [(String, String)] = []) async throws -> EndpointAnswer {
            let fields = [
                ("grant_type", "authorization_code"), ("code", try await client.code()), ("redirect_uri", ""),
            ]
            let header = "Basic " + Data(basic.utf8).base64EncodedString()
            return try await sandbox.post("/google/token", fields + others, headers: [("Authorization", header)])
        }
        #expect(try await send("\(client.id):a%3Ab+c%25").status == 200)
        #expect(try await send("\(client.id):a%3Ab+c%25", [("client_id", client.id)]).status == 200)
        #expect(try await send("\(client.id):a:b c").error == "invalid_client")
        #expect(try await send("nothing").error == "invalid_client")
        let twice = try await send("\(client.id):a%3Ab+c%25", [("client_secret", "a:b c%")])
        #expect(twice.refusal == "400 invalid_request Client credentials in the header and in the body.")
        let other = try await send("\(client.id):a%3Ab+c%25", [("client_id", "other")])
        #expect(other.refusal == "400 invalid_request Two different clients.")
    }

    // MARK: The code

    @Test func `the code of a native app wants an empty redirect_uri`() async throws {
        let code = try await client.code()
        let refusal = "400 redirect_uri_mismatch redirect_uri must be there and empty"
        #expect(try await client.exchange(code, []).refusal == refusal)
        for address in ["postmessage", "https://a.example/callback"] {
            #expect(try await client.exchange(code, [("redirect_uri", address)]).refusal == refusal)
        }
        #expect(try await client.exchange(code).status == 200)
    }

    @Test func `a code_verifier for a code that was asked for without one is refused`() async throws {
        let answer = try await client.exchange(client.code(), [("redirect_uri", ""), ("code_verifier", "x")])
        #expect(answer.refusal == "400 invalid_request code_verifier is not needed.")
    }

    // MARK: The form

    @Test func `a repeated or missing parameter and another form are refused`() async throws {
        let code = try await client.code()
        #expect(
            try await client.exchange(code, [("redirect_uri", ""), ("code", code)]).refusal
                == "400 invalid_request OAuth 2 parameters can only have a single value: code")
        #expect(
            try await client.post([("code", code)]).refusal
                == "400 invalid_request Missing required parameter: grant_type")
        #expect(
            try await client.post([("grant_type", "authorization_code")]).refusal
                == "400 invalid_request Missing required parameter: code")
        #expect(
            try await sandbox.post("/google/token", [("grant_type", "refresh_token")]).refusal
                == "400 invalid_request Missing required parameter: client_id")
        #expect(
            try await client.post([("grant_type", "password")]).refusal
                == "400 unsupported_grant_type Invalid grant_type")
        let url = sandbox.url + "/google/token"
        let json = FetchRequest(.post, url: url, headers: [("Content-Type", "application/json")], body: [0x7B, 0x7D])
        #expect(try await sandbox.post(json).refusal == "400 invalid_request Not application/x-www-form-urlencoded")
        let broken = FetchRequest(
            .post, url: url, headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("code=%zz".utf8))
        #expect(try await sandbox.post(broken).refusal == "400 invalid_request Not percent-encoded UTF-8")
        #expect(try await client.exchange(code).status == 200)
    }

    // MARK: Refresh tokens

    @Test func `a refresh token comes with the first exchange, and again only when consent is forced or was withdrawn`()
        async throws
    {
        let first = try await client.refreshToken(name)
        #expect(try await client.exchange(client.code(name)).json?["refresh_token"] == nil)
        let forced = try await client.exchange(client.code(name, forceConsent: true)).text("refresh_token")
        #expect(forced != first)
        #expect(try await client.refresh(first).status == 200)
        try await sandbox.withdrawGoogle(name, clientID: client.id)
        #expect(try await client.refresh(first).refusal == "400 invalid_grant Token has been expired or revoked.")
        let again = try await client.refreshToken(name)
        let authorization = try #require(try await client.authorization(of: name))
        #expect(authorization.grants.map(\.refreshToken) == [first, forced, again].map(Sandbox.fingerprint))
        #expect(authorization.grants.map(\.endedBy) == [.withdraw, .withdraw, nil])
        #expect(authorization.grants[0].checks == 1)
        #expect(authorization.teamID == nil)
    }

    @Test func `a refresh brings a new access token and ID token and no other refresh token`() async throws {
        let answer = try await client.refresh(client.refreshToken(name))
        #expect(answer.json?.members?.map(\.name) == ["access_token", "expires_in", "scope", "token_type", "id_token"])
        #expect(try TokenParts(answer.text("id_token")).claims["nonce"] == nil)
    }

    @Test func `the hundred and first refresh token silently ends the oldest`() async throws {
        for _ in 1...100 { _ = try await client.exchange(client.code(name, forceConsent: true)) }
        let full = try #require(try await client.authorization(of: name)).grants
        #expect(full.filter(\.isLive).count == 100)
        _ = try await client.exchange(client.code(name, forceConsent: true))
        let grants = try #require(try await client.authorization(of: name)).grants
        #expect(grants.count == 101)
        #expect(grants.filter { !$0.isLive }.map(\.refreshToken) == [full[0].refreshToken])
        #expect(grants[0].endedBy == .limit)
    }

    @Test(.fixture(Sandbox.self)) func `a refresh token dies of six months without use`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let used = try await client.refreshToken(name)
        let unused = try await client.exchange(client.code(name, forceConsent: true)).text("refresh_token")
        try await sandbox.advanceClock(by: 100 * 86_400)
        #expect(try await client.refresh(used).status == 200)
        try await sandbox.advanceClock(by: 83 * 86_400)
        #expect(try await client.refresh(used).status == 200)
        #expect(try await client.refresh(unused).refusal == "400 invalid_grant Token has been expired or revoked.")
        #expect(try await client.authorization(of: name)?.grants.map(\.endedBy) == [nil, .disuse])
    }

    @Test func `the answer can lack its ID token or its refresh token, and the ID token can differ`() async throws {
        let none = try await client.exchange(
            client.code(name, exchange: .init(omitsIDToken: true, omitsRefreshToken: true)))
        #expect(none.json?.members?.map(\.name) == ["access_token", "expires_in", "scope", "token_type"])
        #expect(try await client.authorization(of: name)?.grants.isEmpty == true)
        let other = try await client.exchange(
            client.code(name, exchange: .init(token: .init(claims: #"{"sub":"1"}"#))))
        #expect(try TokenParts(other.text("id_token")).claims["sub"]?.string == "1")
        #expect(other.json?["refresh_token"] != nil)
    }
}
