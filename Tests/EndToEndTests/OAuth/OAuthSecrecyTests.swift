import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// What a client and Google's servers send to `/oauth`, at the most verbose log level.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct OAuthSecrecyTests: WorldSuite {
    @Test(.oauthWorld(["log.level": "trace"]))
    func `log, metrics and trail hold no code, token, assertion, verifier or secret of a client`() async throws {
        var canaries = Canaries()
        let email = canaries.add("address", "canary-linked@gmail.com")
        let browser = try await world.signedInBrowser("canary-linked")
        let client = try await world.linkingClient(withPKCE: true)
        _ = canaries.add("verifier", try #require(client.challenge).verifier)
        var other = try await world.linkingClient()
        for client in [client, other] {
            _ = canaries.add("secret", client.secret)
            let pair = "\(FormEncoding.encode(client.id)):\(FormEncoding.encode(client.secret))"
            _ = canaries.add("Basic header", Data(pair.utf8).base64EncodedString())
        }

        // By the browser, and on with what that has brought.
        let state = canaries.add("state", "canary-state")
        let code = try await world.oauthCode(client, browser, ["state": state, "login_hint": email])
        _ = canaries.add("code", code)
        let tokens = try LinkedTokens(try await world.redeem(code, client, basic: true))
        let access = canaries.add("access token", tokens.access)
        let refresh = canaries.add("refresh token", tokens.refresh)
        let refreshed = try await world.refreshed(refresh, client)
        _ = canaries.add("next access token", try refreshed.text("access_token"))
        #expect(try await world.userinfo(access).status == 200)
        #expect(try await world.introspected(access, client).json?["active"]?.bool == true)
        let unknown = canaries.add("token that is introspected", "canary-introspected-token")
        #expect(try await world.introspected(unknown, client).json?["active"]?.bool == false)
        let bearer = canaries.add("unknown bearer", "canary-bearer")
        #expect(try await world.userinfo(bearer).status == 401)

        // By an assertion, taken and refused.
        let claims = #"{"note":"\#(canaries.add("claim", "canary-claim-text"))"}"#
        for (signature, status) in [(Sandbox.TokenChanges.Signature.valid, 200), (.forged, 400)] {
            let token = try await world.sandbox.authorizeGoogle(
                "canary-linked", clientID: OAuthWorld.audience, token: .init(claims: claims, signature: signature)
            ).idToken
            let assertion = canaries.add(token: "assertion", token)
            let answer = try await world.oauth(
                "/oauth/token", other,
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("intent", "get"),
                    ("assertion", assertion),
                ], basic: true)
            #expect(answer.status == status, "\(answer.text)")
            guard status == 200 else { continue }
            let linked = try LinkedTokens(answer)
            _ = canaries.add("token by an assertion", linked.refresh)
        }

        // By App Flip.
        let flipper = canaries.add("other address", "canary-flip@gmail.com")
        try await world.newPerson("canary-flip", email: flipper)
        let device = try await world.newAccount("canary-flip", with: .google)
        _ = canaries.add(token: "bearer", device.bearer)
        let flip = try await world.service.post("/oauth/flip", other.flip, bearer: device.bearer)
        let flipped = canaries.add("flip code", try flip.text("code"))
        #expect(try await world.redeem(flipped, other, ["redirect_uri": OAuthWorld.flipURI]).status == 200)

        // What is refused, and the end.
        let wrong = canaries.add("wrong code", "canary-wrong-code")
        #expect(try await world.redeem(wrong, other).status == 400)
        #expect(try await world.refreshed(wrong, other).status == 400)
        #expect(try await world.oauth("/oauth/revoke", client, [("token", refresh)]).status == 200)
        other.secret = canaries.add("wrong secret", "canary-wrong-secret")
        let last = try await world.redeem(flipped, other, basic: true)
        #expect(last.status == 401)
        _ = try await world.service.logged(try #require(last.header("X-Request-Id")))

        #expect(canaries.found(in: world.service.log) == [])
        for path in ["/oauth/token", "/oauth/introspect", "/oauth/flip"] {
            #expect(world.service.log.contains(path), "\(path)")
        }
        #expect(canaries.found(in: try await world.service.privateGet("/metrics").text) == [])
        let trail = try await world.scratch.texts("SELECT row_to_json(e)::text FROM audit_events e")
        #expect(!trail.isEmpty)
        #expect(canaries.found(in: trail.joined(separator: "\n")) == [])
    }
}
