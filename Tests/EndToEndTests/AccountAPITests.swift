import JSON
import Postgres
import TestSupport
import Testing

/// The calls by which an owner changes an account, and what they refuse.
@Suite(.limitedConcurrency, .mailedWorld(), .timeLimit(.minutes(30))) struct AccountAPITests: WorldSuite {
    private func bearer(_ name: String) async throws -> String { try await world.newAccount(name).bearer() }

    /// Makes the authentication of the account's sessions this old; by default, too old.
    private func age(_ bearer: String, minutes: Int32 = 11) async throws {
        let id = try await service.get("/v1/account", bearer: bearer).text("accountId")
        try await world.age(sessionsOf: id, minutes: minutes)
    }

    // MARK: PATCH /v1/account

    @Test func `a name is changed, and nothing else can be`() async throws {
        let bearer = try await bearer("renamer")
        let renamed = try await service.send("PATCH", "/v1/account", ["displayName": "Kim"], bearer: bearer)
        #expect(renamed.status == 200)
        #expect(renamed.json?["displayName"]?.string == "Kim")
        let before = try await service.get("/v1/account", bearer: bearer).body
        #expect(try await service.send("PATCH", "/v1/account", [:], bearer: bearer).body.utf8.elementsEqual(before))
        let bodies: [TokenMint.Members] = [
            ["displayName": 1], ["displayName": ""], ["displayName": "\u{200B}"], ["displayName": "\u{3164}"],
            ["displayName": .string(String(repeating: "a", count: 1025))], ["displayName": "Kim", "role": "admin"],
            ["createdAt": .null], ["displayName": .null, "status": "disabled"], ["accountId": "x"],
            ["email": "ada@example.com"], ["emailVerified": true], ["hasPassword": false],
        ]
        for body in bodies {
            let refused = try await service.send("PATCH", "/v1/account", body, bearer: bearer)
            refused.expectRefusal(400, "invalid_request", "\(body.text)")
        }
        #expect(try await service.get("/v1/account", bearer: bearer).body == before)
    }

    @Test func `Google's name is a new account's, unless another is given, and one that was cleared stays so`()
        async throws
    {
        func token(_ person: String) async throws -> String {
            _ = try await world.sandbox.addGooglePerson(
                person, #"{"email":"\#(person)@example.com","givenName":"Kim","familyName":"Google"}"#)
            return try await world.googleToken(person)
        }
        let named = try await world.create(of: try await service.signInWithGoogle(try await token("called")))
        #expect(try named.text("account.displayName") == "Kim Google")
        let ticket = try await service.signInWithGoogle(try await token("recalled")).linkTicket()
        let renamed = try await service.post("/v1/links/create", ["linkTicket": .string(ticket), "displayName": "K."])
        #expect(try renamed.text("account.displayName") == "K.")

        let cleared = try await service.send("PATCH", "/v1/account", ["displayName": .null], bearer: try named.bearer())
        #expect(cleared.status == 200)
        let again = try await world.signIn("called", with: .google)
        #expect(try again.text("status") == "signedIn")
        #expect(again.json?["account"]?["displayName"] == nil)
    }

    // MARK: Password

    @Test func `a password is set with fresh authentication, and changed with the one that there is`() async throws {
        let bearer = try await bearer("setter")
        func put(_ members: TokenMint.Members) async throws -> RawAnswer {
            try await service.send("PUT", "/v1/account/password", members, bearer: bearer)
        }
        for (body, code) in [
            ([:], "invalid_request"), (["newPassword": .null], "invalid_request"),
            (["newPassword": "correct horse battery", "email": "x"], "invalid_request"),
            (["newPassword": "short"], "weak_password"), (["newPassword": "password"], "weak_password"),
            (["newPassword": .string(String(repeating: "ab", count: 1000))], "weak_password"),
        ] as [(TokenMint.Members, String)] {
            let refused = try await put(body).expecting(400)
            #expect(refused.code == code, "\(body.text)")
        }
        for (password, detail) in [
            ("short", "The password has less than 8 bytes."),
            (String(repeating: "ab", count: 1000), "The password has more than 1024 bytes."),
            ("password", "The password is one of those that are guessed first."),
        ] { #expect(try await put(["newPassword": .string(password)]).json?["detail"]?.string == detail) }
        try await age(bearer)
        try await put(["newPassword": "correct horse battery"]).expectRefusal(403, "reauthentication_required")
        try await age(bearer, minutes: 0)
        #expect(try await put(["newPassword": "correct horse battery"]).expecting(204).body.isEmpty)

        let missing = try await put(["newPassword": "another horse battery"]).expecting(400)
        #expect(missing.json?["errors"]?.elements?.first?["field"]?.string == "currentPassword")
        let wrong = try await put(["newPassword": "another horse battery", "currentPassword": "wrong password"])
        wrong.expectRefusal(401, "invalid_credentials")
        let changed = try await put(
            ["newPassword": "another horse battery", "currentPassword": "correct horse battery"])
        #expect(changed.status == 204)
        try await world.signIn("setter@example.com", password: "another horse battery").expecting(200)
    }

    // MARK: Email

    @Test func `an address is changed with fresh authentication, and shows as taken when it is proven`() async throws {
        // Google runs the holder's mailbox, so the address is proven.
        try await world.newPerson("holder", email: "holder@gmail.com")
        _ = try await world.create(of: try await world.signIn("holder", with: .google))
        let bearer = try await bearer("mover")
        for body in [[:], ["email": .null], ["email": "no address"], ["email": 1]] as [TokenMint.Members] {
            let refused = try await service.send("PUT", "/v1/account/email", body, bearer: bearer)
            refused.expectRefusal(400, "invalid_request")
        }
        let requested = try await service.send(
            "PUT", "/v1/account/email", ["email": "holder@gmail.com"], bearer: bearer)
        #expect(requested.status == 202)
        let code = try await world.code(1, mailedTo: "holder@gmail.com")
        let wrong = try await service.post("/v1/account/verify-email", ["code": "x"], bearer: bearer)
        wrong.expectRefusal(401, "invalid_credentials")
        let taken = try await service.verifyEmail(code, bearer: bearer)
        taken.expectRefusal(409, "email_taken")
        try await age(bearer)
        let stale = try await service.send("PUT", "/v1/account/email", ["email": "x@example.com"], bearer: bearer)
        stale.expectRefusal(403, "reauthentication_required")
    }

    // MARK: Identities

    @Test func `an identity is linked to the account that is signed in`() async throws {
        let bearer = try await bearer("linker")
        let token = try await world.googleToken("linker")
        let linked = try await service.linkGoogle(token, bearer: bearer).expecting(201)
        #expect(try linked.text("provider") == "google")
        #expect(try linked.text("authorization") == "none")
        let items = try await service.get("/v1/account/identities", bearer: bearer).items
        #expect(items.map { $0["provider"]?.string } == ["apple", "google"])
        #expect(items.last?["identityId"]?.string == (try linked.text("identityId")))

        try await service.linkGoogle(token, bearer: bearer).expectRefusal(409, "identity_already_linked")
        try await world.newPerson("linker-2")
        let second = try await service.linkGoogle(try await world.googleToken("linker-2"), bearer: bearer)
        second.expectRefusal(409, "provider_already_linked")
        #expect(second.json?["existing"]?["email"]?.string == "l***@example.com")
        // Only a bind resolves a conflict.
        #expect(second.json?["resolutions"] == nil)
        let replacing = try await service.post(
            "/v1/account/identities/google",
            ["idToken": .string(try await world.googleToken("linker-2")), "onConflict": "replace"], bearer: bearer)
        #expect(replacing.json?.fieldErrors == ["onConflict unknown"])

        let rejected = try await service.post("/v1/account/identities/google", ["idToken": "a.b.c"], bearer: bearer)
        rejected.expectRefusal(401, "invalid_token")
        let bodies: [TokenMint.Members] = [
            [:], ["identityToken": .string(token)], ["idToken": .null], ["idToken": .string(token), "sub": "x"],
        ]
        for body in bodies {
            try await service.post("/v1/account/identities/google", body, bearer: bearer).expecting(400)
        }
        for provider in ["facebook", "Google", "%67oogle", "main"] {
            let refused = try await service.post(
                "/v1/account/identities/\(provider)", ["idToken": .string(token)], bearer: bearer)
            #expect(refused.status == 404, "\(provider)")
        }
        try await age(bearer)
        try await service.linkGoogle(token, bearer: bearer).expectRefusal(403, "reauthentication_required")
    }

    // MARK: Codes

    @Test func `what a code can't be asked for is refused`() async throws {
        let ticket = try await world.ticket("asker")
        let bodies: [TokenMint.Members] = [
            [:], ["email": "a@example.com"], ["purpose": "signIn"], ["email": "a@example.com", "purpose": "login"],
            ["email": "a@example.com", "purpose": "SignIn"], ["email": "a@example.com", "purpose": .null],
            ["email": "no address", "purpose": "signIn"], ["email": .null, "purpose": "signIn"],
            ["email": "a@example.com\r\nBcc: b@example.com", "purpose": "signIn"],
            ["email": "a@example.com", "purpose": "bind"],
            ["email": "a@example.com", "purpose": "signIn", "linkTicket": .string(ticket)],
            ["email": "a@example.com", "purpose": "resetPassword", "linkTicket": .string(ticket)],
            ["email": "a@example.com", "purpose": "verifyEmail", "linkTicket": .string(ticket)],
            ["email": "a@example.com", "purpose": "signIn", "accountId": "x"],
            ["email": "a@example.com", "purpose": "register"],
        ]
        for body in bodies {
            try await service.post("/v1/email-codes", body).expectRefusal(400, "invalid_request", "\(body.text)")
        }
        let altered = (ticket.hasPrefix("A") ? "B" : "A") + ticket.dropFirst()
        for ticket in ["", "invented", altered, String(repeating: "A", count: 1025)] {
            let refused = try await world.askForCode("bind", "a@example.com", ticket: ticket)
            refused.expectRefusal(410, "link_ticket_expired", "\(ticket)")
        }
        #expect(try await world.count("SELECT count(*) FROM mailed_codes WHERE email = 'a@example.com'") == 0)
    }

    @Test func `a bind has one proof`() async throws {
        let bearer = try await bearer("prover")
        let ticket = try await world.ticket("prover-google", email: "prover-google@gmail.com")
        let bodies: [(TokenMint.Members, String?)] = [
            (["email": "a@example.com"], nil), (["password": "correct horse"], nil), (["emailCode": "123456"], nil),
            (["email": "a@example.com", "password": "correct horse", "emailCode": "123456"], nil),
            (["email": "a@example.com", "password": .null, "emailCode": "123456"], nil),
            (["email": "a@example.com", "emailCode": .null], nil),
            (["email": "prover@example.com", "password": "correct horse"], bearer),
            (["email": "prover@example.com", "emailCode": "123456"], bearer), (["emailCode": "123456"], bearer),
        ]
        for (members, bearer) in bodies {
            let body = members.with("linkTicket", .string(ticket))
            let refused = try await service.post("/v1/links/bind", body, bearer: bearer)
            refused.expectRefusal(400, "invalid_request", "\(body.text)")
        }
        let unproven = try await service.post("/v1/links/bind", ["linkTicket": .string(ticket)]).expecting(400)
        #expect(unproven.json?.fieldErrors == ["password required"])
        for way in ["a session in Authorization", "email and password", "email and emailCode"] {
            #expect(try unproven.text("detail").contains(way))
        }
        let beside = try await service.post(
            "/v1/links/bind",
            [
                "linkTicket": .string(ticket), "email": "prover@example.com", "password": "correct horse",
                "emailCode": "123456",
            ], bearer: bearer)
        #expect(
            beside.json?.fieldErrors.sorted() == ["email not_allowed", "emailCode not_allowed", "password not_allowed"])
        try await service.bind(ticket, bearer: bearer).expecting(200)
    }

    @Test
    func `beside a header of another scheme the body proves, and one that can't be read is no session`() async throws {
        let owner = try await bearer("basic")
        try await service.setPassword(bearer: owner)
        let ticket = try await world.ticket("basic-google", email: "basic-google@gmail.com")
        let members: TokenMint.Members = [
            "linkTicket": .string(ticket), "email": "basic@example.com", "password": "correct horse battery",
        ]
        for field in ["Bearer", "Bearer a b", "bearer a,b"] {
            let refused = try await service.post("/v1/links/bind", members, headers: [("Authorization", field)])
            refused.expectRefusal(401, "invalid_session", "\(field)")
        }
        try await service.post("/v1/links/bind", members, headers: [("Authorization", "Basic eDp5")]).expecting(200)
    }
}
