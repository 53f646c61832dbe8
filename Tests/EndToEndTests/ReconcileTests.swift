import Accounts
import JSON
import Postgres
import TestSupport
import Testing

/// A database that is restored to an earlier time, by a copy of that time: what had ended since ends again.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct ReconcileTests: RestoreSuite {
    private static let client = "01890000-0000-7000-8000-0000000000aa"

    @Test func `what the feed says had ended ends again, once, and is numbered on`() async throws {
        let names = ["deleted", "disabled", "enabled", "unlinked", "revoked", "signed-out", "untouched", "client"]
        try await restore { world in
            var devices: [String: RestoredDatabase.Device] = [:]
            for name in names { devices[name] = try RestoredDatabase.Device(try await world.newAccount(name)) }
            let unlinked = try #require(devices["unlinked"])
            let linked = try await world.service.linkGoogle(
                try await world.googleToken("unlinked"), bearer: unlinked.access)
            #expect(linked.status == 200 || linked.status == 201, "\(linked.text)")
            let account = try #require(devices["client"]).account
            try await world.scratch.execute(
                """
                INSERT INTO oauth_clients (client_id, name, redirect_uris, assertion_audiences, require_pkce,
                    rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
                VALUES (\(Self.client), 'Lamp', '{}', '{}', false, false, false, false, 'active',
                    decode(repeat('0a', 32), 'hex'), now())
                """,
                """
                WITH link AS (
                    INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at)
                    VALUES (gen_random_uuid(), \(account)::text::uuid, \(Self.client), '{profile}', now())
                    RETURNING grant_id
                ), chain AS (
                    INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
                    SELECT gen_random_uuid(), grant_id, 'web', '{profile}', now() FROM link
                    RETURNING chain_id
                )
                INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
                SELECT sha256('rt'), chain_id, sha512('rt'), now() FROM chain
                """)
            return devices
        } _: { world, devices in
            let admin = try await world.adminKey("manage,revoke")
            func act(_ path: String, _ name: String) async throws {
                let id = try #require(devices[name]).account
                let done = try await world.service.administer(
                    "POST", "/admin/v1/accounts/\(id)/\(path)", bearer: admin, body: #"{"reason":"a test"}"#)
                #expect(done.status < 300, "\(done.body)")
            }
            try await act("disable", "disabled")
            try await act("disable", "enabled")
            try await act("enable", "enabled")
            let deleted = try #require(devices["deleted"]).account
            _ = try await world.service.administer("DELETE", "/admin/v1/accounts/\(deleted)", bearer: admin)
            for name in ["unlinked", "revoked"] {
                let identity = try await world.scratch.identity(of: try #require(devices[name]).account)
                let done = try await world.service.administer(
                    "POST", "/admin/v1/identities/\(identity)/revoke", bearer: admin, body: #"{"reason":"a test"}"#)
                #expect(done.status < 300, "\(done.body)")
            }
            let signedOut = try #require(devices["signed-out"])
            try await world.service.signOut("current", bearer: signedOut.access).expecting(204)
            // All devices, and the clients of the OAuth server.
            try await world.service.signOut("all", bearer: try #require(devices["client"]).access).expecting(204)
            _ = try await world.newAccount("lost")
            try await eventually("all revocations are done, and in the feed") {
                try await world.count(
                    """
                    SELECT (SELECT count(*) FROM outbox WHERE kind = 'revocation' AND status <> 'done')
                        + (SELECT count(*) FROM unstamped_events)
                    """) == 0
            }
        } _: { restored, devices in
            let world = restored.world
            let gone = ["deleted", "disabled", "enabled", "unlinked", "revoked", "signed-out", "client"]
            for name in names { #expect(try await Self.isIn(try #require(devices[name]), world), "\(name)") }
            let refused = try await restored.reconcile(feed: restored.feed + "{}\n")
            #expect(refused.status == 2 && refused.error.contains("nothing was ended"), "\(refused.error)")
            for name in names { #expect(try await Self.isIn(try #require(devices[name]), world), "\(name)") }

            let done = try await restored.reconcile(feed: restored.feed).expecting(0)
            for line in [
                "ended: 1 accounts deleted", "ended: 1 accounts disabled", "ended: 1 identities unlinked",
                "ended: 1 authorizations to be revoked", "ended: 1 clients unlinked",
                "lost: 1 accounts that were made after", "unknown: what providers have reported since",
            ] { #expect(done.output.contains(line), "\(line): \(done.output)") }
            #expect(!done.output.contains("numbers are missing"))
            for name in names {
                #expect(try await Self.isIn(try #require(devices[name]), world) == !gone.contains(name), "\(name)")
            }
            #expect(try await world.count("SELECT count(*) FROM oauth_grants") == 0)
            let deleted = try #require(devices["deleted"]).account
            #expect(
                try await world.count("SELECT count(*) FROM accounts WHERE account_id = \(deleted)::text::uuid") == 0)
            #expect(try await world.recorded("type = 'database_reconciled'") == 1)

            // What ended now has higher numbers than what the old feed has.
            let numbers = Set(restored.feed.split(separator: "\n").compactMap(Self.number))
            try await eventually("what ended is in the feed") {
                try await world.count("SELECT count(*) FROM unstamped_events") == 0
            }
            let feed = try await Countersign.run(["feed"], try World.settings(world.scratch, world.sandbox))
            let now = feed.output.split(separator: "\n").filter { $0.contains("account.disabled") }.last
            #expect(now.flatMap(Self.number).map { !numbers.contains($0) } == true)

            // With the mark that some editors write.
            let again = try await restored.reconcile(feed: "\u{FEFF}" + restored.feed).expecting(0)
            let lines = again.output.split(separator: "\n").filter { $0.hasPrefix("ended:") }
            #expect(lines.count == 6)
            #expect(lines.allSatisfy { $0.hasPrefix("ended: 0 ") }, "\(again.output)")
        }
    }

    @Test func `what a line says by other means counts too, and what the database has does not`() async throws {
        let names = ["many", "merged", "emptied", "heir", "late", "known", "old", "half", "same-second", "next-second"]
        try await restore { world in
            var devices: [String: RestoredDatabase.Device] = [:]
            for name in names { devices[name] = try RestoredDatabase.Device(try await world.newAccount(name)) }
            return devices
        } _: { _, _ in
        } _: { restored, devices in
            let time = try #require(Timestamp(rfc3339: restored.time))
            func line(
                _ type: String, _ name: String, _ sequence: Int, after seconds: Int64, _ more: String = ""
            ) throws -> String {
                let account = try #require(devices[name]).account
                let (id, happened) = (AccountEventID(now: time), time.advanced(bySeconds: seconds).rfc3339)
                return #"{"id":"\#(id)","type":"\#(type)","timestamp":"\#(happened)","data":{"#
                    + #""accountId":"\#(account)","sequence":\#(sequence)\#(more)}}"# + "\n"
            }
            func into(_ name: String) throws -> String { #","into":"\#(try #require(devices[name]).account)""# }
            let lines = try [
                // More sessions than an event names.
                line("session.revoked", "many", 4, after: 60, #","count":101,"sessionIds":[]"#),
                line("account.merged", "merged", 4, after: 60, into("old")),
                // What was deleted with the account that it was in by then.
                line("account.merged", "emptied", 4, after: 60, into("heir")),
                line("account.deleted", "heir", 4, after: 120),
                // Its transaction was committed after the time that was restored to.
                line("account.disabled", "late", 4, after: -60),
                line("account.disabled", "known", 1, after: -60),
                line("account.disabled", "old", 4, after: -600),
                // The feed has whole seconds, and a session was opened within this one.
                line("session.revoked", "same-second", 4, after: -60, #","count":101,"sessionIds":[]"#),
                line("session.revoked", "next-second", 4, after: -60, #","count":101,"sessionIds":[]"#),
            ]
            for (name, seconds) in [("same-second", -59.1), ("next-second", -59.0)] {
                let account = try #require(devices[name]).account
                try await restored.world.scratch.execute(
                    """
                    UPDATE sessions
                    SET created_at = \(restored.time)::text::timestamptz + make_interval(secs => \(seconds))
                    WHERE account_id = \(account)::text::uuid
                    """)
            }
            let half = try line("account.disabled", "half", 4, after: 60).prefix(100)
            let old = try #require(devices["old"])
            let known = try await restored.world.count(
                "SELECT last_sequence FROM account_sequences WHERE account_id = \(old.account)::text::uuid")
            // A follower that was started again has a line twice.
            let done = try await restored.reconcile(feed: (lines + lines).joined() + half).expecting(0)
            #expect(done.error.contains("the last line of --feed is unfinished"), "\(done.error)")
            for (name, isIn) in [
                "many": false, "merged": false, "emptied": false, "heir": false, "late": false, "known": true,
                "old": true, "half": true, "same-second": false, "next-second": true,
            ] { #expect(try await Self.isIn(try #require(devices[name]), restored.world) == isIn, "\(name)") }
            #expect(done.output.contains("ended: 3 accounts deleted"), "\(done.output)")
            #expect(done.output.contains("ended: 1 accounts disabled"), "\(done.output)")
            let unknown = "events from before --since that the database lacks: give an earlier --since\n"
            #expect(known < 4 && done.output.contains("unknown: \(4 - known) \(unknown)"), "\(done.output)")

            let earlier = try await restored.reconcile(
                feed: lines.joined(), since: time.advanced(bySeconds: -600).rfc3339
            ).expecting(0)
            #expect(!earlier.output.contains(unknown), "\(earlier.output)")
            #expect(try await !Self.isIn(old, restored.world))
        }
    }

    @Test func `an identity that is the last way in again stays, and lets its person in by a new token`() async throws {
        let nameless = Sandbox.TokenChanges(withoutClaims: ["email", "email_verified"])
        try await restore { world in
            try await world.newPerson("moved")
            let token = try await world.appleToken("moved", nameless)
            let signedIn = try await retryWhenLate { try await world.service.signInWithApple(token) }
            return (device: try RestoredDatabase.Device(try await world.create(of: signedIn)), token: token)
        } _: { world, person in
            let bearer = person.device.access
            let linked = try await world.service.linkGoogle(try await world.googleToken("moved"), bearer: bearer)
            #expect(linked.status == 200 || linked.status == 201, "\(linked.text)")
            let identity = try await world.scratch.identity(of: person.device.account)
            let unlinked = try await world.service.delete("/v1/account/identities/\(identity)", bearer: bearer)
            #expect(unlinked.status == 202, "\(unlinked.body)")
            try await eventually("what happened is in the feed") {
                try await world.count("SELECT count(*) FROM unstamped_events") == 0
            }
        } _: { restored, person in
            let world = restored.world
            #expect(try await Self.isIn(person.device, world))
            // The second time there is nothing left to end.
            for authorizations in [1, 0] {
                let done = try await restored.reconcile(feed: restored.feed).expecting(0)
                for line in [
                    "ended: 0 identities unlinked\n", "ended: \(authorizations) authorizations to be revoked\n",
                    "older: 1 accounts have an address, password or link of before a change\n",
                    "older: \(person.device.account)\n",
                ] { #expect(done.output.contains(line), "\(line): \(done.output)") }
            }
            #expect(try await !Self.isIn(person.device, world))
            try await world.service.signInWithApple(person.token).expectRefusal(401, "invalid_token")
            let token = try await world.appleToken("moved", nameless)
            let back = try await world.service.signInWithApple(token).expecting(200)
            #expect(try back.accountID() == person.device.account)
        }
    }

    @Test func `an account that was merged into a lost one stays`() async throws {
        try await restore { world in
            try await world.newPerson("stray")
            let token = try await world.googleToken("stray")
            let signedIn = try await retryWhenLate { try await world.service.signInWithGoogle(token) }
            return (device: try RestoredDatabase.Device(try await world.create(of: signedIn)), token: token)
        } _: { world, _ in
            let heir = try await world.newAccount("heir")
            let linked = try await world.service.linkGoogle(
                try await world.googleToken("stray"), bearer: try heir.bearer())
            #expect(linked.status == 200 || linked.status == 201, "\(linked.text)")
            try await eventually("what happened is in the feed") {
                try await world.count("SELECT count(*) FROM unstamped_events") == 0
            }
        } _: { restored, person in
            let world = restored.world
            #expect(restored.feed.contains("account.merged"))
            #expect(try await Self.isIn(person.device, world))
            let done = try await restored.reconcile(feed: restored.feed).expecting(0)
            for line in [
                "ended: 0 accounts deleted\n", "ended: 1 sessions\n", "older: \(person.device.account)\n",
            ] { #expect(done.output.contains(line), "\(line): \(done.output)") }
            #expect(try await !Self.isIn(person.device, world))
            try await world.service.signInWithGoogle(person.token).expectRefusal(401, "invalid_token")
            let token = try await world.googleToken("stray")
            let back = try await world.service.signInWithGoogle(token).expecting(200)
            #expect(try back.accountID() == person.device.account)
        }
    }

    @Test func `a password of before a change opens nothing, where its owner gets in without it`() async throws {
        func set(_ password: String, from current: String? = nil, _ bearer: String, in world: World) async throws {
            let members: TokenMint.Members = ["newPassword": .string(password)]
            let answer = try await world.service.send(
                "PUT", "/v1/account/password", members.with("currentPassword", current.map { .string($0) }),
                bearer: bearer)
            #expect(answer.status == 204, "\(answer.text)")
        }
        func opens(_ name: String, _ password: String, in world: World) async throws -> Bool {
            let answer = try await retryWhenLate { try await world.signIn("\(name)@example.com", password: password) }
            #expect(answer.status == 200 || answer.status == 401, "\(answer.text)")
            return answer.status == 200
        }
        let (old, new) = (World.password, "another horse battery")
        try await restore { world in
            var devices: [RestoredDatabase.Device] = []
            for name in ["changed", "mailed"] {
                devices.append(try RestoredDatabase.Device(try await world.newAccount(name)))
                try await set(old, try #require(devices.last).access, in: world)
            }
            devices.append(try RestoredDatabase.Device(try await world.register("claimed@example.com").expecting(201)))
            return devices
        } _: { world, devices in
            for device in devices { try await set(new, from: old, device.access, in: world) }
            try await eventually("what happened is in the feed") {
                try await world.count("SELECT count(*) FROM unstamped_events") == 0
            }
        } _: { restored, devices in
            let world = restored.world
            try await world.scratch.execute(
                "DELETE FROM identities WHERE account_id = \(devices[1].account)::text::uuid")
            for name in ["changed", "mailed", "claimed"] { #expect(try await opens(name, old, in: world), "\(name)") }
            let done = try await restored.reconcile(feed: restored.feed).expecting(0)
            for line in ["ended: 1 passwords: their owners set another one\n", "older: 3 accounts have "] {
                #expect(done.output.contains(line), "\(line): \(done.output)")
            }
            #expect(try await !opens("changed", old, in: world))
            // It is the only way in without mail; with it who reads the mailbox gets in by a code.
            for name in ["mailed", "claimed"] { #expect(try await opens(name, old, in: world), "\(name)") }
            let mailing = try await restored.reconcile(
                feed: restored.feed, with: MailedWorld.settings(port: 25)
            ).expecting(0)
            #expect(mailing.output.contains("ended: 1 passwords: "), "\(mailing.output)")
            #expect(try await !opens("mailed", old, in: world))
            #expect(try await opens("claimed", old, in: world))

            let token = try await world.appleToken("changed")
            let back = try await world.service.signInWithApple(token).expecting(200)
            try await set(new, try back.bearer(), in: world)
            let again = try await restored.reconcile(feed: restored.feed).expecting(0)
            #expect(!again.output.contains("passwords: "), "\(again.output)")
            #expect(try await opens("changed", new, in: world))
        }
    }

    @Test func `of the accounts of which something is older a hundred are named`() async throws {
        try await restore { world in
            try await world.scratch.execute(
                """
                INSERT INTO accounts (account_id, created_at)
                SELECT gen_random_uuid(), now() FROM generate_series(1, 102)
                """)
            return try await world.scratch.texts("SELECT account_id::text FROM accounts ORDER BY account_id")
        } _: { _, _ in
        } _: { restored, accounts in
            let time = try #require(Timestamp(rfc3339: restored.time))
            let lines = accounts.map { account in
                #"{"id":"\#(AccountEventID(now: time))","type":"account.password_changed","#
                    + #""timestamp":"\#(restored.time)","data":{"accountId":"\#(account)","sequence":4}}"# + "\n"
            }
            let done = try await restored.reconcile(feed: lines.joined()).expecting(0)
            let older = done.output.split(separator: "\n").filter { $0.hasPrefix("older: ") }
            #expect(older.first == "older: 102 accounts have an address, password or link of before a change")
            #expect(older.dropFirst().dropLast().map { String($0) } == accounts.prefix(100).map { "older: \($0)" })
            #expect(older.last == "older: and 2 more")
        }
    }

    /// The account and the number of an event.
    private static func number(_ line: Substring) -> String? {
        guard let event = try? JSONValue(parsing: Array(line.utf8)), let id = event["data"]?["accountId"]?.string,
            let sequence = event["data"]?["sequence"]?.integer
        else { return nil }
        return "\(id) \(sequence)"
    }

    @Test func `a token that the database has lost ends its session after a restore, and is accepted without one`()
        async throws
    {
        try await restore { world in
            [
                try RestoredDatabase.Device(try await world.newAccount("ahead")),
                try RestoredDatabase.Device(try await world.newAccount("failed-over")),
            ]
        } _: { _, _ in
        } _: { restored, devices in
            let world = restored.world
            // The rotation is lost: as if this database had been restored from before it.
            func next(_ device: RestoredDatabase.Device) async throws -> String {
                let renewed = try await world.service.refresh(device.refresh).expecting(200)
                try await world.scratch.execute(
                    """
                    UPDATE sessions SET generation = generation - 1, parent_generation = parent_generation - 1
                    WHERE session_id = \(device.session)::text::uuid
                    """)
                return try renewed.text("refreshToken")
            }
            func refresh(_ token: String) async throws -> Int { try await world.service.refresh(token).status }
            let (ahead, other) = (try await next(devices[0]), try await next(devices[1]))
            #expect(try await refresh(other) == 200)
            let missing = try await restored.reconcile()
            #expect(missing.status == 2 && missing.error.contains("--end-all-sessions"), "\(missing.error)")
            for path in ["/nowhere", "/tmp"] {
                let unreadable = try await restored.reconcile("--feed", path).expecting(2)
                #expect(unreadable.error == "countersign: --feed can't be read: \(path)\n")
            }
            #expect(try await restored.reconcile(feed: "").status == 0)
            try await world.service.refresh(ahead).expectRefusal(401, "invalid_refresh_token")
            // It was superseded, and may be another party's.
            #expect(try await refresh(devices[0].refresh) == 401)
            #expect(try await !Self.isIn(devices[0], world))
            #expect(try await world.recorded("type = 'sessions_ended' AND reason = 'database_restored'") == 1)
            #expect(try await world.recorded("type = 'refresh_reused'") == 0)

            let ended = try await restored.reconcile("--end-all-sessions")
            #expect(ended.status == 0 && ended.output.contains("ended: 1 sessions"), "\(ended.output)")
            for device in devices { #expect(try await !Self.isIn(device, world)) }
            #expect(try await restored.reconcile("--end-all-sessions").output.contains("ended: 0 sessions"))
        }
    }
}

extension ScratchDatabase {
    /// The first identity of an account.
    fileprivate func identity(of account: String) async throws -> String {
        let ids = try await texts(
            "SELECT identity_id::text FROM identities WHERE account_id = \(account)::text::uuid AND provider = 'apple'")
        return try #require(ids.first)
    }
}
