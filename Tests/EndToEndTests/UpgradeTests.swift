import Foundation
import Migrator
import Postgres
import TestSupport
import Testing

/// A process of this release while a later one changes the schema, and after the return to this one.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct UpgradeTests: WorldSuite {
    private struct Step: Decodable {
        let name: String
        let up: [String]
        let down: [String]
    }

    /// The migrations of possible later releases: every kind of addition, one table at a time, and finally a removal.
    private static let later = Result {
        let steps = try Fixtures.file("later-migrations.json").decoded(as: [Step].self)
        let latest = Migration.embedded.count
        let before = String(format: "%04d", latest + steps.count - 1)
        return zip((latest + 1)..., steps).map { version, step in
            let up = step.up.joined(separator: "\n").replacing("{before}", with: before)
            return Migration(
                version: version, name: step.name, up: up + "\n", down: step.down.joined(separator: "\n") + "\n")
        }
    }

    private func withMigrator(_ migrations: [Migration], _ world: World, _ body: (Migrator) async throws -> Void)
        async throws
    {
        try await world.scratch.withPool { database in
            try await body(Migrator(database: database, migrations: Migration.embedded + migrations, logger: .silent))
        }
    }

    private func readiness(_ service: Countersign) async throws -> Int {
        Int(try await service.privateGet("/health/ready").status)
    }

    @Test func `while a later release adds to the schema no sign-in fails, and this one still starts and serves on it`()
        async throws
    {
        _ = try await world.newAccount("kim")
        let token = try await world.appleToken("kim")
        let load = Load()
        let additions = try Self.later.get().dropLast()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // On connections that have prepared everything before.
            for _ in 0..<4 {
                group.addTask {
                    while !load.isOver {
                        let answer = try await world.service.signInWithApple(token)
                        load.count(answer.code ?? "\(answer.status)")
                    }
                }
            }
            do {
                try await eventually("sign-ins before") { load.counts["200", default: 0] > 20 }
                try await withMigrator(Array(additions), world) { later in
                    let steps = try await later.up()
                    #expect(steps.count == additions.count)
                }
                let before = load.counts["200", default: 0]
                try await eventually("sign-ins after") { load.counts["200", default: 0] > before + 20 }
            } catch {
                load.end()
                throw error
            }
            load.end()
            try await group.waitForAll()
        }
        // A stalled machine may shed the pending request of each of the four tasks once.
        #expect(load.counts["temporarily_unavailable", default: 0] <= 4)
        #expect(Set(load.counts.keys).isSubset(of: ["200", "temporarily_unavailable"]), "\(load.counts)")
        #expect(try await readiness(world.service) == 200)
        _ = try await world.newAccount("pat")

        // The return to this release is a start of it.
        let settings = try World.settings(scratch, world.sandbox)
        try await Countersign.serve(settings, arguments: ["--migrate"]) { service in
            try await service.signInWithApple(try await world.appleToken("pat")).expecting(200)
            #expect(try await readiness(service) == 200)
        }
        let doctor = try await Countersign.run(["doctor"], settings)
        #expect(doctor.output.contains("warning schema: a later release brought it to"), "\(doctor.output)")
    }

    @Test
    func `a later release that takes away what this one needs ends its service, and says what to do`() async throws {
        let migrations = try Self.later.get()
        let (before, removal) = (migrations[migrations.count - 2].label.prefix(4), migrations[migrations.count - 1])
        try await withMigrator(migrations, world) { later in
            _ = try await later.up()
            #expect(try await readiness(service) == 503)
            #expect(try await readiness(service) == 503)
            let settings = try World.settings(scratch, world.sandbox)
            let ending = try await Countersign.run(["serve"], settings)
            let sentence =
                "Migration \(removal.label) of a later release took away what this one needs: start that "
                + "release, or another that knows migration \(before)."
            #expect(ending.status == 1)
            #expect(ending.error == "countersign: \(sentence)\n")

            _ = try await later.down()
            #expect(try await readiness(service) == 200)
            let log = await service.stop().error
            #expect(log.components(separatedBy: sentence).count == 2, "logged once: \(log)")
        }
    }
}
