import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// The feed as the customer's backend reads it, of a running service.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct FeedTests: WorldSuite {
    private struct Reader {
        let world: World
        let key: String

        func read(_ query: String) async throws -> RawAnswer {
            try await world.service.administer("GET", "/admin/v1/feed?\(query)", bearer: key)
        }

        func json(_ query: String) async throws -> JSONValue {
            let answer = try await read(query)
            #expect(answer.status == 200, "\(query): \(answer.status)")
            return try JSONValue(parsing: Array(answer.body.utf8))
        }

        /// The cursor behind all that has happened.
        func end() async throws -> String { try #require(try await json("after=now")["next"]?.string) }

        /// What comes after a cursor, once it has come.
        func events(_ count: Int, after cursor: String) async throws -> (events: [JSONValue], next: String) {
            var events: [JSONValue] = []
            var next = cursor
            while events.count < count {
                let page = try await json("after=\(next)&wait=25")
                events += page["items"]?.elements ?? []
                next = try #require(page["next"]?.string)
            }
            return (events, next)
        }
    }

    private static func types(_ events: [JSONValue]) -> [String] { events.compactMap { $0["type"]?.string } }

    @Test func `a person's story comes in its order, once, to who follows the cursor`() async throws {
        let reader = Reader(world: world, key: try await world.adminKey("feed"))
        let admin = try await world.adminKey("manage", name: "admin")
        let start = try await reader.end()
        let account = try await world.newAccount("feed-1")
        let id = try account.accountID()
        let born = try await reader.events(2, after: start)
        #expect(Self.types(born.events) == ["account.created", "identity.linked"])
        let first = try #require(born.events.first)
        #expect(first["data"]?["accountId"]?.string == id)
        #expect(first["data"]?["sequence"]?.integer == 1)
        #expect(first["data"]?["by"]?.string == "create")
        #expect(born.events[1]["data"]?["provider"]?.string == "apple")

        // It waits for what comes, also from another process.
        async let coming = reader.events(2, after: born.next)
        try await world.run(["account", "disable", id, "--reason", "a test"]).expecting(0)
        let disabled = try await coming
        #expect(Self.types(disabled.events) == ["account.disabled", "session.revoked"])
        #expect(disabled.events[1]["data"]?["count"]?.integer == 1)

        let deleted = try await service.administer("DELETE", "/admin/v1/accounts/\(id)", bearer: admin)
        #expect(deleted.status == 202 || deleted.status == 204)
        let (gone, _) = try await reader.events(1, after: disabled.next)
        #expect(Self.types(gone).contains("account.deleted"))

        // By an event's id, by type, from the oldest; the command has the same bytes.
        let firstID = try #require(first["id"]?.string)
        let behind = try await reader.json("after=\(firstID)&limit=1")
        #expect(Self.types(behind["items"]?.elements ?? []) == ["identity.linked"])
        #expect(behind["more"]?.bool == true)
        let filtered = try await reader.json("after=\(start)&types=account.deleted,account.disabled")
        #expect(Self.types(filtered["items"]?.elements ?? []) == ["account.disabled", "account.deleted"])
        let whole = try await reader.read("after=\(start)&limit=1000").body
        let printed = try await world.run(["feed", "--after", start]).expecting(0)
        let lines = printed.output.split(separator: "\n")
        #expect(lines.count >= 5)
        for line in lines { #expect(whole.contains(line)) }
        let some = try await world.run(
            ["feed", "--after", start, "--types", "account.deleted", "--types", "account.disabled"]
        ).expecting(0)
        #expect(some.output.split(separator: "\n").count == 2, "\(some.output)")
    }

    /// A follower that has printed the two events of a new account.
    private static func follower(_ person: String, in world: World) async throws -> Countersign.Command {
        let follower = try Countersign.begin(["feed", "--follow"], ["postgres.url": world.scratch.url])
        _ = try await world.newAccount(person)
        try await eventually("the events are printed") { follower.output.split(separator: "\n").count == 2 }
        return follower
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a follower that is stopped says at which cursor to go on`(_ signal: Int32) async throws {
        let follower = try await Self.follower("feed-follower", in: world)
        follower.send(signal)
        let ending = await follower.end()
        #expect(ending.status == 0, "\(ending.error)")
        let cursor = try #require(ending.error.split(separator: "\n").last)
        let rest = try await world.run(["feed", "--after", String(cursor)])
        #expect(rest.status == 0 && rest.output.isEmpty, "\(rest.error)")
        // Behind the first of the two.
        let lines = ending.output.split(separator: "\n")
        let first = try JSONValue(parsing: Array(lines[0].utf8))
        let id = try #require(first["id"]?.string)
        #expect(try await world.run(["feed", "--after", id]).output.split(separator: "\n") == Array(lines[1...]))
    }

    @Test(.noFixture(World.self)) func `a follower is stopped also while the database is away`() async throws {
        try await World.onCluster { cluster, world in
            let follower = try await Self.follower("feed-away", in: world)
            try await cluster.crash()
            follower.send(SIGTERM)
            let ending = await follower.end()
            #expect(ending.status == 0)
            #expect(ending.error.split(separator: "\n").count == 1, "\(ending.error)")
        }
    }

    @Test func `what is no cursor, no type and no number is refused, and who may not read is`() async throws {
        let reader = Reader(world: world, key: try await world.adminKey("read"))
        let end = try await reader.end()
        var forged = end
        forged.replaceSubrange(forged.startIndex...forged.startIndex, with: forged.hasPrefix("A") ? "B" : "A")
        for query in [
            "after=\(forged)", "after=x", "after=00000000-0000-7000-8000-000000000000", "types=account.created,",
            "types=endpoint.test", "types=", "limit=0", "limit=1001", "wait=26", "wait=-1", "other=1",
        ] { #expect(try await reader.read(query).status == 400, "\(query)") }
        for (query, status) in [("wait=0&limit=1000", 200), ("after=\(end)&wait=1", 200)] {
            #expect(try await reader.read(query).status == status, "\(query)")
        }
        for scopes in ["revoke", "manage"] {
            let key = try await world.adminKey(scopes, name: scopes)
            try await service.administer("GET", "/admin/v1/feed", bearer: key).expecting(403)
        }
        // A key for the feed opens nothing else.
        let key = try await world.adminKey("feed", name: "feed")
        #expect(try await service.administer("GET", "/admin/v1/feed", bearer: key).status == 200)
        #expect(try await service.administer("GET", "/admin/v1/outbox", bearer: key).status == 403)
    }

    @Test func `a key that is revoked during a wait opens nothing of what comes`() async throws {
        let end = try await Reader(world: world, key: try await world.adminKey("feed")).end()
        let reader = Reader(world: world, key: try await world.adminKey("feed", name: "leaver"))
        async let waited = reader.read("after=\(end)&wait=25")
        try await eventually("the key is in use") {
            try await world.count(
                "SELECT count(*) FROM admin_keys WHERE name = 'leaver' AND last_used_at IS NOT NULL") == 1
        }
        try await world.revokeAdminKey(named: "leaver")
        _ = try await world.newAccount("feed-3")
        let answer = try await waited
        #expect(answer.status == 401 && answer.code == "invalid_credentials", "\(answer.body)")
        #expect(!answer.body.contains("account.created"))
    }

    @Test func `one reader more than sixty-four, or than sixteen of one key, is not waited for, until one leaves`()
        async throws
    {
        var readers: [Reader] = []
        for number in 1...4 {
            readers.append(Reader(world: world, key: try await world.adminKey("feed", name: "backend-\(number)")))
        }
        let other = Reader(world: world, key: try await world.adminKey("feed", name: "other"))
        let end = try await other.end()
        var waiting: [RawConnection] = []
        func wait(_ reader: Reader) throws {
            let connection = try RawConnection(service.privatePort)
            connection.send(
                """
                GET /admin/v1/feed?after=\(end)&wait=25 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
                Authorization: Bearer \(reader.key)\r\n\r\n
                """)
            waiting.append(connection)
        }
        /// The next one, once all of `waiting` are there. Before that it may have the place of the last of them, and the first
        /// may have had their time: more come for them.
        func next(_ reader: Reader, behind crowd: [Reader]) async throws -> RawAnswer {
            var next = try await reader.read("after=\(end)&wait=1")
            while next.status == 200 {
                for reader in crowd { for _ in 0..<4 { try wait(reader) } }
                next = try await reader.read("after=\(end)&wait=1")
            }
            return next
        }
        for reader in readers {
            // Those of the keys before take no place of another key's.
            #expect(try await reader.read("after=\(end)&wait=1").status == 200)
            for _ in 0..<16 { try wait(reader) }
            #expect(try await next(reader, behind: [reader]).status == 503)
        }
        let refused = try await next(other, behind: readers)
        #expect(refused.status == 503 && refused.code == "temporarily_unavailable", "\(refused.body)")
        #expect(refused["Retry-After"] == "5")
        // Who does not wait needs no place.
        #expect(try await other.read("after=\(end)").status == 200)
        waiting.removeFirst()
        try await eventually("there is a place") { try await other.read("after=\(end)&wait=1").status == 200 }
        withExtendedLifetime(waiting) {}
    }

    @Test(.world(["server.drainSeconds": "20"]))
    func `a reader waits on while the process drains, and is answered at its end`() async throws {
        let reader = Reader(world: world, key: try await world.adminKey("feed"))
        let start = try await reader.end()
        async let before = reader.json("after=\(start)&wait=25")
        service.send(SIGTERM)
        try await eventually("readiness to end") { try await service.privateGet("/health/ready").status == 503 }
        async let during = reader.json("after=\(start)&wait=25")
        _ = try await world.newAccount("feed-drain")
        for page in try await [before, during] {
            #expect(Self.types(page["items"]?.elements ?? []) == ["account.created", "identity.linked"])
        }
        let end = try await reader.end()
        let last = try RawConnection(service.privatePort)
        last.send(
            """
            GET /admin/v1/feed?after=\(end)&wait=25 HTTP/1.1\r\nHost: a\r\n\
            Authorization: Bearer \(reader.key)\r\n\r\n
            """)
        let answer = RawAnswer(await last.readToEnd())
        #expect(answer.status == 200 && answer["Connection"] == "close", "\(answer.text)")
        #expect(answer.body.hasPrefix(#"{"items":[],"#), "\(answer.body)")
        #expect(await service.end().status == 0)
    }

    @Test func `behind a day that was dropped a cursor is gone, and the end of a quiet feed is not`() async throws {
        let reader = Reader(world: world, key: try await world.adminKey("feed"))
        let start = try await reader.end()
        _ = try await world.newAccount("feed-2")
        let (events, _) = try await reader.events(2, after: start)
        let end = try await reader.end()
        // As if all of it had lain in a day that is over.
        try await scratch.execute("DELETE FROM account_events", "UPDATE feed_head SET dropped_position = last_position")
        let id = try #require(events.first?["id"]?.string)
        for after in [start, id] {
            let answer = try await reader.read("after=\(after)")
            #expect(answer.status == 410, "\(after)")
            #expect(answer.body.contains("cursor_expired"))
        }
        #expect(try await reader.json("after=\(end)")["items"]?.elements?.isEmpty == true)
        #expect(try await reader.json("limit=1")["items"]?.elements?.isEmpty == true)
    }
}
