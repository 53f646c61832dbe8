import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Rotation from one line of the key ring to the next, with two processes that are restarted one after the other.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct KeyRingRotationTests {
    private static let address = ["tokens.issuer": "https://a.example", "tokens.audience": "a"]

    private static func line(_ id: String) -> String {
        "\(id) \(Data((0..<32).map { _ in .random(in: 0...255) }).base64EncodedString())\n"
    }

    @Test func `a new line replaces the old one without a failed request, process by process`() async throws {
        let (old, new) = (Self.line("k1"), Self.line("k2"))
        let rings = [
            try World.privateFile("ring-1", old), try World.privateFile("ring-2", old + new),
            try World.privateFile("ring-3", new + old), try World.privateFile("ring-4", new),
        ]
        try await World.run(Self.address.merging(["keyring.path": rings[0]]) { _, new in new }) { world in
            func start(_ ring: String) async throws -> Countersign {
                let own = Self.address.merging(["keyring.path": ring]) { _, new in new }
                return try await Countersign.start(
                    try World.settings(world.scratch, world.sandbox).merging(own) { _, new in new })
            }
            func run(_ arguments: String..., ring: String) async throws -> Countersign.Ending {
                try await world.run(arguments, ["keyring.path": ring])
            }
            let veteran = try await world.newGrantedAccount("veteran")
            let feedKey = try await world.adminKey("feed")
            func feed(_ query: String, of service: Countersign) async throws -> RawAnswer {
                try await service.administer("GET", "/admin/v1/feed?\(query)", bearer: feedKey)
            }
            let born = try await feed("limit=1&wait=25", of: world.service)
            let cursor = try #require(born.json?["next"]?.string, "\(born.body)")
            let event = try #require(born.items.first?["id"]?.string, "\(born.body)")
            await world.service.stop()
            var services = [try await start(rings[0]), try await start(rings[0])]
            var refresh = try veteran.refreshToken()
            var stage = 0

            /// Expects that each process accepts the tokens of the other one.
            func everythingWorks() async throws {
                stage += 1
                for (one, other) in [(services[0], services[1]), (services[1], services[0])] {
                    let name = "stage-\(stage)-\(one.port)"
                    let here = World(service: one, sandbox: world.sandbox, scratch: world.scratch)
                    let created = try await here.newGrantedAccount(name)
                    let answer = try await other.refresh(try created.refreshToken())
                    #expect(answer.status == 200, "stage \(stage)")
                    let access = try answer.text("accessToken")
                    #expect(try await one.delete("/v1/account", bearer: access).status == 202, "stage \(stage)")
                    let kept = try await one.refresh(refresh)
                    #expect(kept.status == 200, "stage \(stage)")
                    refresh = try kept.text("refreshToken")
                }
                try await eventually("the revocations") {
                    try await world.count("SELECT count(*) FROM outbox WHERE status = 'pending'") == 0
                }
                #expect(
                    try await world.count(
                        "SELECT count(*) FROM outbox WHERE status <> 'done' OR last_error IS NOT NULL") == 0)
            }
            func restartAll(with ring: String) async throws {
                for index in services.indices {
                    #expect(await services[index].stop().status == 0)
                    services[index] = try await start(ring)
                    try await everythingWorks()
                }
            }

            try await everythingWorks()
            try await restartAll(with: rings[1])
            try await restartAll(with: rings[2])

            // Two runs at once, under sign-ins and refreshes.
            let load = Load()
            try await withThrowingTaskGroup { group in
                for (index, service) in services.enumerated() {
                    let here = World(service: service, sandbox: world.sandbox, scratch: world.scratch)
                    group.addTask {
                        var number = 0
                        while !load.isOver || number == 0 {
                            number += 1
                            let created = try await here.newGrantedAccount("load-\(index)-\(number)")
                            try await service.refresh(try created.refreshToken()).expecting(200)
                        }
                    }
                }
                async let one = run("keyring", "rewrap", ring: rings[2])
                async let other = run("keyring", "rewrap", ring: rings[2])
                let endings = [try await one, try await other]
                load.end()
                #expect(endings.map(\.status) == [0, 0], "\(endings.map(\.error))")
                for ending in endings {
                    #expect(ending.output.contains("grants: "))
                    #expect(ending.output.contains("signing keys: "))
                    #expect(ending.output.contains("line k1: was the first one until 20"))
                    #expect(ending.output.contains("sessions at the console, until 20"))
                    #expect(ending.output.contains("cursors of the feed, until 20"))
                    #expect(ending.output.contains("seals of the audit trail"))
                }
                try await group.waitForAll()
            }
            let audit = try await run("audit", "verify", ring: rings[2])
            #expect(audit.status == 0, "\(audit.output)")

            #expect(try await feed("after=\(cursor)", of: services[0]).status == 200)

            // The processes work without the old line; only a verification of the audit seals that it made needs it, and
            // who has a cursor of it goes on from the event.
            try await restartAll(with: rings[3])
            #expect(try await feed("after=\(cursor)", of: services[0]).status == 400)
            #expect(try await feed("after=\(event)", of: services[0]).status == 200)
            #expect(try await run("keyring", "rewrap", ring: rings[3]).status == 0)
            #expect(try await run("audit", "verify", ring: rings[2]).status == 0)
            let alone = try await run("audit", "verify", ring: rings[3]).expecting(1)
            #expect(alone.output.contains("the key ring lacks the key k1"))
            for service in services { #expect(await service.stop().status == 0) }
        }
    }

    @Test func `the seals of a line are reported even when its use was not recorded`() async throws {
        let (old, new) = (Self.line("k1"), Self.line("k2"))
        let ring = ["keyring.path": try World.privateFile("ring-old", old)]
        try await World.run(Self.address.merging(ring) { _, new in new }) { world in
            try await world.newGrantedAccount("kim")
            try await eventually("a seal") { try await world.count("SELECT count(*) FROM audit_seals") > 0 }
            await world.service.stop()
            try await world.scratch.execute("DELETE FROM keyring_lines")
            let ending = try await world.run(
                ["keyring", "rewrap"], ["keyring.path": try World.privateFile("ring-new", new + old)])
            #expect(ending.status == 0, "\(ending.error)")
            #expect(ending.output.contains("line k1: wrote until before this was noted: keep it for tokens.refresh"))
            #expect(ending.output.contains("seals of the audit trail"), "\(ending.output)")
        }
    }

    @Test func `a ring that is not the service's makes no key and reseals nothing`() async throws {
        let rows: SQL = """
            SELECT encode(sealed_private_key, 'hex') FROM signing_keys
            UNION ALL SELECT encode(sealed_refresh_token, 'hex') FROM provider_grants
            """
        let (old, new) = (Self.line("k1"), Self.line("k2"))
        let own = ["keyring.path": try World.privateFile("ring-own", new + old)]
        try await World.run(Self.address.merging(own) { _, new in new }) { world in
            try await world.newGrantedAccount("kim")
            let before = try await world.scratch.texts(rows).sorted()
            #expect(before.count == 2)
            func run(_ arguments: [String], _ ring: String) async throws -> Countersign.Ending {
                try await world.run(arguments, ["keyring.path": try World.privateFile("ring-wrong", ring)])
            }
            let foreign = try await run(["keys", "rotate", "--lead", "5"], Self.line("k9")).expecting(1)
            #expect(foreign.error.contains("and no key was made. The key ring lacks a key"), "\(foreign.error)")
            #expect(foreign.output.isEmpty)
            // The right id, and other bytes.
            let mistaken = Self.line("k2")
            for (arguments, ring) in [
                (["keys", "rotate"], mistaken), (["keyring", "rewrap"], mistaken),
                (["keys", "rotate"], mistaken + old), (["keyring", "rewrap"], mistaken + old),
            ] {
                let ending = try await run(arguments, ring).expecting(1)
                #expect(ending.error.contains("the key ring, k2, opens nothing that is sealed"), "\(ending.error)")
                #expect(ending.output.isEmpty)
            }
            #expect(try await world.scratch.texts(rows).sorted() == before)
        }
    }

    @Test func `a next key that the service can't open is named and replaced`() async throws {
        let (old, new) = (Self.line("k1"), Self.line("k2"))
        let own = ["keyring.path": try World.privateFile("ring-before", old + new)]
        try await World.run(Self.address.merging(own) { _, new in new }) { world in
            func run(_ arguments: [String], _ ring: String) async throws -> Countersign.Ending {
                try await world.run(arguments, ["keyring.path": try World.privateFile("ring-of-next", ring)])
            }
            func keyID(_ ending: Countersign.Ending) throws -> String {
                #expect(ending.status == 0, "\(ending.error)")
                let line = try ending.json
                return try #require(line["keyId"]?.string)
            }
            // Nothing of the service's is under k2 yet, so that this can't be seen.
            let bad = try keyID(try await run(["keys", "rotate"], Self.line("k2") + old))
            let rewrap = try await run(["keyring", "rewrap"], new + old).expecting(1)
            #expect(rewrap.output.contains("signing keys: 1 resealed, 1 under other lines; 1 can't be opened: "))
            #expect(rewrap.output.contains("of that id. The first is \(bad)."), "\(rewrap.output)")

            let rotation = try await run(["keys", "rotate"], new + old)
            let good = try keyID(rotation)
            #expect(good != bad)
            #expect(rotation.error.contains("the next key was \(bad)"), "\(rotation.error)")
            #expect(try await run(["keyring", "rewrap"], new + old).status == 0)
            try await eventually("its publication") {
                let keys = try await world.service.get("/.well-known/jwks.json").json?["keys"]?.elements ?? []
                return keys.first?["kid"]?.string == good && keys.count == 2
            }
        }
    }

    @Test func `what no line of the ring opens is reported, and the exit status is 1`() async throws {
        try await World.run { world in
            try await world.newGrantedAccount("kim")
            let ending = try await world.run(
                ["keyring", "rewrap"], ["keyring.path": try World.privateFile("other", Self.line("other"))])
            #expect(ending.status == 1)
            let line = "grants: 0 resealed, 1 under other lines; 1 can't be opened: The key ring"
            #expect(ending.output.contains(line), "\(ending.output)")
        }
    }
}
