import JOSE
import JSON
import TestSupport
import Testing

/// Apple's refresh tokens: the daily check, revocation and the person's own withdrawal.
extension AppleExchangeTests {
    private func grants(_ person: String? = nil) async throws -> [Sandbox.Grant] {
        try #require(try await client.authorization(of: person ?? name)).grants
    }

    // MARK: Refresh checks

    @Test func `a check brings an access token and nothing to keep`() async throws {
        let answer = try await client.refresh(client.refreshToken())
        #expect(answer.status == 200)
        #expect(answer.json?.members?.map(\.name) == ["access_token", "token_type", "expires_in"])
    }

    @Test(.fixture(Sandbox.self)) func `checks are counted, and those within a day of the last one apart`() async throws
    {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let token = try await client.refreshToken(name)
        for wait: Int64 in [0, 86_399, 86_400, 100_000] {
            try await sandbox.advanceClock(by: wait)
            #expect(try await client.refresh(token).status == 200)
        }
        let grant = try #require(try await grants().first)
        #expect(grant.checks == 4)
        #expect(grant.hastyChecks == 1)
        #expect(grant.issuedAt == "2026-01-01T12:00:00Z")
    }

    // MARK: Revocation

    @Test(arguments: ["refresh_token", "access_token"], [true, false])
    func `revoking a token of either kind, with or without a hint, ends the whole authorization`(
        _ kind: String, _ hints: Bool
    ) async throws {
        let older = try await client.refreshToken(name)
        let answer = try await client.exchange(client.code(name))
        let unused = try await client.code(name)
        let revoked = try await client.revoke(answer.text(kind), hint: hints ? kind : nil)
        #expect(revoked.status == 200)
        #expect(revoked.body.isEmpty)
        for token in [older, try answer.text("refresh_token")] {
            #expect(try await client.refresh(token).refusal == "400 invalid_grant refresh_token: ended")
        }
        #expect(try await client.exchange(unused).refusal == "400 invalid_grant code: ended")
        let authorization = try #require(try await client.authorization(of: name))
        #expect(!authorization.isConsented)
        #expect(authorization.grants.map(\.endedBy) == [.revoke, .revoke])
        #expect(authorization.grants.map(\.revocations) == (kind == "refresh_token" ? [0, 1] : [0, 0]))
        // The next authorization is a first one again.
        let next = try await sandbox.authorizeApple(name, clientID: client.id)
        #expect(next.realUserStatus == 2)
    }

    @Test func `junk, a code, an identity token and another client's token are answered with 200 and end nothing`()
        async throws
    {
        let answer = try await client.exchange(client.code(name))
        let refreshToken = try answer.text("refresh_token")
        let code = try await client.code(name)
        let sibling = try await client.sibling(client.id + ".web")
        #expect(try await client.revoke("junk", hint: "refresh_token").status == 200)
        #expect(try await client.revoke(code).status == 200)
        #expect(try await client.revoke(answer.text("id_token")).status == 200)
        #expect(try await sibling.revoke(refreshToken).status == 200)
        #expect(try await client.refresh(refreshToken).status == 200)
        #expect(try await client.exchange(code).status == 200)
        #expect(try await grants().allSatisfy { $0.revocations == 0 })
    }

    @Test(.fixture(Sandbox.self)) func `a token ends once, however often it is revoked`() async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let token = try await client.refreshToken(name)
        #expect(try await client.revoke(token).status == 200)
        try await sandbox.advanceClock(by: 60)
        #expect(try await client.revoke(token).status == 200)
        let grant = try #require(try await grants().first)
        #expect(grant.endedAt == "2026-01-01T12:00:00Z")
        #expect(grant.revocations == 2)
    }

    @Test func `a late repetition does not end the next authorization`() async throws {
        let token = try await client.refreshToken(name)
        _ = try await client.revoke(token)
        let next = try await client.refreshToken(name)
        #expect(try await client.revoke(token).status == 200)
        #expect(try await client.refresh(next).status == 200)
    }

    @Test func `a wrong hint is refused and ends nothing`() async throws {
        let answer = try await client.exchange(client.code())
        let refreshToken = try answer.text("refresh_token")
        let wrong = "400 invalid_request token_type_hint is wrong"
        #expect(try await client.revoke(refreshToken, hint: "access_token").refusal == wrong)
        #expect(try await client.revoke(answer.text("access_token"), hint: "refresh_token").refusal == wrong)
        #expect(
            try await client.revoke(refreshToken, hint: "id_token").refusal
                == "400 invalid_request token_type_hint is no type of token")
        #expect(try await client.refresh(refreshToken).status == 200)
    }

    @Test func `a revocation asks for a good client_secret and for no other parameter`() async throws {
        let token = try await client.refreshToken()
        let bad = try await client.post("/apple/auth/revoke", [("token", token)], secret: "bad")
        #expect(bad.error == "invalid_client")
        let extra = try await client.post("/apple/auth/revoke", [("token", token), ("grant_type", "x")])
        #expect(extra.refusal == "400 invalid_request grant_type is not supported")
        #expect(try await client.refresh(token).status == 200)
    }

    // MARK: Withdrawal

    @Test func `a withdrawal ends the refresh tokens too`() async throws {
        let token = try await client.refreshToken(name)
        try await sandbox.withdrawApple(name, clientID: client.id)
        #expect(try await client.refresh(token).refusal == "400 invalid_grant refresh_token: ended")
        _ = try await client.revoke(token)
        let grant = try #require(try await grants().first)
        #expect(!grant.isLive)
        #expect(grant.endedBy == .withdraw)
        #expect(grant.revocations == 1)
    }
}
