import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// The export of a person's data: for its owner, an administrator and an operator.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct ExportTests: WorldSuite {
    private static let unknown = "01926a3e-0000-7000-8000-000000000000"

    /// A new account with a grant of Apple's and a password.
    private static func newAccount(_ name: String, in world: World) async throws -> Answer {
        let created = try await world.newGrantedAccount(name)
        try await world.service.setPassword(bearer: try created.bearer())
        return created
    }

    /// What is stored of the account and may not leave the database, in each form in which a text could hold it.
    private static func secrets(of id: String, in world: World) async throws -> [String] {
        let secrets = try await world.scratch.texts(
            """
            SELECT unnest(ARRAY[encode(secret, 'hex'), replace(encode(secret, 'base64'), E'\\n', '')])
            FROM (
                SELECT convert_to(password_hash, 'UTF8') FROM accounts WHERE account_id = \(id)::uuid
                UNION ALL
                SELECT unnest(ARRAY[g.sealed_refresh_token, g.prefix_fingerprint, g.digest_fingerprint])
                FROM provider_grants g JOIN identities i ON i.identity_id = g.identity_id
                WHERE i.account_id = \(id)::uuid
            ) AS secrets (secret)
            UNION ALL SELECT password_hash FROM accounts WHERE account_id = \(id)::uuid
            """)
        #expect(secrets.count == 9)
        return secrets
    }

    @Test func `the owner gets all that is stored of them, and no secret`() async throws {
        let created = try await Self.newAccount("export-owner", in: world)
        let id = try created.accountID()
        let answer = try await service.get("/v1/account/export", bearer: try created.bearer()).expecting(200)
        #expect(answer.header("Content-Type") == "application/json")
        #expect(answer.header("Cache-Control") == "no-store")
        let json = try #require(answer.json)
        #expect(json["account"]?["accountId"]?.string == id)
        #expect(json["account"]?["email"]?.string == "export-owner@example.com")
        #expect(json["account"]?["hasPassword"]?.bool == true)
        let identity = try #require(json["identities"]?.elements?.first)
        #expect(identity["identityId"]?.string == (try created.identityID()))
        #expect(identity["subject"]?.string == (try created.text("identity.subject")))
        #expect(identity["authorization"]?.string == "active")
        #expect(json["providerGrants"]?.elements?.count == 1)
        let sessions = json["sessions"]?.elements?.map { $0["sessionId"]?.string }
        #expect(sessions == [try created.sessionID()])
        let audited = Set((json["auditEvents"]?.elements ?? []).compactMap { $0["type"]?.string })
        #expect(audited.isSuperset(of: ["account_created", "password_changed", "account_exported"]))
        #expect(json["incompleteLists"] == nil)

        let tokens = [try created.bearer(), try created.refreshToken(), World.password]
        for secret in try await Self.secrets(of: id, in: world) + tokens { #expect(!answer.text.contains(secret)) }
    }

    @Test func `an administrator and an operator get the same, and each is recorded`() async throws {
        let created = try await Self.newAccount("export-admin", in: world)
        let id = try created.accountID()
        let key = try await world.adminKey("manage", name: "exporter")
        let path = "/admin/v1/accounts/\(id)/export"
        let owners = try await service.get("/v1/account/export", bearer: try created.bearer())
        let answer = try await service.administer("GET", path, bearer: key).expecting(200)
        let command = try await world.run(["account", "export", id]).expecting(0)
        #expect(command.output.hasSuffix("}\n"))

        /// The document without what differs from export to export.
        func document(_ text: String) throws -> NSDictionary {
            let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
            var members = try #require(value as? [String: Any])
            #expect(members.removeValue(forKey: "exportedAt") is String)
            #expect(members.removeValue(forKey: "auditEvents") != nil)
            #expect(members.count > 10)
            return NSDictionary(dictionary: members)
        }
        #expect(try document(answer.body) == document(owners.text))
        #expect(try document(command.output) == document(owners.text))

        let exports = try #require(try command.json["auditEvents"]?.elements)
            .filter { $0["type"]?.string == "account_exported" }
        #expect(exports.map { $0["actor"]?.string } == ["operator", "administrator", "person"])
        #expect(exports.map { $0["actorName"]?.string } == [nil, "exporter", nil])
        for secret in try await Self.secrets(of: id, in: world) { #expect(!command.output.contains(secret)) }
    }

    @Test func `HEAD makes no export: none is recorded, and none is counted`() async throws {
        let created = try await world.newAccount("export-head")
        let id = try created.accountID()
        let bearer = try created.bearer()
        let key = try await world.adminKey("manage")
        let path = "/admin/v1/accounts/\(id)/export"
        func ask(_ authorization: String?) async throws -> RawAnswer {
            try await service.exchange(service.port, "HEAD", "/v1/account/export", authorization: authorization)
        }
        var answers: [RawAnswer] = []
        for _ in 1...6 {
            answers.append(try await ask("Bearer \(bearer)"))
            answers.append(try await service.administer("HEAD", path, bearer: key))
        }
        for answer in answers {
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer["Content-Type"] == "application/json")
            // Of the document, which isn't there.
            #expect(answer["Content-Length"] == nil)
            #expect(answer.body.isEmpty)
        }
        #expect(try await ask(nil).status == 401)
        try await service.administer("HEAD", "/admin/v1/accounts/\(Self.unknown)/export", bearer: key).expecting(404)
        func recorded() async throws -> Int64 {
            try await world.recorded("type = 'account_exported' AND account_id = \(id)::uuid")
        }
        #expect(try await recorded() == 0)
        #expect(try await service.get("/v1/account/export", bearer: bearer).status == 200)
        #expect(try await recorded() == 1)
    }

    // MARK: - A long document

    /// The rows of ``longAccount(_:in:)`` beside those of a new account, and about the bytes that they make.
    private static let (rows, bytes) = (30_000, 30_000_000)

    /// A new account with a long audit trail.
    private static func longAccount(_ name: String, in world: World) async throws -> Answer {
        let created = try await world.newAccount(name)
        let id = try created.accountID()
        try await world.scratch.execute(
            """
            INSERT INTO audit_events (event_id, type, actor, account_id, reason, created_at)
            SELECT gen_random_uuid(), 'session_ended', 'person', \(id)::uuid, 'row-' || number || repeat('x', 1000),
                now() - number * interval '1 second'
            FROM generate_series(1, \(Int32(rows))) number
            """)
        return created
    }

    private static func ask(_ port: UInt16, _ path: String, _ bearer: String) throws -> RawConnection {
        let connection = try RawConnection(port)
        connection.send(
            "GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer \(bearer)\r\n\r\n")
        return connection
    }

    @Test(.world) func `a long document arrives whole, and the process stays as small as it was`() async throws {
        let created = try await Self.longAccount("export-long", in: world)
        let bearer = try created.bearer()
        let other = try await world.newAccount("export-short").bearer()
        // What the first of anything takes, is taken.
        #expect(try await service.get("/v1/account/export", bearer: other).status == 200)
        let before = try memory(of: service, "VmHWM")
        let answer = RawAnswer(try await Self.ask(service.port, "/v1/account/export", bearer).readToEnd())
        let after = try memory(of: service, "VmHWM")
        #expect(answer.status == 200)
        #expect(answer.isWhole)
        #expect(answer.body.utf8.count > Self.bytes)
        #expect(answer.body.components(separatedBy: #""reason":"row-"#).count == Self.rows + 1)
        #expect(after - before < 16 * 1024, "\(before) KiB became \(after)")
    }

    @Test(.world)
    func `administrators that don't read have four places apart, and give them up when they go`() async throws {
        let created = try await Self.longAccount("export-stalled", in: world)
        let bearer = try created.bearer()
        let key = try await world.adminKey("manage")
        let path = "/admin/v1/accounts/\(try created.accountID())/export"
        var stalled = try (1...4).map { _ in try Self.ask(service.privatePort, path, key) }
        try await eventually("all to have begun") { try await world.recorded("type = 'account_exported'") == 4 }
        let owner = try Self.ask(service.port, "/v1/account/export", bearer)
        #expect(await owner.readSome().starts(with: Array("HTTP/1.1 200 ".utf8)))
        #expect(try await service.administer("GET", path, bearer: key).expecting(503)["Retry-After"] == "1")
        // Until here they are open.
        withExtendedLifetime(stalled) {}
        stalled = []
        try await eventually("a place to be free") {
            let client = try Self.ask(service.privatePort, path, key)
            return await client.readSome().starts(with: Array("HTTP/1.1 200 ".utf8))
        }
    }

    @Test(.world) func `an owner that doesn't read has two places, and gives them up on going`() async throws {
        let created = try await Self.longAccount("export-stalled", in: world)
        let bearer = try created.bearer()
        var stalled = try (1...2).map { _ in try Self.ask(service.port, "/v1/account/export", bearer) }
        try await eventually("both to have begun") { try await world.recorded("type = 'account_exported'") == 2 }
        let third = try await service.get("/v1/account/export", bearer: bearer)
        third.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...1)
        let other = try await world.newAccount("export-beside").bearer()
        #expect(try await service.get("/v1/account/export", bearer: other).status == 200)
        // Until here they are open.
        withExtendedLifetime(stalled) {}
        stalled = []
        try await eventually("a place to be free") {
            let client = try Self.ask(service.port, "/v1/account/export", bearer)
            return await client.readSome().starts(with: Array("HTTP/1.1 200 ".utf8))
        }
    }

    @Test func `a document whose database goes away in the middle has no end`() async throws {
        try await World.onCluster { cluster, world in
            let service = world.service
            let created = try await Self.longAccount("export-cut", in: world)
            let bearer = try created.bearer()
            let client = try Self.ask(service.port, "/v1/account/export", bearer)
            var begun = await client.readSome()
            #expect(String(decoding: begun, as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
            // The head may come before the first row.
            while !begun.contains(UInt8(ascii: "{")) {
                let more = await client.readSome()
                begun += more
                try #require(!more.isEmpty)
            }
            try await cluster.stop()
            let cut = RawAnswer(begun + (await client.readToEnd()))
            #expect(!cut.isWhole)
            #expect(cut.body.utf8.count < Self.bytes)
            #expect(cut.body.hasPrefix("{\"exportedAt\":"))

            _ = try await cluster.start()
            try await world.scratch.awaitWrites(of: "postgres")
            try await world.awaitService(bearer)
            let whole = RawAnswer(try await Self.ask(service.port, "/v1/account/export", bearer).readToEnd())
            #expect(whole.isWhole)
            #expect(whole.body.utf8.count > Self.bytes)
        }
    }

    // MARK: - Who gets none

    @Test func `account export finds no account that is not there`() async throws {
        let id = try await world.newAccount("export-refused").accountID()
        let ending = try await world.run(["account", "export", Self.unknown]).expecting(1)
        #expect(ending.output.isEmpty)
        #expect(ending.error == "countersign: There is no account \(Self.unknown).\n")
        for argument in ["kim", id.uppercased()] {
            #expect(try await world.run(["account", "export", argument]).status == 2, "\(argument)")
        }
    }
}
