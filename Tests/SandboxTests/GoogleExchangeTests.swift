import Curl
import Foundation
import JSON
import OpenSSL
import Primitives
import TestSupport
import Testing

/// Codes and refresh tokens at Google's token endpoint.
@Suite struct GoogleExchangeTests {
    private func shared(_ body: (GoogleClient, String) async throws -> Void) async throws {
        try await SharedSandbox.use { sandbox in
            let name = UUID().uuidString
            try await sandbox.addGooglePerson(name, #"{"email":"kim@gmail.com"}"#)
            try await body(try await GoogleClient.register(in: sandbox), name)
        }
    }

    @Test func `a code is exchanged for every member of Google's answer`() async throws {
        try await shared { client, name in
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
    }

    @Test func `the ID token is for the server client, with the nonce and the hash of the new access token`()
        async throws
    {
        try await shared { client, name in
            let credential = try await client.sandbox.authorizeGoogle(
                name, clientID: "ios." + client.id, nonce: "n-1", serverClientID: client.id)
            #expect(try TokenParts(credential.idToken).claims["aud"]?.string == "ios." + client.id)
            let answer = try await client.exchange(credential.serverAuthCode)
            let token = try answer.text("id_token")
            #expect(rejection(of: token, by: try await client.sandbox.keySet(.google)) == nil)
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
    }

    // MARK: The client

    @Test func `an unknown client, a wrong secret and a deleted client are refused with 401`() async throws {
        try await shared { client, _ in
            let code = try await client.code()
            func refusal(_ id: String, _ secret: String) async throws -> String {
                try await GoogleClient(sandbox: client.sandbox, id: id, secret: secret).exchange(code).refusal
            }
            #expect(
                try await refusal("nobody", client.secret)
                    == "401 invalid_client The OAuth client was not found.")
            for secret in [client.secret + "x", String(client.secret.dropLast()), ""] {
                #expect(
                    try await refusal(client.id, secret)
                        == "401 invalid_client The provided client secret is invalid.")
            }
            #expect(try await client.exchange(code).status == 200)
            try await client.sandbox.deleteGoogleClient(client.id)
            #expect(
                try await refusal(client.id, client.secret) == "401 deleted_client The OAuth client was deleted.")
        }
    }

    @Test func `the client's credentials may come as Basic, each half encoded, but not twice`() async throws {
        try await shared { client, _ in
            try await client.sandbox.registerGoogleClient(client.id, secret: "a:b c%")
            func send(_ basic: String, _ others: [(String, String)] = []) async throws -> EndpointAnswer {
                let fields = [
                    ("grant_type", "authorization_code"), ("code", try await client.code()), ("redirect_uri", ""),
                ]
                let header = "Basic " + Data(basic.utf8).base64EncodedString()
                return try await client.sandbox.post(
                    "/google/token", fields + others, headers: [("Authorization", header)])
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
    }

    @Test func `a code of another server client is refused and stays good`() async throws {
        try await shared { client, _ in
            let code = try await client.code()
            let other = try await GoogleClient.register(in: client.sandbox)
            #expect(try await other.exchange(code).refusal == "401 unauthorized_client code: foreign")
            #expect(try await client.exchange(code).status == 200)
        }
    }

    // MARK: The code

    @Test func `a code that was never given out is malformed`() async throws {
        try await shared { client, _ in
            let answer = try await client.exchange("4/0A")
            #expect(answer.refusal == "400 invalid_grant Malformed auth code.")
            #expect(try answer.text("error_description") == "Malformed auth code.")
        }
    }

    @Test func `a code is good once`() async throws {
        try await shared { client, _ in
            let code = try await client.code()
            #expect(try await client.exchange(code).status == 200)
            #expect(try await client.exchange(code).refusal == "400 invalid_grant code: spent")
        }
    }

    @Test func `a code lives for ten minutes`() async throws {
        try await Sandbox.run { sandbox in
            try await sandbox.setClock("2026-01-01T12:00:00Z")
            let client = try await GoogleClient.register(in: sandbox)
            let codes = [try await client.code(), try await client.code()]
            try await sandbox.advanceClock(by: 599)
            #expect(try await client.exchange(codes[0]).status == 200)
            try await sandbox.advanceClock(by: 1)
            #expect(try await client.exchange(codes[1]).refusal == "400 invalid_grant code: expired")
        }
    }

    @Test func `the code of a native app wants an empty redirect_uri`() async throws {
        try await shared { client, _ in
            let code = try await client.code()
            let refusal = "400 redirect_uri_mismatch redirect_uri must be there and empty"
            #expect(try await client.exchange(code, []).refusal == refusal)
            for address in ["postmessage", "https://a.example/callback"] {
                #expect(try await client.exchange(code, [("redirect_uri", address)]).refusal == refusal)
            }
            #expect(try await client.exchange(code).status == 200)
        }
    }

    @Test func `a code_verifier for a code that was asked for without one is refused`() async throws {
        try await shared { client, _ in
            let answer = try await client.exchange(client.code(), [("redirect_uri", ""), ("code_verifier", "x")])
            #expect(answer.refusal == "400 invalid_request code_verifier is not needed.")
        }
    }

    // MARK: The form

    @Test func `a repeated or missing parameter and another form are refused`() async throws {
        try await shared { client, _ in
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
                try await client.sandbox.post("/google/token", [("grant_type", "refresh_token")]).refusal
                    == "400 invalid_request Missing required parameter: client_id")
            #expect(
                try await client.post([("grant_type", "password")]).refusal
                    == "400 unsupported_grant_type Invalid grant_type")
            let url = client.sandbox.url + "/google/token"
            let json = FetchRequest(
                .post, url: url, headers: [("Content-Type", "application/json")], body: [0x7B, 0x7D])
            #expect(
                try await client.sandbox.post(json).refusal
                    == "400 invalid_request Not application/x-www-form-urlencoded")
            let broken = FetchRequest(
                .post, url: url, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array("code=%zz".utf8))
            #expect(
                try await client.sandbox.post(broken).refusal == "400 invalid_request Not percent-encoded UTF-8")
            #expect(try await client.exchange(code).status == 200)
        }
    }

    // MARK: Refresh tokens

    @Test func `a refresh token comes with the first exchange, and again only when consent is forced or was withdrawn`()
        async throws
    {
        try await shared { client, name in
            let first = try await client.refreshToken(name)
            #expect(try await client.exchange(client.code(name)).json?["refresh_token"] == nil)
            let forced = try await client.exchange(client.code(name, forceConsent: true)).text("refresh_token")
            #expect(forced != first)
            #expect(try await client.refresh(first).status == 200)
            try await client.sandbox.withdrawGoogle(name, clientID: client.id)
            #expect(
                try await client.refresh(first).refusal == "400 invalid_grant Token has been expired or revoked.")
            let again = try await client.refreshToken(name)
            let authorization = try #require(try await client.authorization(of: name))
            #expect(authorization.grants.map(\.refreshToken) == [first, forced, again].map(Sandbox.fingerprint))
            #expect(authorization.grants.map(\.endedBy) == [.withdraw, .withdraw, nil])
            #expect(authorization.grants[0].checks == 1)
            #expect(authorization.teamID == nil)
        }
    }

    @Test func `a refresh brings a new access token and ID token and no other refresh token`() async throws {
        try await shared { client, name in
            let answer = try await client.refresh(client.refreshToken(name))
            #expect(
                answer.json?.members?.map(\.name)
                    == ["access_token", "expires_in", "scope", "token_type", "id_token"])
            #expect(try TokenParts(answer.text("id_token")).claims["nonce"] == nil)
        }
    }

    @Test func `a refresh token that is unknown or another client's is refused`() async throws {
        try await shared { client, name in
            #expect(try await client.refresh("1//0g").refusal == "400 invalid_grant refresh_token: unknown")
            let answer = try await client.exchange(client.code(name))
            #expect(
                try await client.refresh(answer.text("access_token")).refusal
                    == "400 invalid_grant refresh_token: not one")
            let other = try await GoogleClient.register(in: client.sandbox)
            #expect(
                try await other.refresh(answer.text("refresh_token")).refusal
                    == "401 unauthorized_client refresh_token: foreign")
        }
    }

    @Test func `the hundred and first refresh token silently ends the oldest`() async throws {
        try await shared { client, name in
            for _ in 1...100 { _ = try await client.exchange(client.code(name, forceConsent: true)) }
            let full = try #require(try await client.authorization(of: name)).grants
            #expect(full.filter(\.isLive).count == 100)
            _ = try await client.exchange(client.code(name, forceConsent: true))
            let grants = try #require(try await client.authorization(of: name)).grants
            #expect(grants.count == 101)
            #expect(grants.filter { !$0.isLive }.map(\.refreshToken) == [full[0].refreshToken])
            #expect(grants[0].endedBy == .limit)
        }
    }

    @Test func `a refresh token dies of six months without use`() async throws {
        try await Sandbox.run { sandbox in
            try await sandbox.setClock("2026-01-01T12:00:00Z")
            let client = try await GoogleClient.register(in: sandbox)
            try await sandbox.addGooglePerson("kim")
            let used = try await client.refreshToken("kim")
            let unused = try await client.exchange(client.code("kim", forceConsent: true)).text("refresh_token")
            try await sandbox.advanceClock(by: 100 * 86_400)
            #expect(try await client.refresh(used).status == 200)
            try await sandbox.advanceClock(by: 83 * 86_400)
            #expect(try await client.refresh(used).status == 200)
            #expect(
                try await client.refresh(unused).refusal == "400 invalid_grant Token has been expired or revoked.")
            #expect(try await client.authorization(of: "kim")?.grants.map(\.endedBy) == [nil, .disuse])
        }
    }

    @Test func `the answer can lack its ID token or its refresh token, and the ID token can differ`() async throws {
        try await shared { client, name in
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
}
