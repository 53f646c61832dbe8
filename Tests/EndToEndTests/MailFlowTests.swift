import JSON
import Postgres
import TestSupport
import Testing

/// An identity that takes the place of another one, and the mails about it.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct MailFlowTests: WorldSuite {
    @Test func `an identity is replaced over HTTP, and every address is notified once`() async throws {
        try await world.newPerson("replacer", email: "replacer-old@example.com")
        let ticket = try await world.signIn("replacer", with: .google).linkTicket()
        let created = try await service.create(ticket)
        let bearer = try created.bearer()
        let other = try await world.ticket("replacer-new")
        let members: TokenMint.Members = ["linkTicket": .string(other)]

        let conflict = try await service.post("/v1/links/bind", members, bearer: bearer)
        conflict.expectRefusal(409, "provider_already_linked")
        #expect(conflict.json?["existing"]?["email"]?.string == "r***@example.com")
        #expect(conflict.json?["existing"]?["linkedAt"]?.string?.hasSuffix("Z") == true)
        #expect(conflict.texts("resolutions") == ["keep", "replace"])
        for resolution in ["keep", "Replace", ""] {
            let refused = try await service.post(
                "/v1/links/bind", members.with("onConflict", .string(resolution)), bearer: bearer)
            #expect(refused.status == 400, "\(resolution)")
        }
        try await service.post("/v1/links/bind", members.with("onConflict", "replace"), bearer: bearer).expecting(200)
        // The old identity opened the proving session.
        #expect(try await service.get("/v1/account", bearer: bearer).code == "invalid_session")
        for email in ["replacer-old@example.com", "replacer-new@example.com"] {
            _ = try await world.mail(about: "another Google account", to: email)
        }
        let gone = try await world.signIn("replacer", with: .google)
        #expect(try gone.text("status") == "linkRequired")
        // The old address was mailed when the account was made, too.
        try await eventually("all of the mail") {
            let waiting = try await world.count("SELECT count(*) FROM outbox WHERE recipient LIKE 'replacer-%'")
            return try waiting == 0 && world.mailbox("replacer-old@example.com").count >= 2
        }
        #expect(try world.mailbox("replacer-old@example.com").count == 2)
        #expect(try world.mailbox("replacer-new@example.com").count == 1)
    }
}
