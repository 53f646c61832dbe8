import JSON
import Postgres
import TestSupport
import Testing

/// A person's use of codes, from the request through a mail server and back.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct MailFlowTests: WorldSuite {
    @Test
    func `a person registers, verifies the address, signs in, binds, resets the password and changes the address`()
        async throws
    {
        let (old, new) = ("walker@example.com", "walker@new.example")
        let registered = try await world.register(old).expecting(201)
        #expect(registered.json?["account"]?["emailVerified"]?.bool == false)
        let id = try registered.accountID()
        let first = try registered.bearer()

        // Verification of the address.
        let verify = try await world.mailedCode("verifyEmail", to: old)
        #expect(try await service.verifyEmail(verify, bearer: first).expecting(204).body.isEmpty)
        #expect(try await service.get("/v1/account", bearer: first).json?["emailVerified"]?.bool == true)

        // A session by a code.
        let code = try await world.mailedCode("signIn", to: old)
        let members: TokenMint.Members = [
            "email": .string("WALKER@example.com"), "code": .string(code),
            "device": .raw(#"{"name":"Kim's tablet","platform":"android"}"#),
        ]
        let signedIn = try await service.post("/v1/sign-in/email-code", members).expecting(200)
        #expect(signedIn.json?.members?.map(\.name) == ["status", "session", "account"])
        #expect(try signedIn.accountID() == id)
        #expect(try await service.post("/v1/sign-in/email-code", members).code == "invalid_credentials")
        let sessions = try await service.get("/v1/sessions", bearer: first).items
        // The session that asks is the first one.
        #expect(sessions.map { $0["amr"]?.elements?.compactMap(\.string) } == [["pwd"], ["otp"]])
        #expect(sessions.last?["device"]?["name"]?.string == "Kim's tablet")

        // An identity by a code.
        let ticket = try await world.ticket("walker", email: "walker@gmail.com")
        let bind = try await world.mailedCode("bind", to: old, ticket: ticket)
        let bound = try await service.post(
            "/v1/links/bind", ["linkTicket": .string(ticket), "email": .string(old), "emailCode": .string(bind)])
        #expect(bound.status == 200)
        #expect(try bound.accountID() == id)
        #expect(try bound.text("identity.provider") == "google")
        let linked = try await world.mail(4, to: old)
        #expect(linked.header("Subject")?.contains("Google was linked") == true)

        // Another password, by a code; every session ends.
        let reset = try await world.mailedCode("resetPassword", to: old)
        let answer = try await service.post(
            "/v1/accounts/password-reset",
            ["email": .string(old), "code": .string(reset), "newPassword": "another horse battery"])
        #expect(answer.status == 204)
        for session in [first, try signedIn.bearer(), try bound.bearer()] {
            #expect(try await service.get("/v1/account", bearer: session).code == "invalid_session")
        }
        let again = try await world.signIn(old, password: "another horse battery")
        let bearer = try again.bearer()

        // Another address; both are notified.
        let before = try world.mailbox(old).count
        let requested = try await service.send("PUT", "/v1/account/email", ["email": .string(new)], bearer: bearer)
        #expect(requested.status == 202)
        #expect(requested.body == "{}")
        let change = try World.code(in: try await world.mail(1, to: new))
        #expect(try await service.get("/v1/account", bearer: bearer).text("email") == old)
        try await service.verifyEmail(change, bearer: bearer).expecting(204)
        #expect(try await service.get("/v1/account", bearer: bearer).text("email") == new)
        let subjects = try [await world.mail(before + 1, to: old), await world.mail(before + 2, to: old)]
            .compactMap { $0.header("Subject") }
        #expect(subjects.contains { $0.contains("was changed") })
        #expect(try await world.signIn("walker", with: .google).status == 200)
    }

    @Test func `while a change of address is under way the one of before can still be proven`() async throws {
        let (old, new) = ("settler@example.com", "settler@new.example")
        let bearer = try await world.register(old).bearer()
        try await service.send("PUT", "/v1/account/email", ["email": .string(new)], bearer: bearer).expecting(202)
        try await world.verify(old, bearer: bearer)
        let proven = try await service.get("/v1/account", bearer: bearer)
        #expect(try proven.text("email") == old)
        #expect(try proven.text("emailProof") == "proven")

        let code = try await world.code(1, mailedTo: new)
        try await service.verifyEmail(code, bearer: bearer).expecting(204)
        #expect(try await service.get("/v1/account", bearer: bearer).text("email") == new)
    }

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
