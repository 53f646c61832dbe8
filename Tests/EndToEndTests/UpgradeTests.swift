import Foundation
import Migrator
import Postgres
import TestSupport
import Testing

/// A process of this release while a later one changes the schema, and after the return to this one.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct UpgradeTests: WorldSuite {
    private static let latest = Migration.embedded.count

    /// The migrations of possible later releases: every kind of addition, one table at a time, and finally a removal.
    private static let additions = [
        Migration(
            version: latest + 1, name: "create_nicknames",
            up: """
                -- why: for the test
                CREATE TABLE nicknames (nickname text PRIMARY KEY, account_id uuid NOT NULL REFERENCES accounts);

                """,
            down: "-- why: for the test\nDROP TABLE nicknames;\n"),
        Migration(
            version: latest + 2, name: "name_accounts",
            up: "-- why: for the test\nALTER TABLE accounts ADD COLUMN nickname text NOT NULL DEFAULT '';\n",
            down: "-- why: for the test\nALTER TABLE accounts DROP COLUMN nickname;\n"),
        Migration(
            version: latest + 3, name: "name_sessions",
            up: """
                -- why: for the test
                ALTER TABLE sessions ADD COLUMN nickname text,
                    ADD CONSTRAINT sessions_nickname_bounded CHECK (octet_length(nickname) < 100) NOT VALID;

                """,
            down: "-- why: for the test\nALTER TABLE sessions DROP COLUMN nickname;\n"),
        Migration(
            version: latest + 4, name: "name_identities",
            up: "-- why: for the test\nALTER TABLE identities ADD COLUMN nickname text;\n",
            down: "-- why: for the test\nALTER TABLE identities DROP COLUMN nickname;\n"),
        Migration(
            version: latest + 5, name: "index_nicknames",
            up: """
                -- no-transaction: for the test
                CREATE INDEX CONCURRENTLY IF NOT EXISTS accounts_nickname_idx ON accounts (nickname);
                CREATE INDEX CONCURRENTLY IF NOT EXISTS sessions_nickname_idx ON sessions (nickname);
                ALTER TABLE sessions VALIDATE CONSTRAINT sessions_nickname_bounded;

                """,
            down: """
                -- no-transaction: for the test
                DROP INDEX CONCURRENTLY IF EXISTS sessions_nickname_idx;
                DROP INDEX CONCURRENTLY IF EXISTS accounts_nickname_idx;

                """),
    ]
    private static let removal = Migration(
        version: latest + 6, name: "drop_something",
        up: """
            -- why: for the test
            -- serves-from: \(label(latest + 5))
            ALTER TABLE identities DROP COLUMN nickname;

            """,
        down: "-- why: for the test\nALTER TABLE identities ADD COLUMN nickname text;\n")

    private static func label(_ version: Int) -> String {
        String(repeating: "0", count: max(0, 4 - String(version).count)) + String(version)
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
                try await withMigrator(Self.additions, world) { later in
                    let steps = try await later.up()
                    #expect(steps.count == Self.additions.count)
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
        let settings = try World.settings(world.scratch, world.sandbox)
        try await Countersign.serve(settings, arguments: ["--migrate"]) { service in
            let answer = try await service.signInWithApple(try await world.appleToken("pat"))
            #expect(answer.status == 200)
            #expect(try await readiness(service) == 200)
        }
        let doctor = try await Countersign.run(["doctor"], settings)
        #expect(doctor.output.contains("warning schema: a later release brought it to"), "\(doctor.output)")
    }

    @Test func `a later release that takes away what this one needs ends its service, and says what to do`()
        async throws
    {
        try await withMigrator(Self.additions + [Self.removal], world) { later in
            _ = try await later.up()
            #expect(try await readiness(world.service) == 503)
            #expect(try await readiness(world.service) == 503)
            let settings = try World.settings(world.scratch, world.sandbox)
            let ending = try await Countersign.run(["serve"], settings)
            let sentence =
                "Migration \(Self.removal.label) of a later release took away what this one needs: start that "
                + "release, or another that knows migration \(Self.label(Self.latest + 5))."
            #expect(ending.status == 1)
            #expect(ending.error == "countersign: \(sentence)\n")

            _ = try await later.down()
            #expect(try await readiness(world.service) == 200)
            let log = await world.service.stop().error
            #expect(log.components(separatedBy: sentence).count == 2, "logged once: \(log)")
        }
    }
}
