import Postgres

/// A row of `schema_migrations`.
package struct AppliedMigration: Sendable, Equatable {
    package let version: Int
    package let name: String
    package let checksum: String
    /// RFC 3339, UTC. Absent while a migration outside a transaction is under way, and after it was interrupted.
    package let finishedAt: String?
    /// `MigrationScript.servesFrom`, for programs that don't have the script.
    package var servesFrom: Int?

    package var label: String { Migration.label(version: version, name: name) }
}

/// The binary's migrations beside the database's. Pure: every rule about what may run is decided here.
package struct MigrationHistory: Sendable {
    /// Ascending, from 1, without a gap.
    package let migrations: [Migration]
    /// Ascending by version.
    package let applied: [AppliedMigration]

    /// The migrations of a later program, applied or under way.
    package var later: [AppliedMigration] { applied.filter { migration($0.version) == nil } }

    /// The reasons not to serve. A later migration is none unless it names a level: later migrations add to the schema
    /// while older programs serve, and an operator may go back to an older program.
    package var servingFaults: [MigrationFault] { disagreements + later.compactMap(supersession(by:)) + unfinished }

    /// All differences between binary and database.
    package var differences: [MigrationFault] { disagreements + later.map { .unknown($0.label) } + unfinished }

    /// The migrations that `up` has to apply, interrupted ones included; none on the schema of a later program. Refused
    /// where that has taken away what this one needs: who brings the schema up starts the program next.
    package func pending(to target: Int? = nil) throws(MigrationFault) -> [Migration] {
        if let fault = disagreements.first ?? later.compactMap(supersession(by:)).first { throw fault }
        if let target, migration(target) == nil { throw .noSuchVersion(target, latest: migrations.count) }
        let finished = Set(applied.filter { $0.finishedAt != nil }.map(\.version))
        return migrations.filter { $0.version <= target ?? .max && !finished.contains($0.version) }
    }

    /// The migrations that `down` has to revert, latest first; refused when only a later program could revert the
    /// latest.
    package func reversible(steps: Int) throws(MigrationFault) -> [Migration] {
        if let fault = disagreements.first { throw fault }
        if let latest = later.last { throw .unknown(latest.label) }
        return applied.reversed().prefix(max(0, steps)).compactMap { migration($0.version) }
    }

    /// Each migration of either side, in order.
    package var entries: [MigrationEntry] {
        let known = migrations.map { migration in
            let row = applied.first { $0.version == migration.version }
            return MigrationEntry(label: row?.label ?? migration.label, state: state(of: migration, row))
        }
        let unknown = later.map { row in
            MigrationEntry(label: row.label, state: supersession(by: row) == nil ? .unknown : .superseding)
        }
        return known + unknown
    }

    private func state(of migration: Migration, _ row: AppliedMigration?) -> MigrationEntry.State {
        guard let row else { return .pending }
        guard !isEdited(migration, row) else { return .edited }
        return row.finishedAt.map { .applied(at: $0) } ?? .interrupted
    }

    /// The fault of a later migration that names a level above this program's.
    private func supersession(by row: AppliedMigration) -> MigrationFault? {
        guard let level = row.servesFrom, level > migrations.count else { return nil }
        return .superseded(row.label, servesFrom: level)
    }

    /// The differences between the rows of the binary's own migrations and what it would have written, by version.
    private var disagreements: [MigrationFault] {
        var faults: [MigrationFault] = []
        var expected = 1
        for row in applied {
            while expected < row.version, let skipped = migration(expected) {
                faults.append(.skipped(skipped.label, later: row.label))
                expected += 1
            }
            expected = row.version + 1
            if let migration = migration(row.version), isEdited(migration, row) {
                faults.append(.edited(row.label))
            }
        }
        return faults
    }

    /// Whether the migration was applied in another form, and none that a later one mends.
    private func isEdited(_ migration: Migration, _ row: AppliedMigration) -> Bool {
        guard row.name == migration.name else { return true }
        let form = MigrationScript.Mended(version: row.version, checksum: row.checksum)
        return row.checksum != migration.checksum && !migrations.contains { $0.up.mended.contains(form) }
    }

    /// The faults that `up` would remove.
    private var unfinished: [MigrationFault] {
        var faults = applied.filter { $0.finishedAt == nil && migration($0.version) != nil }
            .map { MigrationFault.interrupted($0.label) }
        let versions = Set(applied.map(\.version))
        let missing = migrations.filter { !versions.contains($0.version) }
        if applied.isEmpty, !migrations.isEmpty {
            faults.append(.noSchema)
        } else if let first = missing.first {
            faults.append(.behind(missing.count, first: first.label))
        }
        return faults
    }

    private func migration(_ version: Int) -> Migration? {
        migrations.indices.contains(version - 1) ? migrations[version - 1] : nil
    }
}

extension MigrationHistory {
    /// Reads the bookkeeping; a database without one has no history.
    static func read(of migrations: [Migration], from session: some PostgresSession) async throws -> MigrationHistory {
        guard try await hasBookkeeping(session) else { return MigrationHistory(migrations: migrations, applied: []) }
        let applied = try await session.query(
            """
            SELECT version, name, checksum,
                   to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), serves_from
            FROM schema_migrations ORDER BY version
            """, as: Int.self, String.self, String.self, String?.self, Int?.self
        ).map(AppliedMigration.init)
        return MigrationHistory(migrations: migrations, applied: applied)
    }

    static func hasBookkeeping(_ session: some PostgresSession) async throws -> Bool {
        try await session.query("SELECT to_regclass('schema_migrations') IS NOT NULL", as: Bool.self).contains(true)
    }
}
