import Foundation
import JOSE
import JSON
import Postgres
import TestSupport
import Testing

/// `countersign keys`, beside two processes that serve.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct KeyRotationTests {
    private static let issuer = "https://accounts.example.com"

    private static func withTwo(_ body: (World, Countersign) async throws -> Void) async throws {
        let tokens = ["tokens.issuer": issuer, "tokens.audience": issuer]
        try await World.run(tokens) { world in
            let settings = try World.settings(world.scratch, world.sandbox).merging(tokens) { _, own in own }
            try await Countersign.serve(settings) { second in try await body(world, second) }
        }
    }

    /// The lines that the command prints.
    private static func keys(_ world: World, _ arguments: String...) async throws -> [JSONValue] {
        let ending = try await world.run(["keys"] + arguments)
        try #require(ending.status == 0, "\(ending.error)")
        return try ending.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
    }

    private static func states(_ world: World) async throws -> [String?] {
        try await keys(world, "list").map { $0["state"]?.string }
    }

    private static func keyID(_ token: String) throws -> String {
        let token = try UnverifiedToken(Array(token.utf8), allowedTypes: ["at+jwt"])
        return String(decoding: token.keyID, as: UTF8.self)
    }

    /// A key is published 27 s before it signs, instead of 900 s by default, so the 300 s of the key set's
    /// Cache-Control are scaled to 9 s.
    @Test func `while the key is rotated under load no verifier fails, whichever library it uses`() async throws {
        try await Self.withTwo { world, second in
            let services = [world.service, second]
            let verifiers = try TokenVerifier.libraries.map {
                try TokenVerifier($0, services: services, issuer: Self.issuer, scale: 0.03)
            }
            for verifier in verifiers { try await verifier.waitUntilReady() }
            let old = try #require(try await Self.keys(world, "list").first?["keyId"]?.string)
            let load = Load()
            try await withThrowingTaskGroup { group in
                for (index, service) in services.enumerated() {
                    var refresh = try await world.newAccount("load-\(index)").refreshToken()
                    group.addTask {
                        while !load.isOver {
                            let answer = try await service.refresh(refresh).expecting(200)
                            refresh = try answer.text("refreshToken")
                            let token = try answer.text("accessToken")
                            load.count(try Self.keyID(token))
                            // At the process that did not issue it.
                            try await services[1 - index].get("/v1/account", bearer: token).expecting(200)
                            for verifier in verifiers { try await verifier.submit(token) }
                        }
                    }
                }
                group.addTask {
                    defer { load.end() }
                    let new = try #require(try await Self.keys(world, "rotate", "--lead", "27").first?["keyId"]?.string)
                    for service in services {
                        try await eventually("its publication") {
                            let keys = try await service.get("/.well-known/jwks.json").json?["keys"]?.elements ?? []
                            return keys.map { $0["kid"]?.string } == [new, old]
                        }
                    }
                    try await eventually("its signatures") { load.counts[new, default: 0] > 40 }
                    #expect(try await Self.states(world) == ["signing", "verifying"])
                    #expect(load.counts[old, default: 0] > 40)
                    #expect(load.counts.count == 2)
                }
                try await group.waitForAll()
            }
            for verifier in verifiers {
                let answers = try await verifier.end()
                #expect(answers.count == load.counts.values.reduce(0, +))
                #expect(answers.filter { $0 != "ok" }.isEmpty)
            }
        }
    }

    @Test func `a rotated key signs later, and a second rotation until then makes no further one`() async throws {
        try await World.run { world in
            let new = try #require(try await Self.keys(world, "rotate").first?["keyId"]?.string)
            #expect(try await Self.states(world) == ["next", "signing"])
            #expect(try await Self.keys(world, "rotate").first?["keyId"]?.string == new)
        }
    }

    @Test func `tokens of a leaked key are refused by every process, and a refresh replaces them`() async throws {
        try await Self.withTwo { world, second in
            let session = try await world.newAccount("kim")
            let access = try session.bearer()
            #expect(try await second.get("/v1/account", bearer: access).status == 200)
            let new = try #require(try await Self.keys(world, "rotate", "--leaked").first?["keyId"]?.string)
            #expect(try await Self.keys(world, "list").map { $0["keyId"]?.string } == [new])
            for service in [world.service, second] {
                try await eventually("the end of its tokens") {
                    try await service.get("/v1/account", bearer: access).status == 401
                }
            }
            let refreshed = try await world.service.refresh(try session.refreshToken())
            let good = try refreshed.text("accessToken")
            #expect(try Self.keyID(good) == new)
            #expect(try await second.get("/v1/account", bearer: good).status == 200)
            #expect(try await second.get("/.well-known/jwks.json").json?["keys"]?.elements?.count == 1)
        }
    }

    @Test func `keys rotate says what makes no sense`() async throws {
        for (arguments, word) in [
            (["--lead", "-1"], "--lead"), (["--if-older-than", "30"], "30d"), (["--if-older-than", "0d"], "30d"),
            (["--leaked", "--if-older-than", "30d"], "exclude"),
        ] {
            let ending = try await Countersign.run(["keys", "rotate"] + arguments).expecting(2)
            #expect(ending.error.contains(word), "\(ending.error)")
        }
        try await ScratchDatabase.withMigrated { scratch in
            #expect(try await scratch.run(["keys", "list"]).expecting(0).output.isEmpty)
            let first = try await scratch.run(["keys", "rotate", "--if-older-than", "30d"]).expecting(0)
            let second = try await scratch.run(["keys", "rotate", "--if-older-than", "30d"]).expecting(0)
            #expect(second.output == first.output)
            #expect(second.error == "countersign: the present key is not that old\n")
            // The first key signs at once, unless the clock is behind that of the process that made it.
            #expect(try await scratch.count("SELECT count(*) FROM signing_keys WHERE signs_from = created_at") == 1)
            try await scratch.execute("UPDATE signing_keys SET signs_from = now() + interval '1 minute'")
            let third = try await scratch.run(["keys", "rotate"]).expecting(0)
            #expect(third.error.hasPrefix("countersign: the present key is to sign from "), "\(third.error)")
            // The only key signs, also before its time.
            let listed = try await scratch.run(["keys", "list"]).expecting(0).output
            #expect(third.output == listed && listed.contains(#""state":"signing""#), "\(listed)")
            try await scratch.execute(
                "UPDATE signing_keys SET signs_from = now() - interval '1 minute'",
                """
                INSERT INTO signing_keys (key_id, sealed_private_key, created_at, signs_from)
                SELECT 'k' || number, '\\x00', now(), now() - interval '1 hour' FROM generate_series(1, 15) AS number
                """)
            let many = try await scratch.run(["keys", "rotate"]).expecting(1)
            #expect(many.error.contains("there are 16 keys already"), "\(many.error)")
            #expect(many.output.isEmpty)
        }
    }
}
