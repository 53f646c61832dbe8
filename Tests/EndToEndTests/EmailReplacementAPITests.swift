import JSON
import Postgres
import TestSupport
import Testing

/// The way of a person who has lost their mailbox, over the admin API, the command line, the mails and the API for apps.
@Suite(.limitedConcurrency, .mailedWorld(["limits.mailPerAddress": "0"]), .timeLimit(.minutes(30)))
struct EmailReplacementAPITests: WorldSuite {
    /// The account of a person who has proven `name@example.com`.
    private struct Member {
        let id: String
        let bearer: String

        /// - Parameter name: one that is not taken yet.
        init(_ name: String, in world: World) async throws {
            let email = "\(name)@example.com"
            let registered = try await world.register(email)
            id = try registered.accountID()
            bearer = try registered.bearer()
            try await world.verify(email, bearer: bearer)
        }

        var path: String { "/admin/v1/accounts/\(id)" }
    }

    private func request(_ email: String, for member: Member, key: String) async throws -> RawAnswer {
        let body: TokenMint.Members = ["email": .string(email), "reason": "case 17"]
        return try await service.administer("POST", "\(member.path)/replace-email", bearer: key, body: body.text)
    }

    @Test
    func `the request is answered and mailed, and shown masked in a session until an administrator stops it`()
        async throws
    {
        let key = try await world.adminKey("read,manage")
        let member = try await Member("lost", in: world)
        let before = try world.mailbox("lost@example.com").count
        let answer = try await request("Lost@New.Example", for: member, key: key).expecting(202)
        #expect(answer.json?.members?.map(\.name) == ["email", "requestedAt", "dueAt", "requestedBy"])
        #expect(answer.json?["email"]?.string == "lost@new.example")
        #expect(answer.json?["requestedBy"]?.string == "kim@support")
        let dueAt = try #require(answer.json?["dueAt"]?.string)
        let notice = try await world.mail(before + 1, to: "lost@example.com")
        #expect(notice.header("Subject")?.contains("is about to change your email address") == true)

        let seen = try await service.get("/v1/account", bearer: member.bearer)
        #expect(try seen.text("emailReplacement.email") == "l***@new.example")
        #expect(try seen.text("emailReplacement.dueAt") == dueAt)
        let renamed = try await service.send("PATCH", "/v1/account", ["displayName": "Lo"], bearer: member.bearer)
        #expect(renamed.json?["emailReplacement"]?["dueAt"]?.string == dueAt)
        let record = try await service.administer("GET", member.path, bearer: key)
        #expect(record.json?["emailReplacement"]?["email"]?.string == "lost@new.example")

        let stopping = "\(member.path)/replace-email?reason=case%2018"
        for _ in 0..<2 { try await service.administer("DELETE", stopping, bearer: key).expecting(204) }
        let kept = try await service.get("/v1/account", bearer: member.bearer)
        #expect(try kept.text("email") == "lost@example.com")
        #expect(kept.json?["emailReplacement"] == nil)
    }

    @Test func `each refusal has its code`() async throws {
        let key = try await world.adminKey("manage")
        let member = try await Member("refused", in: world)
        _ = try await Member("holder", in: world)
        func code(_ email: String) async throws -> String? {
            let answer = try await request(email, for: member, key: key)
            return "\(answer.status) \(answer.code ?? "")"
        }
        #expect(try await code("HOLDER@example.com") == "409 email_taken")
        #expect(try await code("refused@example.com") == "400 invalid_request")
        #expect(try await code("nobody") == "400 invalid_request")
        let disabled = try await service.administer(
            "POST", "\(member.path)/disable", bearer: key, body: #"{"reason":"case 19"}"#)
        #expect(disabled.status == 204)
        #expect(try await code("refused@new.example") == "403 account_disabled")
        #expect(try await world.count("SELECT count(*) FROM email_replacements WHERE email LIKE 'refused@%'") == 0)
    }

    // MARK: countersign account

    private func run(
        _ command: String, _ id: String, _ more: String..., mailed: Bool = true, by name: String? = nil
    ) async throws -> Countersign.Ending {
        var settings = mailed ? MailedWorld.settings(port: try #require(MailedWorld.server).port) : [:]
        settings["operator"] = name
        settings["postgres.url"] = scratch.url
        return try await Countersign.run(["account", command, id, "--reason", "case 20"] + more, settings)
    }

    @Test func `account replace-email prints when it takes effect, and account cancel-replace-email stops it`()
        async throws
    {
        let member = try await Member("command", in: world)
        let before = try world.mailbox("command@example.com").count
        let done = try await run("replace-email", member.id, "--email", "Command@New.Example").expecting(0)
        #expect(done.output.wholeMatch(of: /command@new\.example \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n/) != nil)
        _ = try await world.mail(before + 1, to: "command@example.com")
        let seen = try await service.get("/v1/account", bearer: member.bearer)
        #expect(done.output.contains(try seen.text("emailReplacement.dueAt")))
        #expect(!done.error.contains("notice"), "\(done.error)")
        func shown() async throws -> [Substring] {
            let shown = try await world.run(["account", "show", member.id])
            return shown.output.split(separator: "\n")
        }
        #expect(try await shown().dropFirst().first == "emailReplacement \(done.output.dropLast())")
        for notice in ["", "countersign: No replacement is pending: it may be in effect already.\n"] {
            let stopped = try await run("cancel-replace-email", member.id).expecting(0)
            #expect(stopped.error == notice)
        }
        #expect(try await !shown().contains { $0.hasPrefix("emailReplacement") })
        let recorded = try await world.recorded(
            """
            account_id = \(member.id)::uuid AND actor = 'operator' AND reason = 'case 20'
                AND type IN ('email_replacement_requested', 'email_replacement_cancelled')
            """)
        #expect(recorded == 2)
        #expect(try await service.get("/v1/account", bearer: member.bearer).json?["emailReplacement"] == nil)
    }

    @Test func `the name that an operator states is shown, and none where they state none`() async throws {
        let key = try await world.adminKey("read")
        let member = try await Member("operated", in: world)
        for name in ["ann", nil] {
            try await run("replace-email", member.id, "--email", "operated@new.example", by: name).expecting(0)
            let record = try await service.administer("GET", member.path, bearer: key)
            #expect(record.json?["emailReplacement"]?["email"]?.string == "operated@new.example")
            #expect(record.json?["emailReplacement"]?["requestedBy"]?.string == name)
        }
    }

    @Test func `account replace-email says where it can notify no mailbox of the account`() async throws {
        let id = try await world.register("unproven@example.com").accountID()
        let done = try await run("replace-email", id, "--email", "unproven@new.example")
        #expect(done.status == 0 && done.output.hasPrefix("unproven@new.example "), "\(done.error)")
        #expect(done.error.contains("no notice is mailed"), "\(done.error)")
    }

    @Test func `account replace-email says in a sentence what it can't do`() async throws {
        let member = try await Member("speechless", in: world)
        let nobody = "01926a3e-0000-7000-8000-000000000000"
        let email = ["--email", "speechless@new.example"]
        func sentence(_ ending: Countersign.Ending) -> String {
            #expect(ending.status == 1, "\(ending.error)")
            return ending.error
        }
        #expect(
            sentence(try await run("replace-email", nobody, email[0], email[1]))
                == "countersign: There is no account \(nobody).\n")
        #expect(
            sentence(try await run("cancel-replace-email", nobody)) == "countersign: There is no account \(nobody).\n")
        #expect(
            sentence(try await run("replace-email", member.id, "--email", "speechless@example.com"))
                == "countersign: The account has this address already.\n")
        #expect(
            sentence(try await run("replace-email", member.id, email[0], email[1], mailed: false))
                .contains("No mail is configured"))
        _ = try await Member("speaker", in: world)
        #expect(
            sentence(try await run("replace-email", member.id, "--email", "speaker@example.com"))
                == "countersign: Another account has this address.\n")
        try await scratch.execute("UPDATE accounts SET status = 'disabled' WHERE account_id = \(member.id)::uuid")
        #expect(
            sentence(try await run("replace-email", member.id, email[0], email[1]))
                == "countersign: The account is disabled: enable it first.\n")
        for arguments in [
            ["replace-email", "kim", "--reason", "a"] + email, ["replace-email", member.id, "--reason", "a"],
            ["replace-email", member.id] + email, ["replace-email", member.id, "--reason", ""] + email,
            ["replace-email", member.id, "--reason", "two\nlines"] + email,
            ["replace-email", member.id, "--reason", "a", "--email", "nobody"],
            ["cancel-replace-email", member.id.uppercased(), "--reason", "a"],
        ] {
            let ending = try await world.run(["account"] + arguments)
            #expect(ending.status == 2, "\(arguments)")
            #expect(ending.error.hasPrefix("countersign: "), "\(ending.error)")
        }
    }
}
