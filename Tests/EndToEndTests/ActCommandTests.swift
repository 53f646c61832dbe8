import JSON
import Postgres
import TestSupport
import Testing

/// `countersign account` and `session`, while the service runs: the acts of administrators at the command line.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct ActCommandTests: WorldSuite {
    private static let unknown = "01926a3e-0000-7000-8000-000000000000"

    private func status(_ created: Answer) async throws -> Int {
        try await service.get("/v1/account", bearer: try created.bearer()).status
    }

    /// The kinds and reasons that an operator's acts have left in the account's trail.
    private func recorded(_ id: String) async throws -> Int64 {
        try await world.recorded("account_id = \(id)::uuid AND actor = 'operator' AND reason = 'case 7'")
    }

    @Test func `account sign-out ends the sessions of the account that an address names`() async throws {
        let created = try await world.newAccount("signed-out-by-command")
        let email = try created.text("account.email")
        #expect(try await world.run(["account", "sign-out", email, "--reason", "case 7"]).status == 0)
        #expect(try await status(created) == 401)
        #expect(try await recorded(try created.accountID()) == 1)
    }

    @Test func `account delete leaves nothing of the account but its trail`() async throws {
        let created = try await world.newAccount("deleted-by-command")
        let id = try created.accountID()
        let email = try created.text("account.email")
        let deleted = try await world.run(["account", "delete", email, "--yes", "--reason", "case 7"])
        #expect(deleted.status == 0 && deleted.output == "deleted \(id)\n", "\(deleted.error)")
        #expect(try await status(created) == 401)
        #expect(try await world.count("SELECT count(*) FROM accounts WHERE account_id = \(id)::uuid") == 0)
        #expect(try await recorded(id) == 1)
        let again = try await world.run(["account", "delete", id, "--yes"])
        #expect(again.status == 1 && again.error == "countersign: There is no account \(id).\n")
    }

    @Test func `what an operator does has the name that they state, and is theirs all the same`() async throws {
        let id = try await world.newAccount("named-operator").accountID()
        for (settings, arguments) in [
            (["operator": "kim"], ["account", "disable", id, "--reason", "case 8"]),
            (["operator": "service"], ["account", "enable", id, "--reason", "case 8"]),
            (["operator": "kim"], ["keys", "rotate"]),
        ] {
            let ending = try await world.run(arguments, settings)
            #expect(ending.status == 0 && ending.error.isEmpty, "\(ending.error)")
        }
        let recorded = try await scratch.texts(
            """
            SELECT concat_ws(' ', type, actor, COALESCE(actor_name, '-')) FROM audit_events
            WHERE account_id = \(id)::uuid AND reason = 'case 8' OR type = 'signing_key_rotated' AND actor_name = 'kim'
            ORDER BY created_at
            """)
        #expect(
            recorded == [
                "account_disabled operator kim", "account_enabled operator -", "signing_key_rotated operator kim",
            ])
    }

    @Test func `revocation retry prints what there is, also where nothing is left to try`() async throws {
        let key = try await world.adminKey("revoke")
        let rows = [
            ("01000000-0000-7000-8000-0000000abe01", "done"), ("01000000-0000-7000-8000-0000000abe02", "failed"),
        ]
        for (id, status) in rows {
            try await scratch.execute(
                """
                INSERT INTO outbox (message_id, kind, status, provider, realm, subject, attempts, last_error,
                    next_attempt_at, created_at, finished_at)
                VALUES (\(id)::uuid, 'revocation', \(status), 'google', 'main', 'retried-late', 3, 'x', now(), now(),
                    now())
                """)
            let ending = try await world.run(["revocation", "retry", id, "--reason", "case 7"]).expecting(1)
            #expect(try ending.json["status"]?.string == status)
            #expect(ending.error.hasPrefix("countersign: There is nothing left to try again: "), "\(ending.error)")
            let answer = try await service.administer("POST", "/admin/v1/revocations/\(id)/retry", bearer: key)
            #expect(answer.status == 202 && answer.json?["status"]?.string == status, "\(answer.body)")
        }
        #expect(try await world.recorded("type = 'revocation_retried'") == 0)
    }

    @Test func `what names nothing, or gives no reason, is refused in one sentence`() async throws {
        for arguments in [
            ["account", "disable", "kim", "--reason", "a"], ["account", "disable", Self.unknown],
            ["account", "sign-out", Self.unknown, "--reason", "two\nlines"], ["account", "delete"],
            ["account", "delete", Self.unknown, "--yes", "--reason", ""], ["account", "delete", Self.unknown],
            ["session", "end", "kim"], ["account", "enable", Self.unknown, "--reason", "a", "--email", "kim"],
        ] {
            let ending = try await world.run(arguments)
            #expect(ending.status == 2, "\(arguments)")
            #expect(ending.error.hasPrefix("countersign: ") && ending.error.split(separator: "\n").count == 1)
        }
        for (command, act, name) in [
            ("account", "disable", Self.unknown), ("account", "sign-out", "nobody@unknown.example"),
            ("session", "end", Self.unknown),
        ] {
            let ending = try await world.run([command, act, name, "--reason", "a"])
            #expect(ending.status == 1 && ending.error == "countersign: There is no \(command) \(name).\n")
        }
    }
}
