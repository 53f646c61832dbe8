import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct SecretsTests {
    /// Sends what a person, a phone, a provider, an operator or an attacker could send, at the most verbose log level.
    @Test func `nothing secret or personal that was sent, issued or configured is logged`() async throws {
        var canaries = Canaries()
        let settings = [
            "log.level": "trace",
            "google.serverClientSecret": canaries.add("client secret", "canary-client-secret"),
            // No server listens there: each mail fails, and is logged.
            "mail.smtpUrl": "smtp://lamp:\(canaries.add("mail password", "canary-mail-password"))@127.0.0.1:1",
            "mail.from": "lamp@example.com",
        ]
        let keyRing = try String(contentsOfFile: Countersign.keyRingPath.get(), encoding: .utf8)
        _ = canaries.add("key ring", try #require(keyRing.split(whereSeparator: \.isWhitespace).last.map(String.init)))
        let databasePassword = canaries.add("database password", "canary-database-password")

        try await ScratchDatabase.withMigrated { scratch in
            try await Sandbox.run { sandbox in
                try await World.registerClients(at: sandbox)
                let url = scratch.url + (scratch.url.contains("?") ? "&" : "?") + "password=\(databasePassword)"
                let all = try World.settings(scratch, sandbox).merging(settings) { _, new in new }
                    .merging(["postgres.url": url]) { _, new in new }
                let service = try await Countersign.start(all)
                let world = World(service: service, sandbox: sandbox, scratch: scratch)
                let refusals: [Answer]
                let arguments: String
                do {
                    try await useAccount(world, &canaries)
                    try await administer(world, &canaries)
                    refusals = try await provoke(world, &canaries)
                    arguments = try String(contentsOfFile: "/proc/\(service.processID)/cmdline", encoding: .utf8)
                    #expect(canaries.found(in: try await service.privateGet("/metrics").text) == [])
                    // Its memory holds all of them, and no crash writes that to a disk.
                    let limits = try String(contentsOfFile: "/proc/\(service.processID)/limits", encoding: .utf8)
                    #expect(limits.contains(#/Max core file size +0 +0 /#))
                } catch {
                    await service.stop()
                    throw error
                }
                for answer in refusals {
                    #expect(answer.status >= 400)
                    #expect(canaries.found(in: answer.text) == [], "\(answer.status)")
                }
                #expect(canaries.found(in: arguments) == [])
                #expect(arguments.contains("serve"))
                let shown = try await Countersign.run(["config", "show"], all)
                #expect(shown.output.contains("google.serverClientSecret"))
                #expect(canaries.found(in: shown.output + shown.error) == [])
                let ending = await service.stop()
                #expect(ending.status == 0)
                #expect(canaries.found(in: ending.output + ending.error) == [])
                // The audit trail has other readers: a client's address is cut to its network.
                let trail = try await world.scratch.texts("SELECT e::text FROM audit_events e")
                for kind in ["signed_in", "link_required", "credential_rejected", "guess_rejected", "signed_out"] {
                    #expect(trail.contains { $0.contains(kind) }, "\(kind)")
                }
                #expect(canaries.found(in: trail.joined(separator: "\n")) == [])
                #expect(trail.contains { $0.contains("127.0.0.0/24") })
                #expect(!trail.contains { $0.contains("127.0.0.1") })
                let lines = try service.logLines()
                #expect(
                    lines.contains { $0["status"]?.string == "500" && $0["reason"]?.string?.contains("42P01") == true })
                #expect(lines.contains { $0["reason"]?.string == "signature_mismatch" })
                #expect(lines.filter { $0["message"]?.string == "request" }.count > 20)
            }
        }
    }

    /// Walks through a person's use: registration, both providers, bind, refresh, sign-out.
    private func useAccount(_ world: World, _ canaries: inout Canaries) async throws {
        let service = world.service
        let email = canaries.add("email", "canary-mailbox@example.com")
        let password = canaries.add("password", "canary-password-9")
        let name = canaries.add("display name", "Canary Displayname")
        let nonce = canaries.add("nonce", "canary-nonce-raw")
        let digest = canaries.add("nonce hash", Hexadecimal.encode(SHA256.hash(Array(nonce.utf8))))
        let device = TokenMint.Literal.raw(#"{"name":"\#(canaries.add("device", "canary-device"))","platform":"ios"}"#)
        let fullName = TokenMint.Literal.raw(#"{"givenName":"\#(canaries.add("given name", "Canarygiven"))"}"#)
        let agent = ("User-Agent", canaries.add("user agent", "canary-agent/1.0"))

        try await world.newPerson("bird", email: email)
        let registered = try await service.post(
            "/v1/accounts", ["email": .string(email), "password": .string(password), "displayName": .string(name)],
            headers: [agent])
        #expect(registered.status == 201)
        let mine = try await service.post(
            "/v1/sign-in/password",
            ["email": .string(email), "password": .string(password), "device": device], headers: [agent])
        let access = canaries.add(token: "access token", try mine.bearer())
        let refresh = canaries.add("refresh token", try mine.refreshToken())

        let credential = try await world.sandbox.authorizeApple(
            "bird", clientID: Countersign.appleClient, nonce: digest, repeatEmail: true,
            token: .init(claims: #"{"note":"\#(canaries.add("claim", "canary-claim-text"))"}"#))
        _ = canaries.add("subject", credential.user)
        let token = canaries.add(token: "Apple token", credential.identityToken)
        let unlinked = try await service.post(
            "/v1/sign-in/apple",
            [
                "identityToken": .string(token), "nonce": .string(nonce), "device": device, "fullName": fullName,
                "authorizationCode": .string(canaries.add("code", credential.authorizationCode)),
            ], headers: [agent])
        let ticket = canaries.add("link ticket", try unlinked.linkTicket())
        try await service.bind(ticket, bearer: access).expecting(200)
        #expect(try await service.create(ticket).status == 410)

        let google = canaries.add(token: "Google token", try await world.googleToken("bird", nonce: nonce))
        let other = try await service.signInWithGoogle(google, ["nonce": .string(nonce)])
        let second = canaries.add("second link ticket", try other.linkTicket())
        let proven = try await service.post(
            "/v1/links/bind", ["linkTicket": .string(second), "email": .string(email), "password": .string(password)])
        #expect(proven.status == 200)

        try await change(service, email: email, password: password, bearer: access, &canaries)
        let refreshed = try await service.refresh(refresh)
        let next = canaries.add("next refresh token", try refreshed.text("refreshToken"))
        _ = canaries.add(token: "next access token", try refreshed.text("accessToken"))
        let last = try await service.refresh(next).expecting(200)
        try await service.signOut("all", bearer: try last.text("accessToken")).expecting(204)
        #expect(try await service.refresh(refresh).status == 401)
        #expect(try await service.get("/v1/account", bearer: access).status == 401)
    }

    /// Makes calls of an administrator, and the same calls without a valid key.
    private func administer(_ world: World, _ canaries: inout Canaries) async throws {
        let service = world.service
        let key = canaries.add("admin key", try await world.adminKey("read,revoke,manage"))
        let guess = canaries.add("guessed admin key", "csa_canary-admin-key")
        let email = canaries.add("searched email", "canary-searched@example.com")
        let queries = [
            "email=\(email)", "emailPrefix=canary-searched", "name=Canary%20Displayname",
            "email=canary-mailbox@example.com",
        ]
        for query in queries {
            try await service.administer("GET", "/admin/v1/accounts?\(query)", bearer: key).expecting(200)
            let refused = try await service.administer("GET", "/admin/v1/accounts?\(query)", bearer: guess)
            #expect(refused.status == 401)
            #expect(canaries.found(in: refused.text) == [])
        }
        for target in ["accounts?email=\(email)&limit=\(email)", "accounts/\(email)", "accounts?canary=\(email)"] {
            let refused = try await service.administer("GET", "/admin/v1/\(target)", bearer: key)
            #expect([400, 404].contains(refused.status))
            #expect(canaries.found(in: refused.text) == [])
        }
    }

    /// Changes the account in a session, and requests codes by mail.
    private func change(
        _ service: Countersign, email: String, password: String, bearer: String, _ canaries: inout Canaries
    ) async throws {
        let name = canaries.add("new name", "Canary Renamed")
        #expect(
            try await service.send("PATCH", "/v1/account", ["displayName": .string(name)], bearer: bearer).status == 200
        )
        let next = canaries.add("new password", "canary-password-10")
        let change: TokenMint.Members = ["currentPassword": .string(password), "newPassword": .string(next)]
        #expect(try await service.send("PUT", "/v1/account/password", change, bearer: bearer).status == 204)
        let other = canaries.add("new email", "canary-elsewhere@example.com")
        #expect(
            try await service.send("PUT", "/v1/account/email", ["email": .string(other)], bearer: bearer).status == 202)
        for purpose in ["signIn", "resetPassword"] {
            let asked = try await service.post(
                "/v1/email-codes", ["email": .string(email), "purpose": .string(purpose)])
            #expect(asked.status == 202)
        }
        let code = canaries.add("wrong code", "canary-code-1")
        for (path, members) in [
            ("/v1/sign-in/email-code", ["email": .string(email), "code": .string(code)]),
            (
                "/v1/accounts/password-reset",
                ["email": .string(email), "code": .string(code), "newPassword": .string(next)]
            ),
        ] as [(String, TokenMint.Members)] { #expect(try await service.post(path, members).status == 401) }
        let nonce = try await service.post("/v1/nonces", ["provider": "apple"])
        _ = canaries.add("issued nonce", try nonce.text("nonce"))
    }

    /// Provokes refusals of every kind, and a fault of the database.
    private func provoke(_ world: World, _ canaries: inout Canaries) async throws -> [Answer] {
        let service = world.service
        let forged = canaries.add(
            token: "forged token",
            try await world.appleToken("bird", .init(claims: #"{"note":"canary-claim-text"}"#, signature: .forged)))
        let wrong = canaries.add("wrong password", "canary-wrong-password")
        let junk = canaries.add("junk", "canary-junk")
        let sound = canaries.add(token: "sound token", try await world.appleToken("bird"))
        var answers = [
            try await service.signInWithApple(forged),
            try await service.signInWithApple(junk),
            try await service.signInWithApple(sound, ["nonce": .string(junk)]),
            try await service.post(
                "/v1/sign-in/password", ["email": "canary-mailbox@example.com", "password": .string(wrong)]),
            try await service.post("/v1/sign-in/password", ["email": .string(junk), "password": .string(wrong)]),
            try await service.post(
                "/v1/accounts", ["email": "canary-mailbox@example.com", "password": .string(wrong)]),
            try await service.create(junk),
            try await service.post(
                "/v1/links/create", ["linkTicket": .string(junk), "displayName": .raw("\"\(junk)\\r\\n{}\"")]),
            try await service.refresh(junk),
            try await service.get("/v1/account", bearer: junk),
            try await service.get("/v1/\(junk)?\(junk)=\(junk)"),
            try await service.post("/v1/sign-in/apple", body: Array("{\"identityToken\":\"\(junk)".utf8)),
            try await service.post("/v1/sign-in/apple", body: Array(junk.utf8), type: "text/\(junk)"),
        ]
        // Log injection: lines that a client tries to add.
        let line = #"{"level":"info","message":"\#(junk)"}"#
        for field in [
            "User-Agent: a\r\n\(line)", "User-Agent: a\r\(line)", "X-Request-Id: a\n\(line)", "\(junk): \(line)",
        ] {
            let answer = try await RawConnection.exchange(
                service.port, "GET /v1/account HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(field)\r\n\r\n")
            #expect(answer.status >= 400)
        }
        // An internal error: a statement that the database refuses, with bound values.
        try await world.scratch.execute(
            "ALTER TABLE sessions RENAME TO elsewhere", "ALTER TABLE link_tickets RENAME TO nowhere")
        let fault = try await service.signInWithApple(sound)
        fault.expectRefusal(500, "internal_error")
        answers.append(fault)
        answers.append(
            try await service.post(
                "/v1/sign-in/password", ["email": "canary-mailbox@example.com", "password": "canary-password-9"]))
        return answers
    }
}
