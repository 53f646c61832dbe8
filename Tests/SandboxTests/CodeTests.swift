import JSON
import TestSupport
import Testing

/// Codes and tokens, where both providers have one rule.
@Suite(.sharedSandbox) struct CodeTests {
    private var sandbox: Sandbox { .current }

    @Test(arguments: [
        (Sandbox.Provider.apple, "400 invalid_grant code: unknown", nil),
        (.google, "400 invalid_grant Malformed auth code.", "Malformed auth code."),
    ])
    func `a code that was never given out is refused`(
        _ provider: Sandbox.Provider, _ refusal: String, _ description: String?
    ) async throws {
        let answer = try await provider.client(in: sandbox).redeem("c0ffee")
        #expect(answer.refusal == refusal)
        #expect(answer.json?["error_description"]?.string == description)
    }

    @Test(arguments: Sandbox.Provider.allCases) func `a code is good once`(_ provider: Sandbox.Provider) async throws {
        let client = try await provider.client(in: sandbox)
        let code = try await client.newCode()
        #expect(try await client.redeem(code).status == 200)
        #expect(try await client.redeem(code).refusal == "400 invalid_grant code: spent")
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `of fifty simultaneous exchanges of a code one succeeds`(_ provider: Sandbox.Provider) async throws {
        let client = try await provider.client(in: sandbox)
        let code = try await client.newCode()
        let statuses = try await concurrently(1...50) { _ in try await client.redeem(code).status }
        #expect(statuses.filter { $0 == 200 }.count == 1)
        #expect(statuses.filter { $0 == 400 }.count == 49)
    }

    @Test(.fixture(Sandbox.self), arguments: [(.apple, 300), (.google, 600)] as [(Sandbox.Provider, Int64)])
    func `a code lives for five minutes at Apple and for ten at Google`(
        _ provider: Sandbox.Provider, _ seconds: Int64
    ) async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let client = try await provider.client(in: sandbox)
        let codes = [try await client.newCode(), try await client.newCode()]
        try await sandbox.advanceClock(by: seconds - 1)
        #expect(try await client.redeem(codes[0]).status == 200)
        try await sandbox.advanceClock(by: 1)
        #expect(try await client.redeem(codes[1]).refusal == "400 invalid_grant code: expired")
    }

    @Test(arguments: [
        (Sandbox.Provider.apple, "400 invalid_grant code: foreign"),
        (.google, "401 unauthorized_client code: foreign"),
    ])
    func `a code belongs to its client, also within a team, and a refused one stays good`(
        _ provider: Sandbox.Provider, _ refusal: String
    ) async throws {
        let client = try await provider.client(in: sandbox)
        let code = try await client.newCode()
        #expect(try await client.other().redeem(code).refusal == refusal)
        #expect(try await client.redeem(code).status == 200)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `a code dies when the person withdraws before it is used`(_ provider: Sandbox.Provider) async throws {
        let client = try await provider.client(in: sandbox)
        let name = try await client.person()
        let code = try await client.code(of: name, .init())
        try await client.withdraw(name)
        #expect(try await client.redeem(code).refusal == "400 invalid_grant code: ended")
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `an exchange without a refresh token leaves none to revoke`(_ provider: Sandbox.Provider) async throws {
        let client = try await provider.client(in: sandbox)
        let name = try await client.person()
        let answer = try await client.redeem(client.code(of: name, .init(omitsRefreshToken: true)))
        #expect(answer.json?["refresh_token"] == nil)
        #expect(try await client.authorization(of: name)?.grants.isEmpty == true)
    }

    // MARK: Refresh and revocation

    @Test(arguments: [
        (Sandbox.Provider.apple, "invalid_grant refresh_token: unknown", "400 invalid_grant refresh_token: foreign"),
        (.google, "invalid_grant refresh_token: not one", "401 unauthorized_client refresh_token: foreign"),
    ])
    func `a token that is unknown, no refresh token or another client's is not refreshed`(
        _ provider: Sandbox.Provider, _ otherKind: String, _ foreign: String
    ) async throws {
        let client = try await provider.client(in: sandbox)
        #expect(try await client.refresh("r00d").refusal == "400 invalid_grant refresh_token: unknown")
        let answer = try await client.redeem(client.newCode())
        #expect(try await client.refresh(answer.text("access_token")).refusal == "400 " + otherKind)
        #expect(try await client.other().refresh(answer.text("refresh_token")).refusal == foreign)
    }

    @Test(arguments: Sandbox.Provider.allCases)
    func `a revocation leaves other clients and other persons alone`(_ provider: Sandbox.Provider) async throws {
        let client = try await provider.client(in: sandbox)
        let name = try await client.person()
        let other = try await client.other()
        let token = try await other.refreshToken(name)
        let otherPersonsToken = try await client.refreshToken()
        _ = try await client.end(client.refreshToken(name))
        #expect(try await other.refresh(token).status == 200)
        #expect(try await client.refresh(otherPersonsToken).status == 200)
    }

    @Test(
        .fixture(Sandbox.self),
        arguments: [
            (.apple, 3600, "200 - -"), (.google, 3599, "400 invalid_token Token expired or revoked"),
        ] as [(Sandbox.Provider, Int64, String)])
    func `an access token that is over ends nothing`(
        _ provider: Sandbox.Provider, _ lifetime: Int64, _ refusal: String
    ) async throws {
        try await sandbox.setClock("2026-01-01T12:00:00Z")
        let client = try await provider.client(in: sandbox)
        let answer = try await client.redeem(client.newCode())
        try await sandbox.advanceClock(by: lifetime)
        #expect(try await client.end(answer.text("access_token")).refusal == refusal)
        #expect(try await client.refresh(answer.text("refresh_token")).status == 200)
    }
}
