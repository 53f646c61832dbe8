import Testing

@testable import Migrator

@Suite struct MigrationHistoryTests {
    private static let migrations = [
        Migration(version: 1, name: "create_a", up: "-- why\n", down: "-- why\n"),
        Migration(version: 2, name: "create_b", up: "-- why\n", down: "-- why\n"),
        Migration(version: 3, name: "create_c", up: "-- why\n", down: "-- why\n"),
    ]

    private static func row(_ version: Int, finishedAt: String? = "2026-01-01T00:00:00Z") -> AppliedMigration {
        let migration = migrations[version - 1]
        return AppliedMigration(
            version: version, name: migration.name, checksum: migration.checksum, finishedAt: finishedAt)
    }

    private static func history(_ applied: [AppliedMigration]) -> MigrationHistory {
        MigrationHistory(migrations: migrations, applied: applied)
    }

    @Test func `what is not applied is pending, in order`() throws {
        #expect(try Self.history([Self.row(1)]).pending().map(\.label) == ["0002_create_b", "0003_create_c"])
        #expect(try Self.history([Self.row(1)]).pending(to: 2).map(\.label) == ["0002_create_b"])
        #expect(try Self.history([Self.row(1), Self.row(2)]).pending(to: 1).isEmpty)
    }

    @Test func `an interrupted migration is pending again`() throws {
        let history = Self.history([Self.row(1), Self.row(2, finishedAt: nil)])
        #expect(try history.pending(to: 2).map(\.label) == ["0002_create_b"])
        #expect(history.faultsOfService.map(\.description).contains { $0.contains("0002_create_b was interrupted") })
    }

    @Test func `down goes backwards and stops at the first`() throws {
        let history = Self.history([Self.row(1), Self.row(2)])
        #expect(try history.reversible(steps: 1).map(\.label) == ["0002_create_b"])
        #expect(try history.reversible(steps: 9).map(\.label) == ["0002_create_b", "0001_create_a"])
    }

    @Test(arguments: [0, 4, -1]) func `a target that is no migration is refused`(version: Int) {
        let fault = #expect(throws: MigrationFault.self) { try Self.history([]).pending(to: version) }
        #expect(fault?.description.contains("name one from 0001 to 0003") == true)
    }

    @Test(
        arguments: [
            AppliedMigration(version: 1, name: "create_a", checksum: "00", finishedAt: "2026-01-01T00:00:00Z"),
            AppliedMigration(
                version: 1, name: "make_a", checksum: migrations[0].checksum, finishedAt: "2026-01-01T00:00:00Z"),
        ])
    func `an edited or renamed migration is refused both ways`(row: AppliedMigration) {
        let history = Self.history([row])
        for attempt in [{ try history.pending() }, { try history.reversible(steps: 1) }] as [() throws -> [Migration]] {
            let fault = #expect(throws: MigrationFault.self) { _ = try attempt() }
            #expect(fault?.description.contains("was edited or renamed after it was applied") == true)
        }
        #expect(history.entries[0].state == .edited)
    }

    @Test func `a migration that only the database knows is refused`() {
        let later = AppliedMigration(version: 4, name: "create_d", checksum: "00", finishedAt: "2026-01-01T00:00:00Z")
        let history = Self.history([Self.row(1), Self.row(2), Self.row(3), later])
        let fault = #expect(throws: MigrationFault.self) { try history.pending() }
        #expect(fault?.description.contains("0004_create_d is applied to the database but unknown") == true)
        #expect(history.entries.map(\.state).last == .unknown)
    }

    @Test func `a hole among the applied ones is refused`() {
        let fault = #expect(throws: MigrationFault.self) { try Self.history([Self.row(1), Self.row(3)]).pending() }
        #expect(fault?.description.contains("0002_create_b is not applied although 0003_create_c is") == true)
    }

    @Test func `a service starts on exactly its own schema`() {
        #expect(Self.history([Self.row(1), Self.row(2), Self.row(3)]).faultsOfService.isEmpty)
        #expect(Self.history([]).faultsOfService.map(\.description).first?.contains("no schema yet") == true)
        #expect(
            Self.history([Self.row(1)]).faultsOfService.map(\.description).first?
                .contains("2 migrations behind this binary, beginning with 0002_create_b") == true)
    }

    @Test(
        arguments: [
            Migration(version: 1, name: "create_b", up: "-- why\n", down: "-- why\n"),
            Migration(version: 1, name: "create_a", up: "-- why \n", down: "-- why\n"),
            Migration(version: 1, name: "create_a", up: "-- why\n", down: "-- why \n"),
            Migration(version: 1, name: "create_a", up: "", down: "-- why\n-- why\n"),
        ])
    func `name and both scripts move the checksum`(other: Migration) {
        #expect(other.checksum != Self.migrations[0].checksum)
        #expect(other.checksum.utf8.count == 64)
    }
}
