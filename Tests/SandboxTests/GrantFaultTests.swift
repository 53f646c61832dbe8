import Curl
import Foundation
import JOSE
import JSON
import TestSupport
import Testing

/// Faults where the lost answer matters: a code that is spent, a token that is dead.
@Suite(.fixture(Sandbox.self), .timeLimit(.minutes(3))) struct GrantFaultTests {
    /// The failure of an exchange on a connection of its own, which libcurl cannot repeat by itself.
    ///
    /// - Parameter givenUp: when the exchange is given up, if it is to be: once it has reached the sandbox, and had or not
    ///   had its effect there.
    private func failure(
        _ code: String, givenUp isReached: (() async throws -> Bool)? = nil
    ) async throws -> FetchError.Code? {
        let fields = [
            ("client_id", client.id), ("client_secret", try await client.secret()),
            ("grant_type", "authorization_code"), ("code", code),
        ]
        let request = FetchRequest.form(url: sandbox.appleTokenURL, fields: fields).uncontended
        let exchange = Task { () -> FetchError.Code? in
            do throws(FetchError) {
                _ = try await CurlFetcher().fetch(request)
                return nil
            } catch { return error.code }
        }
        defer { exchange.cancel() }
        if let isReached {
            while try await !isReached() { try await pollingPause() }
            exchange.cancel()
        }
        return await exchange.value
    }

    private func refreshTokens() async throws -> Int {
        try #require(try await client.authorization(of: "kim")).grants.count
    }

    private var sandbox: Sandbox { .current }
    private let client: AppleClient

    init() async throws {
        client = try await AppleClient.register(in: .current)
        try await client.sandbox.addApplePerson("kim")
    }

    @Test(arguments: [
        (Sandbox.Fault.lost, false, FetchError.Code.closed), (.reset, true, .closed), (.hang, true, .cancelled),
        (.delay(milliseconds: 60_000), true, .cancelled), (.truncated, false, .closed), (.resetMidBody, false, .closed),
    ])
    func `the code is spent and the answer is lost`(
        _ fault: Sandbox.Fault, _ afterwards: Bool, _ seen: FetchError.Code
    ) async throws {
        let code = try await client.code("kim")
        try await sandbox.fail("/apple/auth/token", fault, times: 1, afterwards: afterwards)
        let isSpent = { try await refreshTokens() == 1 }
        #expect(try await failure(code, givenUp: seen == .cancelled ? isSpent : nil) == seen)
        #expect(try await client.exchange(code).refusal == "400 invalid_grant code: spent")
        #expect(try await refreshTokens() == 1)
    }

    @Test(arguments: [(Sandbox.Fault.reset, FetchError.Code.closed), (.hang, .cancelled)])
    func `the code is not spent although no answer came`(_ fault: Sandbox.Fault, _ seen: FetchError.Code) async throws {
        let code = try await client.code("kim")
        try await sandbox.fail("/apple/auth/token", fault, times: 1)
        let isHeld = { try await sandbox.history(path: "/apple/auth/token").contains { $0.fault != nil } }
        #expect(try await failure(code, givenUp: seen == .cancelled ? isHeld : nil) == seen)
        #expect(try await client.exchange(code).status == 200)
    }

    @Test(
        arguments: [
            Sandbox.Fault.status(500), .status(429, headers: [("Retry-After", "9")]), .html, .oversized(bytes: 60_000),
            .redirect(to: "http://127.0.0.1:9/"),
        ], [true, false])
    func `another answer takes the place of the real one, which was given or not`(
        _ fault: Sandbox.Fault, _ afterwards: Bool
    ) async throws {
        let code = try await client.code("kim")
        try await sandbox.fail("/apple/auth/token", fault, times: 1, afterwards: afterwards)
        #expect(try await client.exchange(code).json?["access_token"] == nil)
        #expect(try await refreshTokens() == (afterwards ? 1 : 0))
        #expect(try await client.exchange(code).status == (afterwards ? 400 : 200))
    }

    @Test func `a revocation whose answer is lost has ended the token all the same`() async throws {
        let token = try await client.refreshToken("kim")
        try await sandbox.fail("/apple/auth/revoke", .status(503), times: 1, afterwards: true)
        #expect(try await client.revoke(token).status == 503)
        #expect(try await client.authorization(of: "kim")?.grants.map(\.endedBy) == [.revoke])
    }

    @Test func `afterwards has no meaning for an effect that passes on the real answer`() async throws {
        for effect in ["truncated", "torn", "slow", "lost"] {
            let body = #"{"path":"/apple/*","effect":"\#(effect)","afterwards":true}"#
            let refusal = try await sandbox.refusal("faults", body)
            #expect(refusal.status == 400)
            #expect(refusal.message == "afterwards has no meaning for the effect \(effect).")
        }
    }

    @Test func `the history has the reason of a refusal, and no secret of the request`() async throws {
        let code = try await client.code("kim")
        let secret = try await client.secret()
        let answer = try await client.exchange(code, secret: secret)
        _ = try await client.revoke(answer.text("refresh_token"))
        _ = try await client.exchange(code)
        let requests = try await sandbox.history(path: "/apple/auth/*")
        #expect(requests.map(\.reason) == [nil, nil, "code: spent"])
        #expect(requests[0].field("client_secret") == Sandbox.fingerprint(secret))
        #expect(requests[1].field("token") == Sandbox.fingerprint(try answer.text("refresh_token")))
        let raw = String(decoding: try await sandbox.get("/control/history").body, as: UTF8.self)
        for canary in [code, secret, try answer.text("refresh_token"), try answer.text("access_token")] {
            #expect(!raw.contains(canary))
        }
        let listing = try await sandbox.get("/control/apple/authorizations").body
        #expect(!String(decoding: listing, as: UTF8.self).contains(try answer.text("refresh_token")))
    }
}
