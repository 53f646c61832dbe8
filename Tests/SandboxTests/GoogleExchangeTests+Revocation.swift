import Curl
import JOSE
import TestSupport
import Testing

/// Google's revoke endpoint, which asks for a token and for nothing else.
extension GoogleExchangeTests {
    private var dead: String { "400 invalid_token Token expired or revoked" }

    @Test(arguments: ["refresh_token", "access_token"])
    func `revoking a token of either kind ends the whole grant`(_ kind: String) async throws {
        let answer = try await client.exchange(client.code(name))
        let younger = try await client.exchange(client.code(name, forceConsent: true)).text("refresh_token")
        let unused = try await client.code(name)
        let revoked = try await client.revoke(answer.text(kind))
        #expect(revoked.status == 200)
        #expect(String(decoding: revoked.body, as: UTF8.self) == "{}")
        for token in [try answer.text("refresh_token"), younger] {
            #expect(try await client.refresh(token).refusal == "400 invalid_grant Token has been expired or revoked.")
        }
        #expect(try await client.revoke(answer.text("access_token")).refusal == dead)
        #expect(try await client.exchange(unused).refusal == "400 invalid_grant code: ended")
        let authorization = try #require(try await client.authorization(of: name))
        #expect(!authorization.isConsented)
        #expect(authorization.grants.map(\.endedBy) == [.revoke, .revoke])
    }

    @Test func `the access token of the phone can be revoked too`() async throws {
        let credential = try await sandbox.authorizeGoogle(name, clientID: client.id)
        let token = try await client.exchange(credential.serverAuthCode).text("refresh_token")
        #expect(try await client.revoke(credential.accessToken).status == 200)
        #expect(try await client.refresh(token).error == "invalid_grant")
    }

    @Test func `a token that is dead, unknown or not of these kinds is an invalid token`() async throws {
        let answer = try await client.exchange(client.code(name))
        let idToken = try answer.text("id_token")
        let code = try await client.code(name)
        for token in ["junk", idToken, code] {
            let refused = try await client.revoke(token)
            #expect(refused.refusal == dead)
            #expect(try refused.text("error_description") == "Token expired or revoked")
        }
        let token = try answer.text("refresh_token")
        #expect(try await client.revoke(token).status == 200)
        #expect(try await client.revoke(token).refusal == dead)
        #expect(try await client.authorization(of: name)?.grants.map(\.revocations) == [2])
    }

    @Test func `the token may be in the query, but not in both places and not twice`() async throws {
        let token = try await client.refreshToken(name)
        let query = "/google/revoke?token=" + token
        let repeated = "400 invalid_request OAuth 2 parameters can only have a single value: token"
        #expect(try await sandbox.post(query, [("token", token)]).refusal == repeated)
        #expect(try await sandbox.post(query + "&token=x", []).refusal == repeated)
        #expect(try await sandbox.post("/google/revoke", [("token", "a"), ("token", "a")]).refusal == repeated)
        let bare = FetchRequest(.post, url: sandbox.url + query)
        #expect(try await sandbox.post(bare).status == 200)
    }

    @Test func `a request without a token or with another body is refused`() async throws {
        let missing = "400 invalid_request Missing required parameter: token"
        let empty = try await sandbox.post("/google/revoke", [])
        #expect(empty.refusal == missing)
        #expect(try await client.revoke("").refusal == missing)
        let json = FetchRequest(
            .post, url: sandbox.url + "/google/revoke", headers: [("Content-Type", "application/json")],
            body: Array(#"{"token":"x"}"#.utf8))
        #expect(try await sandbox.post(json).refusal == "400 invalid_request Not application/x-www-form-urlencoded")
    }
}
