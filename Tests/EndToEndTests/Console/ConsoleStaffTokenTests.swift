import Postgres
import TestSupport
import Testing

/// Google's token for a member of the staff, with one fault each.
@Suite(.limitedConcurrency, .staffWorld(), .serialized, .timeLimit(.minutes(30)))
struct ConsoleStaffTokenTests: WorldSuite {
    @Test(arguments: [
        (Sandbox.TokenChanges(claims: #"{"nonce":"x"}"#), "nonce_mismatch"),
        (.init(withoutClaims: ["nonce"]), "nonce_missing"),
        (.init(claims: #"{"iss":"https://evil.example"}"#), "issuer_rejected"),
        (.init(claims: #"{"aud":"other"}"#), "audience_rejected"),
        (.init(claims: #"{"azp":"other"}"#), "party_rejected"), (.init(signature: .forged), "signature_mismatch"),
    ]) func `any fault of Google's token opens no console`(token: Sandbox.TokenChanges, reason: String) async throws {
        _ = try await world.sandbox.addGooglePerson(
            "google-kim", #"{"email":"kim@lamp.example","hostedDomain":"lamp.example"}"#)
        try await world.sandbox.alterNext(.google, exchange: .init(token: token))
        let visit = ConsoleVisit(world)
        let page = try await StaffWorld.signIn("google-kim", visit)
        #expect(page.status == 401 && page.isSignIn, "\(page.answer.body)")
        #expect(page.notice == "This Google account may not use the console.")
        try await eventually("the refusal") {
            try await world.count(
                """
                SELECT COALESCE(sum(occurrences), 0)::bigint FROM audit_events
                WHERE type = 'console_refused' AND reason = \(reason)
                """) == 1
        }
        #expect(try await visit.open("/console/").isSignIn)
        #expect(try await StaffWorld.signIn("google-kim", visit).status == 200)
    }
}
