import Curl
import Foundation
import JSON
import OpenSSL
import Postgres
import Primitives
import TestSupport
import Testing

/// Commands of an operator while the service runs.
@Suite(.limitedConcurrency, .world, .timeLimit(.minutes(30))) struct OperatorTests: WorldSuite {
    // MARK: countersign identity revoke

    private func revoke(_ identityID: String, _ more: String...) async throws -> Countersign.Ending {
        try await world.run(["identity", "revoke", identityID, "--reason", "a stolen phone"] + more)
    }

    /// The words of the command's output: the revocation's id, its status, and `unlinked` or `kept`.
    private func words(_ ending: Countersign.Ending, _ location: SourceLocation = #_sourceLocation) -> [String] {
        #expect(ending.status == 0, "\(ending.error)", sourceLocation: location)
        return ending.output.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    @Test func `identity revoke ends the authorization and its sessions, and unlinks the identity`() async throws {
        let created = try await world.newGrantedAccount("two-ways")
        let apple = try created.identityID()
        let access = try created.bearer()
        let ticket = try await service.signIn(.google, try await world.authorize("two-ways", .google).codeAlone)
        let bound = try await service.bind(try ticket.linkTicket(), bearer: access)
        let other = try bound.bearer()

        let done = words(try await revoke(apple))
        #expect(done.dropFirst() == ["pending", "unlinked"])
        #expect(try await service.get("/v1/account", bearer: access).status == 401)
        let account = try await service.get("/v1/account", bearer: other)
        let left = account.json?["identities"]?.elements ?? []
        #expect(left.map { $0["provider"]?.string } == ["google"])
        #expect(left.map { $0["authorization"]?.string } == ["active"])
        try await eventually("the revocation") { try await world.grants(of: "two-ways").map(\.endedBy) == [.revoke] }
        #expect(try await world.grants(of: "two-ways", .google).map(\.isLive) == [true])
        try await eventually("the record of it") {
            try await world.count("SELECT count(*) FROM outbox WHERE message_id = \(done[0])::uuid AND status = 'done'")
                == 1
        }
        let recorded = try await world.recorded(
            """
            identity_id = \(apple)::uuid AND revocation_id = \(done[0])::uuid AND account_id IS NOT NULL AND (
                type = 'revocation_requested' AND actor = 'operator' AND reason = 'a stolen phone'
                OR type = 'revocation_done' AND actor = 'service')
            """)
        #expect(recorded == 2)
    }

    @Test func `identity revoke keeps the last way in`() async throws {
        let identity = try await world.newGrantedAccount("one-way").identityID()
        #expect(words(try await revoke(identity)).dropFirst() == ["pending", "kept"])
    }

    @Test func `identity revoke keeps an identity with --keep, and is done where nothing was granted`() async throws {
        let identity = try await world.newAccount("never-granted").identityID()
        #expect(words(try await revoke(identity, "--keep")).dropFirst() == ["done", "kept"])
    }

    @Test func `identity revoke says in a sentence what it can't do`() async throws {
        let missing = try await revoke("01926a3e-0000-7000-8000-000000000000").expecting(1)
        #expect(missing.error == "countersign: There is no identity 01926a3e-0000-7000-8000-000000000000.\n")
        let identity = try await world.newAccount("never-revoked").identityID()
        for arguments in [
            ["kim", "--reason", "a"], [identity.uppercased(), "--reason", "a"], [identity], [identity, "--reason", ""],
            [identity, "--reason", "two\nlines"], [identity, "--reason", String(repeating: "a", count: 1_025)],
        ] {
            let ending = try await world.run(["identity", "revoke"] + arguments)
            #expect(ending.status == 2, "\(arguments)")
            #expect(ending.error.hasPrefix("countersign: "), "\(ending.error)")
        }
        #expect(try await world.count("SELECT count(*) FROM outbox WHERE identity_id = \(identity)::uuid") == 0)
    }

    // MARK: countersign apple client-secret

    private func clientSecret(
        _ clientID: String = Countersign.appleClient, _ changes: Countersign.Settings = [:]
    ) async throws -> Countersign.Ending {
        let settings = try World.codeSettings(world.sandbox).merging(changes) { _, new in new }
        return try await Countersign.run(["apple", "client-secret", "--client-id", clientID], settings)
    }

    @Test func `apple client-secret prints a secret that Apple's endpoint accepts, and nothing else`() async throws {
        let ending = try await clientSecret().expecting(0)
        #expect(ending.error == "")
        let lines = ending.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 2 && lines[1] == "")
        let fields = [
            ("client_id", Countersign.appleClient), ("client_secret", String(lines[0])),
            ("grant_type", "refresh_token"), ("refresh_token", "nobody's"),
        ]
        let form = FetchRequest.form(url: world.sandbox.appleTokenURL, fields: fields)
        // The client is authenticated; only the refresh token is unknown.
        let answer = Answer(try await world.sandbox.fetcher.fetch(form.uncontended))
        #expect(answer.status == 400)
        #expect(try answer.text("error") == "invalid_grant")
    }

    @Test func `apple client-secret says in its help how long its secret is good`() async throws {
        let payload = try #require(try await clientSecret().output.split(separator: ".").dropFirst().first)
        let claims = try JSONValue(parsing: try #require(Base64URL.decode(String(payload))))
        let left = try #require(claims["exp"]?.integer) - Int64(Date().timeIntervalSince1970)
        let help = try await Countersign.run(["apple", "client-secret", "--help"])
        let minutes = try #require(help.output.firstMatch(of: /good\s+for\s+(\d+)\s+minutes/)?.1)
        #expect((left + 59) / 60 == Int64(minutes), "\(left)")
    }

    @Test func `apple client-secret wants a client of ours, and a key that is a secret`() async throws {
        let unknown = try await clientSecret("com.example.other").expecting(2)
        #expect(unknown.error.contains("--client-id com.example.other is no client of an Apple team"))

        let pem = String(decoding: try World.appleKey.get().pem(), as: UTF8.self)
        let trailing = try World.privateFile("trailing.p8", pem + "and more\n")
        let missing = try await Countersign.run(["apple", "client-secret", "--client-id", Countersign.appleClient])
        for (ending, name) in [
            (try await clientSecret(Countersign.appleClient, ["apple.privateKeyPath": trailing]), trailing),
            (try await clientSecret(Countersign.appleClient, ["apple.privateKeyPath": "/etc/passwd"]), ""),
            (missing, ""),
        ] {
            #expect(ending.status == 2)
            #expect(ending.output == "")
            #expect(ending.error.contains("apple.privateKeyPath"), "\(ending.error)")
            #expect(name.isEmpty || ending.error.contains("isn't an unencrypted PKCS#8 P-256 key"))
            #expect(!ending.error.contains("BEGIN"))
        }
    }

    @Test(
        arguments: [
            [:], ["apple.clientIds": Countersign.appleClient], ["apple.teamId": "ABCDE12345"],
            ["apple.servicesId": "com.example.lamp.web"],
        ] as [Countersign.Settings])
    func `apple client-secret asks once for each key that signing lacks, and for no other`(
        settings: Countersign.Settings
    ) async throws {
        let ending = try await Countersign.run(
            ["apple", "client-secret", "--client-id", Countersign.appleClient],
            ["apple.clientIds": Countersign.unset].merging(settings) { _, new in new })
        #expect(ending.status == 2 && ending.output == "")
        let asked = ending.error.split(separator: "\n").map { line in
            String(line.dropFirst("countersign: ".count).prefix { $0 != " " })
        }
        let needed = ["apple.clientIds", "apple.keyId", "apple.privateKeyPath", "apple.teamId"]
        #expect(asked.sorted() == needed.filter { settings[$0] == nil }, "\(ending.error)")
    }
}
