import Testing

@testable import Migrator

@Suite struct MigrationHistoryTests {
    private static let migrations = [
        Migration(version: 1, name: "create_a", up: "-- why\n", down: "-- why\n"),
        Migration(version: 2, name: "create_b", up: "-- why\n", down: "-- why\n"),
        Migration(version: 3, name: "create_c", up: "-- why\n", down: "-- why\n"),
    ]

    private static func laterRow(_ version: Int, servesFrom: Int? = nil, finishedAt: String? = "2026-01-02T00:00:00Z")
        -> AppliedMigration
    {
        AppliedMigration(
            version: version, name: "come_later", checksum: "00", finishedAt: finishedAt, servesFrom: servesFrom)
    }

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

    @Test func `a form of a migration is accepted that a later one mends, and no other`() throws {
        let (known, other) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))
        let mend = Migration(version: 4, name: "mend_b", up: "-- why\n-- mends: 0002 \(known)\n", down: "-- why\n")
        func history(_ version: Int, _ name: String, _ checksum: String) -> MigrationHistory {
            let row = AppliedMigration(
                version: version, name: name, checksum: checksum, finishedAt: "2026-01-01T00:00:00Z")
            return MigrationHistory(
                migrations: Self.migrations + [mend],
                applied: [Self.row(1), Self.row(2), Self.row(3)].map { $0.version == version ? row : $0 })
        }
        #expect(try history(2, "create_b", known).pending().map(\.label) == ["0004_mend_b"])
        for refused in [history(2, "create_b", other), history(2, "make_b", known), history(3, "create_c", known)] {
            #expect(throws: MigrationFault.self) { try refused.pending() }
        }
    }

    @Test func `an interrupted migration is pending again`() throws {
        let history = Self.history([Self.row(1), Self.row(2, finishedAt: nil)])
        #expect(try history.pending(to: 2).map(\.label) == ["0002_create_b"])
        #expect(history.servingFaults.map(\.description).contains { $0.contains("0002_create_b was interrupted") })
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

    @Test(arguments: ["2026-01-02T00:00:00Z", nil])
    func `a later migration, done or half-way, is served on, and neither added to nor taken back`(finishedAt: String?)
        throws
    {
        let history = Self.history([Self.row(1), Self.row(2), Self.row(3), Self.laterRow(4, finishedAt: finishedAt)])
        #expect(history.servingFaults.isEmpty)
        #expect(try history.pending().isEmpty)
        #expect(history.entries.map(\.state).last == .unknown)
        let fault = #expect(throws: MigrationFault.self) { try history.reversible(steps: 1) }
        #expect(fault?.description.contains("0004_come_later is applied to the database but unknown") == true)
        #expect(history.differences.map(\.description) == [fault?.description])
    }

    @Test(arguments: [(1, true), (3, true), (4, false), (5, false)])
    func `a later migration that names a level is served on from that level on`(level: Int, isServed: Bool) throws {
        // An even later one that names none, or a lower one, doesn't make up for it.
        let later = [Self.laterRow(4), Self.laterRow(5, servesFrom: level), Self.laterRow(6, servesFrom: 1)]
        let history = Self.history([Self.row(1), Self.row(2), Self.row(3)] + later)
        let faults = history.servingFaults
        #expect(faults.isEmpty == isServed)
        #expect(history.entries.map(\.state).suffix(3) == [.unknown, isServed ? .unknown : .superseding, .unknown])
        if isServed { #expect(try history.pending().isEmpty) }
        if let fault = faults.first {
            #expect(
                fault.description.hasPrefix(
                    "Migration 0005_come_later of a later release took away what this one needs"))
            #expect(fault.description.contains("another that knows migration 000\(level)"))
            let refusal = #expect(throws: MigrationFault.self) { try history.pending() }
            #expect(refusal?.description == fault.description)
        }
    }

    @Test func `what is wrong with a binary's own migrations counts under later ones too`() {
        let interrupted = Self.history([Self.row(1), Self.row(2), Self.row(3, finishedAt: nil), Self.laterRow(4)])
        #expect(interrupted.servingFaults.map(\.description).first?.contains("0003_create_c was interrupted") == true)
        let skipped = Self.history([Self.row(1), Self.row(2), Self.laterRow(4)])
        #expect(skipped.servingFaults.map(\.description).first?.contains("0003_create_c is not applied") == true)
        #expect(throws: MigrationFault.self) { try skipped.pending() }
    }

    @Test(
        arguments: [
            ("-- why\nSELECT 1;\n", nil), ("-- why\n-- serves-from: 0012\nSELECT 1;\n", 12),
            ("-- no-transaction: why\n-- more of why\n-- serves-from: 0003\n", 3),
            ("-- why\nSELECT 1;\n-- serves-from: 0012\n", nil),
        ] as [(String, Int?)])
    func `the level is named by a line of the comment at the head`(text: String, level: Int?) {
        #expect(MigrationScript(text: text).servesFrom == level)
    }

    @Test func `a hole among the applied ones is refused`() {
        let fault = #expect(throws: MigrationFault.self) { try Self.history([Self.row(1), Self.row(3)]).pending() }
        #expect(fault?.description.contains("0002_create_b is not applied although 0003_create_c is") == true)
    }

    @Test func `a service starts on its own schema and on no older one`() {
        #expect(Self.history([Self.row(1), Self.row(2), Self.row(3)]).servingFaults.isEmpty)
        #expect(Self.history([]).servingFaults.map(\.description).first?.contains("no schema yet") == true)
        #expect(
            Self.history([Self.row(1)]).servingFaults.map(\.description).first?
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
