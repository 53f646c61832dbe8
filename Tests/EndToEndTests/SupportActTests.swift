import JSON
import Postgres
import TestSupport
import Testing

/// What support does for a person who is on the telephone: a name that is wrong, a code that did not come.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "3/h"]), .timeLimit(.minutes(30)))
struct SupportActTests: WorldSuite {
    private func register(_ name: String) async throws -> String {
        try await world.register("\(name)@example.com").accountID()
    }

    private func administer(_ method: String, _ path: String, _ body: String?, key: String) async throws -> RawAnswer {
        try await service.administer(method, "/admin/v1/accounts/\(path)", bearer: key, body: body)
    }

    @Test func `a name is changed and cleared, with the reason in the trail`() async throws {
        let id = try await register("renamed")
        let key = try await world.adminKey("manage")
        let named = try await administer("PATCH", id, #"{"displayName":" Kim  Example ","reason":"case 31"}"#, key: key)
        #expect(named.status == 200, "\(named.body)")
        #expect(named.json?["displayName"]?.string == "Kim Example")
        #expect(try await world.audited("display_name_changed", reason: "case 31") == 1)
        for body in ["{}", #"{"displayName":""}"#, #"{"displayName":"a","email":"b@example.com"}"#, "[]"] {
            #expect(try await administer("PATCH", id, body, key: key).status == 400, "\(body)")
        }
        let empty = try await administer("PATCH", id, #"{"displayName":""}"#, key: key)
        #expect(empty.json?.fieldErrors == ["displayName invalid"])
        let cleared = try await administer("PATCH", id, #"{"displayName":null}"#, key: key)
        #expect(cleared.status == 200 && cleared.json?["displayName"] == nil)

        let visit = try await ConsoleVisit.signedIn(to: world, name: "naming")
        let done = try await visit.act(
            "Change name", on: try await visit.account(id), typed: ["displayName": "Ann", "reason": "case 32"])
        #expect(done.notice == "The name is changed.")
        let question = try await visit.ask("Change name", on: done)
        #expect(question.html.forms.compactMap { $0.input("displayName")?.value } == ["Ann"])
        #expect(try await world.audited("display_name_changed", by: "naming", reason: "case 32") == 1)

        // What nothing is left of is no wish for no name.
        let hidden = try await visit.act(
            "Change name", on: try await visit.account(id), typed: ["displayName": "\u{200B}"])
        #expect(hidden.status == 400 && hidden.notice?.contains("no name") == true)
        let unread = try await world.run([
            "account", "rename", "renamed@example.com", "--name", "\u{200B}", "--reason", "case 33",
        ])
        #expect(unread.status == 2, "\(unread.error)")

        let renamed = try await world.run([
            "account", "rename", "renamed@example.com", "--name", "Bo", "--reason", "case 33",
        ])
        #expect(renamed.status == 0, "\(renamed.error)")
        let shown = try await world.run(["account", "show", id])
        #expect(shown.output.hasPrefix("\(id) active renamed@example.com Bo\n"), "\(shown.output)")
    }

    @Test func `a sign-in code is mailed to the person, counted, and shown to nobody`() async throws {
        let email = "coded@example.com"
        let id = try await register("coded")
        let key = try await world.adminKey("manage")
        let answer = try await administer("POST", "\(id)/email-codes", #"{"reason":"case 34"}"#, key: key)
        #expect(answer.status == 202 && answer.body == "{}")
        let code = try await world.code(1, mailedTo: email)
        // The same again within a minute mails nothing, and nothing more is recorded.
        #expect(try await administer("POST", "\(id)/email-codes", nil, key: key).status == 202)
        #expect(try await world.audited("code_requested", reason: "case 34") == 1)
        #expect(try await world.recorded("type = 'code_requested' AND account_id = \(id)::uuid") == 1)
        let visit = try await ConsoleVisit.signedIn(to: world)
        let again = try await visit.act("Send sign-in code", on: try await visit.account(id))
        #expect(again.status == 409 && again.notice?.contains("a moment ago") == true)
        #expect(!again.answer.body.contains(code))
        let signedIn = try await world.signIn(email, code: code)
        #expect(try signedIn.accountID() == id)
        // Two more codes may be mailed in the hour, one of them from the command line.
        let page = try await visit.act("Send sign-in code", on: try await visit.account(id))
        #expect(page.notice == "The code is on its way.")
        let second = try await world.code(2, mailedTo: email)
        _ = try await world.signIn(email, code: second)
        #expect(try await administer("POST", "\(id)/email-codes", "{}", key: key).status == 202)
        _ = try await service.post(
            "/v1/sign-in/email-code",
            ["email": .string(email), "code": .string(try await world.code(3, mailedTo: email))])
        let limited = try await administer("POST", "\(id)/email-codes", "{}", key: key)
        #expect(limited.status == 429 && limited.code == "rate_limited" && limited["Retry-After"] != nil)
        let refused = try await visit.act("Send sign-in code", on: try await visit.account(id))
        #expect(refused.status == 429 && refused.notice?.contains("as many codes as it may") == true)
        #expect(refused.answer["Retry-After"] != nil && refused.answer["WWW-Authenticate"] == nil)
        var settings = MailedWorld.settings(port: try #require(MailedWorld.server).port)
        settings["limits.mailPerAddress"] = "3/h"
        settings["operator"] = "ann"
        let command = try await world.run(["account", "send-code", id], settings).expecting(1)
        #expect(command.error.contains("as many codes as it may"), "\(command.error)")
        func refusals(of actor: String, named name: String) async throws -> Int64 {
            try await world.count(
                """
                SELECT COALESCE(sum(occurrences), 0) FROM audit_events
                WHERE type = 'rate_limited' AND reason = 'mailPerAddress' AND account_id = \(id)::uuid
                    AND actor = \(actor) AND actor_name = \(name)
                """)
        }
        #expect(try await refusals(of: "operator", named: "ann") == 1)
        try await eventually("the refusals of the administrator are in the account's trail") {
            try await refusals(of: "administrator", named: "kim@support") == 2
        }
    }

    @Test func `a database that fails while a code is to be mailed is what the administrator reads of`() async throws {
        let id = try await register("uncoded")
        let key = try await world.adminKey("manage")
        let visit = try await ConsoleVisit.signedIn(to: world)
        try await world.scratch.execute(
            """
            CREATE FUNCTION refuse_code() RETURNS trigger LANGUAGE plpgsql
            AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$
            """,
            """
            CREATE TRIGGER refuse_code BEFORE INSERT ON mailed_codes
            FOR EACH ROW WHEN (NEW.email = 'uncoded@example.com') EXECUTE FUNCTION refuse_code()
            """)
        let answer = try await administer("POST", "\(id)/email-codes", nil, key: key)
        #expect(answer.status == 503 && answer.code == "temporarily_unavailable" && answer["Retry-After"] != nil)
        #expect(answer.json?["detail"] == nil, "\(answer.body)")
        let page = try await visit.act("Send sign-in code", on: try await visit.account(id))
        #expect(page.status == 503 && page.notice == "The database can't be used right now. Try again in a moment.")

        try await world.scratch.execute("DROP FUNCTION refuse_code CASCADE")
        let sent = try await visit.act("Send sign-in code", on: try await visit.account(id))
        #expect(sent.notice == "The code is on its way.")
    }

    @Test func `an account that is disabled or has no address gets no code`() async throws {
        let id = try await register("codeless")
        let key = try await world.adminKey("manage")
        try await scratch.execute("UPDATE accounts SET status = 'disabled' WHERE account_id = \(id)::uuid")
        #expect(try await administer("POST", "\(id)/email-codes", nil, key: key).code == "account_disabled")
        try await scratch.execute(
            """
            UPDATE accounts SET status = 'active', email = NULL, email_verified = false, email_proof = 'claimed'
            WHERE account_id = \(id)::uuid
            """)
        #expect(try await administer("POST", "\(id)/email-codes", nil, key: key).code == "invalid_request")
    }

    @Test func `account find finds as the console does, a line or a JSON object each`() async throws {
        let ids = [try await register("findable1"), try await register("findable2")]
        let found = try await world.run(["account", "find", "findable"])
        #expect(
            found.output.split(separator: "\n").map(String.init) == [
                "\(ids[0]) active findable1@example.com -", "\(ids[1]) active findable2@example.com -",
            ])
        #expect(try await world.run(["account", "find", "findable", "--limit", "1"]).output.contains(ids[0]))
        let json = try await world.run(["account", "find", ids[1], "--json"])
        let object = try json.json
        #expect(object["accountId"]?.string == ids[1] && object["email"]?.string == "findable2@example.com")
        let shown = try await world.run(["account", "show", "findable1@example.com", "--json"])
        #expect(try shown.json["accountId"]?.string == ids[0])
        let nobody = try await world.run(["account", "find", "nobody@unknown.example"])
        #expect(nobody.status == 1 && nobody.error == "countersign: There is no such account.\n")
    }

    @Test func `who has an address with a character that isn't shown is found by it, and a list goes on after them`()
        async throws
    {
        let ids = [try await register("selector1"), try await register("selector2")]
        let address = "selector1\u{FE0F}@example.com"
        try await scratch.execute("UPDATE accounts SET email = \(address) WHERE account_id = \(ids[0])::uuid")
        let key = try await world.adminKey("read")
        func list(_ query: String) async throws -> RawAnswer {
            let page = try await service.administer("GET", "/admin/v1/accounts?\(query)", bearer: key)
            #expect(page.status == 200, "\(page.body)")
            return page
        }
        var found: [String] = []
        var query: String? = "emailPrefix=selector&limit=1"
        while let asked = query {
            let page = try await list(asked)
            found += page.items.compactMap { $0["accountId"]?.string }
            query = page.json?["nextCursor"]?.string.map { "emailPrefix=selector&limit=1&cursor=\($0)" }
        }
        #expect(found == ids)
        let exact = try await list("email=selector1%EF%B8%8F@example.com")
        #expect(exact.items.compactMap { $0["accountId"]?.string } == [ids[0]])
        for command in ["find", "show"] {
            let ending = try await world.run(["account", command, address])
            #expect(ending.status == 0 && ending.output.hasPrefix("\(ids[0]) active "), "\(ending.error)")
        }
    }

    @Test func `account show has the sessions that session end takes, and says what is wrong with an identity`()
        async throws
    {
        let created = try await world.newAccount("shown")
        let (id, identity) = (try created.accountID(), try created.identityID())
        let session = try created.sessionID()
        func lines() async throws -> [String] {
            let shown = try await world.run(["account", "show", id])
            #expect(shown.status == 0 && shown.error.isEmpty, "\(shown.error)")
            return shown.output.split(separator: "\n").map(String.init)
        }
        try await scratch.execute(
            "UPDATE sessions SET device_name = 'Kim''s' || chr(10) || 'phone' WHERE session_id = \(session)::uuid")
        let before = try await lines()
        #expect(before.count == 3 && before[0].hasPrefix("\(id) active "), "\(before)")
        #expect(before[1].hasPrefix("\(identity) apple ") && !before[1].contains("blocked"), "\(before)")
        #expect(before[2].hasPrefix("\(session) session 20") && before[2].contains("Z Kim's phone"), "\(before)")
        try await scratch.execute(
            """
            UPDATE identities
            SET blocked_at = now(), block_reason = 'hijacking', credential_change_required_at = now()
            WHERE identity_id = \(identity)::uuid
            """)
        #expect(try await lines()[1].hasSuffix(" blocked credentialChangeRequired"))
        let json = try await world.run(["account", "show", id, "--json"])
        let object = try json.json
        #expect(object["accountId"]?.string == id && object["moreSessions"] == nil)
        #expect(object["sessions"]?.elements?.compactMap { $0["sessionId"]?.string } == [session])
        #expect(try await world.run(["session", "end", session]).status == 0)
        #expect(try await lines().count == 2)
    }

    @Test func `account show says when there are more sessions than it prints`() async throws {
        let id = try await register("much-signed-in")
        try await scratch.execute(
            """
            INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at)
            SELECT gen_random_uuid(), account_id, rotated_at, auth_time, amr, created_at, last_used_at, expires_at
            FROM sessions, generate_series(1, 50)
            WHERE account_id = \(id)::uuid
            """)
        let shown = try await world.run(["account", "show", id])
        #expect(shown.status == 0 && shown.error == "countersign: There are more sessions than these 50.\n")
        #expect(shown.output.split(separator: "\n").count { $0.contains(" session ") } == 50)
        let json = try await world.run(["account", "show", id, "--json"])
        let object = try json.json
        #expect(object["sessions"]?.elements?.count == 50 && object["moreSessions"]?.bool == true)
    }

    @Test func `account find takes a text as it was pasted, and none of white space alone`() async throws {
        let id = try await register("pasted")
        let found = try await world.run(["account", "find", " pasted@example.com\t\n"])
        #expect(found.output == "\(id) active pasted@example.com -\n", "\(found.error)")
        for text in ["", " ", " \t\n"] {
            let ending = try await world.run(["account", "find", text])
            #expect(ending.status == 2 && ending.output.isEmpty, "\(ending.output)")
            #expect(ending.error.contains("an empty text finds everybody"), "\(ending.error)")
        }
    }
}
