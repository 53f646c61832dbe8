import Foundation
import Testing

@testable import CountersignClient

@Suite struct SignInTests {
    private let account = Fixture.accountID

    @Test func `an account says what its person has to do about it`() async throws {
        let troubled = Fixture.account
            .replacingOccurrences(
                of: #""emailProof":"stated","#,
                with: """
                    "externalId":"user-17",
                    "emailTakenAt":"2026-11-20T03:04:05Z",
                    "emailReplacement":{"email":"n***@example.org","dueAt":"2026-11-22T03:04:05Z"},
                    """
            )
            .replacingOccurrences(
                of: #""authorization":"active""#,
                with: """
                    "authorization":"active","blocked":{"since":"2026-11-20T03:04:05Z","reason":"hijacking"},
                    "credentialChangeRequired":true
                    """)
        let answers = Locked([Fixture.account, troubled])
        let server = try ScriptedServer { _ in .json(200, answers.withLock { $0.removeFirst() }) }
        let client = server.client(FaultyStore(Fixture.document()))

        let well = try await client.account()
        #expect(well.emailTakenAt == nil && well.emailReplacement == nil)
        #expect(well.identities.allSatisfy { !$0.isBlocked && !$0.isCredentialChangeRequired })
        let account = try await client.account()
        #expect(account.emailTakenAt?.timeIntervalSince1970 == 1_795_143_845)
        #expect(account.emailReplacement?.maskedEmail == "n***@example.org")
        #expect(account.emailReplacement?.dueAt.timeIntervalSince1970 == 1_795_316_645)
        #expect(account.externalID == "user-17" && well.externalID == nil)
        #expect(account.identities.map(\.isBlocked) == [true])
        #expect(account.identities.map(\.isCredentialChangeRequired) == [true])
    }

    @Test func `Apple's credential becomes a stored session`() async throws {
        let (server, store, client) = try ScriptedServer.serving { _ in .json(200, Fixture.signedIn()) }
        #expect(await client.canAuthorize == false)
        let outcome = try await client.signIn(
            apple: AppleCredential(
                identityToken: Fixture.token(), authorizationCode: "code", nonce: "nonce",
                fullName: Fixture.name("Kim", "Example")))
        let account = try #require(outcome.account)
        #expect(account.id == Fixture.accountID && account.email == "kim@example.com" && account.isEmailVerified)
        #expect(account.emailProof == .stated && account.displayName == "Kim Example" && account.status == .active)
        #expect(account.createdAt.timeIntervalSince1970 == 1_795_233_520 && !account.hasPassword)
        let identity = try #require(account.identities.first)
        #expect(identity.provider == .apple && identity.subject == Fixture.subject && identity.authorization == .active)
        #expect(identity.isEmailDeliverable == true && identity.lastSignInAt != nil && !identity.isPrivateEmail)
        #expect(await client.canAuthorize)

        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.target == "/v1/sign-in/apple" && request["authorization"].isEmpty)
        #expect(request["content-type"] == ["application/json"] && request["user-agent"] == ["Countersign-Swift/1"])
        #expect(
            request.json == [
                "identityToken": .string(Fixture.token()), "authorizationCode": "code", "nonce": "nonce",
                "fullName": ["givenName": "Kim", "familyName": "Example"],
            ])
        let stored = try #require(try Fixture.stored(store.content).session)
        #expect(stored.accountID == Fixture.accountID && stored.refreshToken == Fixture.refresh(1))
        #expect(stored.accessExpiresAt == Timestamp.seconds(TestClock.start) + 900)
    }

    @Test func `of Google's credential what there is is sent, and nothing else`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn(identity: nil)) }
        let client = server.client()
        _ = try await client.signIn(google: GoogleCredential(idToken: "token", serverAuthCode: "4/0A", nonce: "n"))
        _ = try await client.signIn(google: GoogleCredential(serverAuthCode: "4/0A"))
        #expect(server.requests.map(\.target) == ["/v1/sign-in/google", "/v1/sign-in/google"])
        #expect(server.requests[0].json == ["idToken": "token", "serverAuthCode": "4/0A", "nonce": "n"])
        #expect(server.requests[1].json == ["serverAuthCode": "4/0A"])
    }

    @Test func `a code without a token says which client it is for`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn(identity: nil)) }
        let client = server.client()
        _ = try await client.signIn(apple: AppleCredential(authorizationCode: "code", clientID: "com.example.lamp"))
        _ = try await client.signIn(google: GoogleCredential(serverAuthCode: "4/0A", clientID: "1234.example"))
        #expect(
            server.requests.map(\.json) == [
                ["authorizationCode": "code", "clientId": "com.example.lamp"],
                ["serverAuthCode": "4/0A", "clientId": "1234.example"],
            ])
    }

    @Test func `an unknown identity becomes a ticket, and a session of before stays`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.linkRequired(choices: #"["bind","later","create"]"#))
        }
        let store = FaultyStore(Fixture.document())
        let client = server.client(store)
        let outcome = try await client.signIn(google: GoogleCredential(idToken: "token"))
        let ticket = try #require(outcome.ticket)
        #expect(ticket.choices == [.bind, .create] && ticket.provider == .apple && ticket.email == "kim@example.com")
        #expect(ticket.expiresAt.timeIntervalSince1970 == 1_795_234_120 && ticket.isEmailVerified)
        #expect(!ticket.isPrivateEmail && ticket.holder == nil)
        #expect(store.content == Fixture.document() && store.saves.isEmpty)
        #expect(await client.canAuthorize)
    }

    @Test func `password and mailed code sign in`() async throws {
        let server = try ScriptedServer { request in
            request.path == "/v1/email-codes" ? .json(202, "{}") : .json(200, Fixture.signedIn(identity: nil))
        }
        let client = server.client()
        #expect(try await client.signIn(email: "a+b@x.example", password: "pass word").id == account)
        try await client.requestSignInCode(to: "a+b@x.example")
        #expect(try await client.signIn(email: "a+b@x.example", code: "012345").account != nil)
        #expect(server.requests.map(\.target) == ["/v1/sign-in/password", "/v1/email-codes", "/v1/sign-in/email-code"])
        #expect(
            server.requests.map(\.json) == [
                ["email": "a+b@x.example", "password": "pass word"],
                ["email": "a+b@x.example", "purpose": "signIn"], ["email": "a+b@x.example", "code": "012345"],
            ])
    }

    @Test func `a nonce comes from the server`() async throws {
        let server = try ScriptedServer { _ in
            .json(201, #"{"nonce":"csn_abcdefghijklmnopqrstuvwxyz","expiresAt":"2026-11-21T04:10:00Z"}"#)
        }
        let nonce = try await server.client().makeNonce(for: .google)
        #expect(nonce.value == "csn_abcdefghijklmnopqrstuvwxyz")
        #expect(nonce.expiresAt == TestClock.start.addingTimeInterval(600))
        #expect(server.requests.first?.target == "/v1/nonces" && server.requests.first?.json == ["provider": "google"])
    }

    @Test func `Apple's name is kept over a restart until its person is signed in`() async throws {
        let answers = Locked([
            ScriptedServer.Reply.problem(503, "provider_unavailable"), .json(200, Fixture.linkRequired()),
            .json(200, Fixture.signedIn()), .json(200, Fixture.signedIn()),
        ])
        let server = try ScriptedServer { _ in answers.withLock { $0.removeFirst() } }
        let store = FaultyStore()
        let named = AppleCredential(identityToken: Fixture.token(), fullName: Fixture.name("Kim", nil))
        let bare = AppleCredential(identityToken: Fixture.token())
        await #expect(throws: SessionError.transient(retryAfter: nil)) {
            try await server.client(store).signIn(apple: named)
        }
        #expect(try Fixture.stored(store.content).appleNames.keys.sorted() == [Fixture.subject])
        // Another process: the name is in the store alone. It stays while the person has only a ticket.
        _ = try await server.client(store).signIn(apple: bare)
        _ = try await server.client(store).signIn(apple: bare)
        #expect(try Fixture.stored(store.content).appleNames.isEmpty)
        _ = try await server.client(store).signIn(apple: bare)
        let kim: JSONValue = ["givenName": "Kim"]
        #expect(server.requests.map { $0.json?["fullName"] } == [kim, kim, kim, nil])
    }

    @Test func `Apple's name is sent for nobody else, and a code alone has no name kept`() async throws {
        let (server, store, client) = try ScriptedServer.serving { _ in .problem(401, "invalid_token") }
        let refused = SessionError.refused(code: "invalid_token", status: 401)
        let name = Fixture.name("Kim", "Example")
        await #expect(throws: refused) {
            try await client.signIn(apple: AppleCredential(identityToken: Fixture.token("kim"), fullName: name))
        }
        await #expect(throws: refused) {
            try await client.signIn(apple: AppleCredential(identityToken: Fixture.token("sam")))
        }
        await #expect(throws: refused) {
            try await client.signIn(
                apple: AppleCredential(authorizationCode: "code", fullName: Fixture.name("Sam", nil)))
        }
        await #expect(throws: refused) { try await client.signIn(apple: AppleCredential(authorizationCode: "code")) }
        #expect(server.requests.map { $0.json?["fullName"] != nil } == [true, false, true, false])
        #expect(try Fixture.stored(store.content).appleNames.keys.sorted() == ["kim"])
    }

    @Test func `the name is forgotten when create or bind has signed its person in`() async throws {
        let server = try ScriptedServer { request in
            switch request.path {
            case "/v1/sign-in/apple": .json(200, Fixture.linkRequired())
            case "/v1/links/create": .json(201, Fixture.signedIn())
            default: .json(200, Fixture.signedIn())
            }
        }
        for isCreate in [true, false] {
            let store = FaultyStore()
            let client = server.client(store)
            let outcome = try await client.signIn(
                apple: AppleCredential(identityToken: Fixture.token(), fullName: Fixture.name("Kim", nil)))
            let ticket = try #require(outcome.ticket)
            #expect(try !Fixture.stored(store.content).appleNames.isEmpty)
            if isCreate {
                _ = try await client.create(ticket)
            } else {
                _ = try await client.bind(ticket, proof: .password(email: "a@x.example", password: "p"))
            }
            #expect(try Fixture.stored(store.content).appleNames.isEmpty)
        }
    }

    @Test(arguments: [
        Fixture.name(nil, nil), Fixture.name("", " "), Fixture.name("\n\u{1}", nil),
    ]) func `an empty name is as good as none`(_ name: PersonNameComponents) async throws {
        let server = try ScriptedServer { _ in .problem(401, "invalid_token") }
        let store = FaultyStore()
        await #expect(throws: SessionError.self) {
            try await server.client(store).signIn(
                apple: AppleCredential(identityToken: Fixture.token(), fullName: name))
        }
        #expect(server.requests.first?.json == ["identityToken": .string(Fixture.token())])
        #expect(store.content == nil)
    }

    @Test func `a name that the server would refuse is made one that it takes`() async throws {
        let server = try ScriptedServer { _ in .json(200, Fixture.signedIn()) }
        let long = String(repeating: "é", count: 600)
        _ = try await server.client().signIn(
            apple: AppleCredential(identityToken: Fixture.token(), fullName: Fixture.name("K\u{0}im\t", long)))
        let name = try #require(server.requests.first?.json?["fullName"]?.object)
        #expect(name["givenName"] == "Kim")
        #expect(name["familyName"]?.string == String(repeating: "é", count: 256))
    }

    @Test(arguments: [
        (400, "invalid_request"), (401, "invalid_token"), (403, "account_disabled"), (409, "email_taken"),
    ]) func `what the server refuses is refused, and a session of before stays`(
        _ status: Int, _ code: String
    ) async throws {
        let (server, store, client) = try ScriptedServer.serving(Fixture.document()) { _ in .problem(status, code) }
        await #expect(throws: SessionError.refused(code: code, status: status)) {
            try await client.signIn(google: GoogleCredential(idToken: "token"))
        }
        #expect(server.requests.count == 1 && store.content == Fixture.document())
    }

    @Test func `limits and failures of the server are transient, with its delay`() async throws {
        let answers = Locked([
            ScriptedServer.Reply.problem(429, "rate_limited", headers: ["Retry-After": "17"]),
            .problem(503, "provider_unavailable", headers: ["Retry-After": "5"]), .problem(500, "internal_error"),
            .json(502, "<html>"), .answer(302, "", headers: ["Location": "/login"]), .drop,
            .problem(429, "rate_limited", headers: ["Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"]),
            .problem(429, "rate_limited", headers: ["Retry-After": "-1"]),
        ])
        let server = try ScriptedServer { _ in answers.withLock { $0.removeFirst() } }
        let client = server.client()
        for seconds in [17, 5, nil, nil, nil, nil, nil, nil] {
            await #expect(throws: SessionError.transient(retryAfter: seconds)) {
                try await client.signIn(google: GoogleCredential(serverAuthCode: "code"))
            }
        }
        #expect(server.requests.count == 8)
    }

    @Test(arguments: [
        (200, "<html>Welcome to the hotel</html>"), (200, ""), (200, "[]"), (200, "{}"), (204, ""),
        (201, Fixture.signedIn()), (200, #"{"status":"later"}"#),
        (200, Fixture.signedIn(session: Fixture.session(1, expiresIn: #""900""#))),
        (200, Fixture.signedIn(session: Fixture.session(1, expiresIn: "0"))),
        (200, Fixture.signedIn(session: Fixture.session(1, expiresIn: "-5"))),
        (200, Fixture.signedIn(session: Fixture.session(1, expiresIn: "1e300"))),
        (200, Fixture.signedIn(session: Fixture.session(1, expiresIn: "9223372036854775807"))),
        (200, Fixture.signedIn(session: Fixture.session(1, expiresIn: "true"))),
        (200, Fixture.signedIn().replacingOccurrences(of: "access-1", with: #"access 1\r\nX: y"#)),
        (200, Fixture.signedIn().replacingOccurrences(of: "Bearer", with: "mac")),
        (200, Fixture.signedIn().replacingOccurrences(of: "2026-11-21T03:58:40Z", with: "yesterday")),
        (200, Fixture.linkRequired().replacingOccurrences(of: #""choices""#, with: #""selection""#)),
        (401, "<html>Log in to the network</html>"), (403, #"{"code":"<b>no</b>"}"#), (404, #"{"code":404}"#),
    ]) func `an answer that the protocol does not know is transient, and nothing is stored`(
        _ status: Int, _ body: String
    ) async throws {
        let server = try ScriptedServer { _ in .json(status, body) }
        let store = FaultyStore()
        await #expect(throws: SessionError.transient(retryAfter: nil)) {
            try await server.client(store).signIn(google: GoogleCredential(idToken: "token"))
        }
        #expect(store.content == nil && store.saves.isEmpty)
    }

    @Test func `a code is asked for with 202 alone`() async throws {
        let answers = Locked([
            ScriptedServer.Reply.json(200, "{}"), .json(202, "<html>"), .problem(400, "invalid_request"),
        ])
        let server = try ScriptedServer { _ in answers.withLock { $0.removeFirst() } }
        let client = server.client()
        for error in [
            SessionError.transient(retryAfter: nil), .transient(retryAfter: nil),
            .refused(code: "invalid_request", status: 400),
        ] { await #expect(throws: error) { try await client.requestSignInCode(to: "a@x.example") } }
    }

    @Test func `a sign-in that is given up stores nothing`() async throws {
        let gate = Gate()
        let server = try ScriptedServer(behind: gate) { _ in .json(200, Fixture.signedIn()) }
        let store = FaultyStore()
        let client = server.client(store)
        let signIn = Task { try await client.signIn(google: GoogleCredential(idToken: "token")) }
        await gate.reached()
        signIn.cancel()
        await #expect(throws: SessionError.cancelled) { try await signIn.value }
        gate.open()
        #expect(store.content == nil)
        #expect(await client.canAuthorize == false)
    }
}
