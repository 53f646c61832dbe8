import Postgres
import TestSupport
import Testing

/// Acts at the console that begin at a row, or take more than a reason.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct ConsoleActTests: WorldSuite {
    @Test func `End session at a session's row signs that device out`() async throws {
        let created = try await service.post(
            "/v1/accounts",
            [
                "email": "console-ended@example.com", "password": .string(World.password),
                "device": .raw(#"{"name":"Kim's phone","platform":"ios"}"#),
            ])
        let id = try created.accountID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        let question = try await visit.ask("End session", on: try await visit.account(id))
        let opened = try await scratch.texts(
            """
            SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') FROM sessions
            WHERE account_id = \(id)::uuid
            """)[0]
        let session = try created.sessionID()
        for text in [session, "Kim's phone, ios", "127.0.0.1", opened] {
            #expect(question.html.text.contains(text), "\(text) in \(question.html.text)")
        }
        let done = try await visit.act("End session", on: try await visit.account(id), typed: ["reason": "case 9"])
        #expect(done.notice == "The session has ended.")
        let bearer = try created.bearer()
        #expect(try await service.get("/v1/account", bearer: bearer).status == 401)
    }

    @Test func `the second press of a button, or another's before it, leads to what was done`() async throws {
        let created = try await world.newAccount("console-twice")
        let (id, session) = (try created.accountID(), try created.sessionID())
        let identity = try created.identityID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        let paths = ["sessions/\(session)/end", "accounts/\(id)/delete", "identities/\(identity)/unlink"]
            .map { "/console/" + $0 }
        var questions: [Browser.Page] = []
        for path in paths { questions.append(try await visit.open(path).expecting(200)) }
        for (path, question) in zip(paths, questions) {
            // The identity goes with its account.
            if path != paths[2] { _ = try await visit.browser.submit(path, on: question) }
            let late = try await visit.browser.submit(path, on: question).expecting(404)
            #expect(late.notice?.hasPrefix("It is gone already") == true, "\(path): \(late.answer.body)")
            #expect(late.html.links.contains { $0.target == "/console/accounts/\(id)" }, "\(path)")
            #expect(late.html.links.contains { $0.target == "/console/audit" }, "no menu at \(path)")
        }
        for path in paths {
            let asked = try await visit.open(path).expecting(404)
            #expect(asked.notice?.hasPrefix("It is gone already") == true, "\(path): \(asked.answer.body)")
            #expect(asked.html.links.contains { $0.target == "/console/audit" }, "no menu at \(path)")
        }
        #expect(try await world.recorded("type = 'account_deleted' AND account_id = \(id)::uuid") == 1)
    }

    @Test func `the menu says where each act belongs`() async throws {
        let created = try await world.newAccount("console-places")
        let (id, session) = (try created.accountID(), try created.sessionID())
        let identity = try created.identityID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        for path in ["accounts/\(id)/disable", "sessions/\(session)/end", "identities/\(identity)/revoke"] {
            let page = try await visit.open("/console/\(path)")
            let current = page.html.elements("a").filter { $0.attributes["aria-current"] != nil }
            #expect(current.map(\.content) == ["Accounts"], "\(path)")
            #expect(current.map { $0.attributes["aria-current"] } == ["true"], "\(path)")
        }
    }

    @Test func `Send sign-in code says what using it does at each degree of the address`() async throws {
        let id = try await world.register("console-graded@example.com").accountID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        let sentences = [
            "claimed": "Nobody has proven this address", "stated": "is asked whether to open this account",
            "proven": "is signed in to this account",
        ]
        for (proof, sentence) in sentences {
            try await scratch.execute(
                """
                UPDATE accounts SET email_proof = CASE WHEN \(proof) = 'proven' THEN 'proven' ELSE 'stated' END,
                    email_verified = \(proof) <> 'claimed',
                    email_proof_source = CASE WHEN \(proof) = 'proven' THEN 'mailed_code' END
                WHERE account_id = \(id)::uuid
                """)
            let text = try await visit.ask("Send sign-in code", on: try await visit.account(id)).html.text
            #expect(sentences.values.filter { text.contains($0) } == [sentence], "\(proof): \(text)")
        }
    }

    @Test func `Replace address is asked for and stopped, and says what is wrong with an address`() async throws {
        let created = try await world.register("console-replaced@example.com")
        let id = try created.accountID()
        let visit = try await ConsoleVisit.signedIn(to: world)
        func replace(by email: String) async throws -> Browser.Page {
            try await visit.act(
                "Replace address", on: try await visit.account(id), typed: ["email": email, "reason": "case 9"])
        }
        for (email, sentence) in [
            ("nobody", "This is no email address."),
            ("console-replaced@example.com", "The account has this address already."),
        ] {
            let refused = try await replace(by: email)
            #expect(refused.notice == sentence)
            #expect(refused.html.title.hasPrefix("Error: Replace address"), "\(refused.html.title)")
            let marked = refused.html.forms.flatMap(\.inputs).filter { $0.attributes["aria-invalid"] == "true" }
            #expect(marked.map(\.name) == ["email"], "\(refused.answer.body)")
            #expect(marked.first?.attributes["aria-describedby"] == "error")
        }
        // As it is pasted from a mail.
        #expect(try await replace(by: " console-new@example.com\n").notice == "The replacement is requested.")
        let page = try await visit.account(id)
        let shown = page.html.text
        #expect(shown.contains(/console-new@example\.com\s+in effect \d{4}-\d\d-\d\d \d\d:/), "\(shown)")
        #expect(shown.contains("case 9 by kim@support"), "\(shown)")
        for label in ["Replace address", "Stop replacement"] {
            let asked = try await visit.ask(label, on: page).html.text
            #expect(asked.contains(/console-new@example\.com\s+in effect \d{4}-\d\d-\d\d \d\d:/), "\(label): \(asked)")
            #expect(asked.contains("case 9 by kim@support"), "\(label): \(asked)")
        }
        let stopped = try await visit.act("Stop replacement", on: page)
        #expect(stopped.notice == "The replacement is stopped.")
        #expect(try await world.count("SELECT count(*) FROM email_replacements WHERE account_id = \(id)::uuid") == 0)
        #expect(!stopped.buttons.contains("Stop replacement"))
        // From the page as it was, as by another administrator, or when it has come into effect.
        let late = try await visit.act("Stop replacement", on: page).expecting(409)
        #expect(late.notice == "No replacement is pending: it may be in effect already.")
        let recorded = try await world.recorded("type = 'email_replacement_cancelled' AND account_id = \(id)::uuid")
        #expect(recorded == 1)
    }

    @Test func `Retry of a revocation that is done by now says so, and records nothing`() async throws {
        let id = "01000000-0000-7000-8000-0000000abd01"
        try await scratch.execute(
            """
            INSERT INTO outbox (message_id, kind, status, provider, realm, subject, attempts, last_error,
                next_attempt_at, created_at, finished_at)
            VALUES (\(id)::uuid, 'revocation', 'failed', 'google', 'main', 'done-by-now', 3, 'x', now(), now(), now())
            """)
        let visit = try await ConsoleVisit.signedIn(to: world)
        let question = try await visit.open("/console/revocations/\(id)/retry")
        try await scratch.execute("UPDATE outbox SET status = 'done' WHERE message_id = \(id)::uuid")
        let form = try #require(question.html.forms.first { $0.method == "POST" && $0.buttons.first?.label == "Retry" })
        let late = try await visit.browser.submit(form, on: question, typed: ["reason": "case 13"]).expecting(409)
        #expect(late.notice?.hasPrefix("There is nothing left to try again: it is done") == true, "\(late.answer.body)")
        #expect(try await world.audited("revocation_retried", reason: "case 13") == 0)
    }

    @Test func `a revocation leads to who asked for it, why, and for whom`() async throws {
        let created = try await world.newAccount("console-revoked")
        let (id, identity) = (try created.accountID(), try created.identityID())
        let visit = try await ConsoleVisit.signedIn(to: world)
        let question = try await visit.open("/console/identities/\(identity)/revoke")
        let form = try #require(
            question.html.forms.first { $0.method == "POST" && $0.buttons.first?.label == "Revoke" })
        #expect(try await visit.browser.submit(form, on: question, typed: ["reason": "case 12"]).status == 200)
        let list = try await visit.open("/console/revocations")
        let link = try #require(list.html.links.first { $0.label == identity })
        let trail = try await visit.browser.click(link.target, on: list)
        #expect(trail.html.text.contains("case 12"))
        let revocation = try #require(trail.html.links.first { $0.label == "revocation" })
        let page = try await visit.browser.click(revocation.target, on: trail)
        #expect(page.html.title.hasPrefix("Revocations"))
        #expect(page.html.text.contains("kim@support") && page.html.text.contains("case 12"))
        #expect(page.html.links.contains { $0.target == "/console/accounts/\(id)" })
    }
}
