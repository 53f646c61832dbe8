import HTTPServer
import JSON
import TestSupport
import Testing

@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct MainJobTests: WorldSuite {
    @Test func `a person signs in with Apple, creates, binds Google, refreshes and signs out`() async throws {
        let service = world.service
        try await world.newPerson("kim")

        let unlinked = try await service.signInWithApple(try await world.appleToken("kim"))
        #expect(unlinked.status == 200)
        #expect(try unlinked.text("status") == "linkRequired")
        #expect(unlinked.texts("choices") == ["bind", "create"])
        #expect(try unlinked.text("identity.email") == "kim@example.com")

        let ticket = try unlinked.text("linkTicket")
        let created = try await service.post(
            "/v1/links/create", ["linkTicket": .string(ticket), "displayName": "Kim Example"])
        #expect(created.status == 201)
        #expect(try created.text("status") == "signedIn")
        #expect(try created.text("account.displayName") == "Kim Example")
        #expect(created.json?["account"]?["emailVerified"]?.bool == true)
        let account = try created.text("account.accountId")

        let again = try await service.post("/v1/links/create", ["linkTicket": .string(ticket)])
        again.expectRefusal(410, "link_ticket_expired")

        let known = try await service.signInWithApple(try await world.appleToken("kim"))
        #expect(try known.text("status") == "signedIn")
        #expect(try known.text("account.accountId") == account)

        let other = try await service.signInWithGoogle(try await world.googleToken("kim"))
        #expect(try other.text("status") == "linkRequired")
        #expect(other.json?["choices"]?.elements?.compactMap(\.string) == ["bind", "create"])
        let access = try created.text("session.accessToken")
        let bound = try await service.post(
            "/v1/links/bind", ["linkTicket": .string(try other.text("linkTicket"))], bearer: access)
        #expect(bound.status == 200)
        #expect(try bound.text("account.accountId") == account)
        let identities = bound.json?["account"]?["identities"]?.elements ?? []
        #expect(identities.compactMap { $0["provider"]?.string }.sorted() == ["apple", "google"])
        let byGoogle = try await service.signInWithGoogle(try await world.googleToken("kim"))
        #expect(try byGoogle.text("account.accountId") == account)

        let refreshed = try await service.refresh(try created.text("session.refreshToken"))
        #expect(refreshed.status == 200)
        #expect(try refreshed.text("sessionId") == (try created.text("session.sessionId")))
        let fresh = try refreshed.text("accessToken")
        let read = try await service.get("/v1/account", bearer: fresh)
        #expect(read.status == 200)
        #expect(try read.text("accountId") == account)

        let out = try await service.post("/v1/sessions/revoke", ["scope": "all"], bearer: fresh)
        #expect(out.status == 204)
        for token in [fresh, access, try byGoogle.text("session.accessToken")] {
            let gone = try await service.get("/v1/account", bearer: token)
            gone.expectRefusal(401, "invalid_session")
            #expect(gone.header("WWW-Authenticate") == "Bearer")
        }
        let late = try await service.refresh(try refreshed.text("refreshToken"))
        late.expectRefusal(401, "invalid_refresh_token")
    }

    @Test func `without a mail server there are no codes, and all else works`() async throws {
        let answer = try await world.service.post("/v1/email-codes", ["email": "lee@example.com", "purpose": "signIn"])
        answer.expectRefusal(503, "temporarily_unavailable")
        try await world.newPerson("lee")
        #expect(try await world.service.signInWithApple(try await world.appleToken("lee")).status == 200)
    }
}
