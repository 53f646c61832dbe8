import JSON
import TestSupport
import Testing

@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct MainJobTests: WorldSuite {
    @Test func `a person signs in with Apple, creates, binds Google, refreshes and signs out`() async throws {
        try await world.newPerson("kim")

        let unlinked = try await world.signIn("kim", with: .apple).expecting(200)
        #expect(try unlinked.text("status") == "linkRequired")
        #expect(unlinked.texts("choices") == ["bind", "create"])
        #expect(try unlinked.text("identity.email") == "kim@example.com")

        let ticket = try unlinked.linkTicket()
        let created = try await service.post(
            "/v1/links/create", ["linkTicket": .string(ticket), "displayName": "Kim Example"])
        #expect(created.status == 201)
        #expect(try created.text("status") == "signedIn")
        #expect(try created.text("account.displayName") == "Kim Example")
        #expect(created.json?["account"]?["emailVerified"]?.bool == true)
        let account = try created.accountID()

        try await service.create(ticket).expectRefusal(410, "link_ticket_expired")

        let known = try await world.signIn("kim", with: .apple)
        #expect(try known.text("status") == "signedIn")
        #expect(try known.accountID() == account)

        let other = try await world.signIn("kim", with: .google)
        #expect(try other.text("status") == "linkRequired")
        #expect(other.json?["choices"]?.elements?.compactMap(\.string) == ["bind", "create"])
        let access = try created.bearer()
        let bound = try await service.bind(try other.linkTicket(), bearer: access).expecting(200)
        #expect(try bound.accountID() == account)
        let identities = bound.json?["account"]?["identities"]?.elements ?? []
        #expect(identities.compactMap { $0["provider"]?.string }.sorted() == ["apple", "google"])
        let byGoogle = try await world.signIn("kim", with: .google)
        #expect(try byGoogle.accountID() == account)

        let refreshed = try await service.refresh(try created.refreshToken()).expecting(200)
        #expect(try refreshed.text("sessionId") == (try created.sessionID()))
        let fresh = try refreshed.text("accessToken")
        let read = try await service.get("/v1/account", bearer: fresh).expecting(200)
        #expect(try read.text("accountId") == account)

        try await service.signOut("all", bearer: fresh).expecting(204)
        for token in [fresh, access, try byGoogle.bearer()] {
            let gone = try await service.get("/v1/account", bearer: token)
            gone.expectRefusal(401, "invalid_session")
            #expect(gone.header("WWW-Authenticate") == "Bearer")
        }
        try await service.refresh(try refreshed.text("refreshToken")).expectRefusal(401, "invalid_refresh_token")
    }

    @Test func `without a mail server there are no codes, and all else works`() async throws {
        let answer = try await service.post("/v1/email-codes", ["email": "lee@example.com", "purpose": "signIn"])
        answer.expectRefusal(503, "temporarily_unavailable")
        try await world.newPerson("lee")
        #expect(try await world.signIn("lee", with: .apple).status == 200)
    }
}
