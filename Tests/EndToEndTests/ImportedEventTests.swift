import Postgres
import TestSupport
import Testing

/// What a provider reports of a person whom an import brings afterwards.
@Suite(.limitedConcurrency, .fixture(EventWorld.self), .timeLimit(.minutes(30))) struct ImportedEventTests {
    var world: EventWorld { .current }

    @Test func `a token from before a withdrawal signs nobody in once the command has brought its person`() async throws
    {
        let subject = "000123.0123456789abcdef0123456789abcdef.0456"
        let stolen = try EventWorld.signed(EventWorld.appleClaims(subject))
        let event = try EventWorld.signed(EventWorld.appleEvent("consent-revoked", of: subject, id: "e1"))
        #expect(try await world.service.deliverAppleEvent(event).status == 200)
        try await eventually("the end of the event") {
            try await world.count("SELECT count(*) FROM provider_events WHERE status = 'unknown_subject'") == 1
        }
        let row = #"{"externalId":"old/1","identities":[{"provider":"apple","subject":"\#(subject)"}]}"#
        let run = try await ImportedPersonTests.import("moved", [row], into: world.scratch)
        #expect(run.status == 0, "\(run.error)")
        let refused = try await world.service.signInWithApple(stolen)
        #expect(refused.status == 401 && refused.code == "invalid_token", "\(refused)")
        let own = try await world.service.signInWithApple(
            EventWorld.signed(EventWorld.appleClaims(subject, EventWorld.signedInNow)))
        #expect(try own.text("status") == "signedIn")
        #expect(try own.text("account.externalId") == "old/1")
    }
}
