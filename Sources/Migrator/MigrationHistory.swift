import Postgres

/// What `schema_migrations` says was done.
package struct AppliedMigration: Sendable, Equatable {
    package let version: Int
    package let name: String
    package let checksum: String
    /// RFC 3339, UTC. Absent while a migration outside a transaction is under way, and after it was cut off.
    package let finishedAt: String?

    package init(version: Int, name: String, checksum: String, finishedAt: String?) {
        self.version = version
        self.name = name
        self.checksum = checksum
        self.finishedAt = finishedAt
    }

    package var label: String {
        Migration.label(version: version, name: name)
    }

    func differs(from migration: Migration) -> Bool {
        name != migration.name || checksum != migration.checksum
    }
}

/// The binary's migrations beside the database's. Pure: every rule about what may run is decided here.
package struct MigrationHistory: Sendable {
    /// Ascending, from 1, without a gap.
    package let migrations: [Migration]
    /// Ascending by version.
    package let applied: [AppliedMigration]

    package init(migrations: [Migration], applied: [AppliedMigration]) {
        self.migrations = migrations
        self.applied = applied
    }

    /// Everything that speaks against running any migration on this database, in the order of the versions.
    package var faults: [MigrationFault] {
        var faults: [MigrationFault] = []
        var expected = 1
        for row in applied {
            while expected < row.version, let skipped = migration(expected) {
                faults.append(.skipped(skipped.label, later: row.label))
                expected += 1
            }
            expected = row.version + 1
            guard let migration = migration(row.version) else {
                faults.append(.unknown(row.label))
                continue
            }
            if row.differs(from: migration) { faults.append(.edited(row.label)) }
        }
        return faults
    }

    /// What speaks against serving: the faults, and a schema that is not exactly the binary's.
    package var faultsOfService: [MigrationFault] {
        var faults = faults
        faults += applied.filter { $0.finishedAt == nil }.map { .interrupted($0.label) }
        if applied.isEmpty, !migrations.isEmpty {
            faults.append(.noSchema)
        } else if let first = missing.first {
            faults.append(.behind(missing.count, first: first.label))
        }
        return faults
    }

    /// What `up` has to do, interrupted ones included.
    package func pending(to target: Int? = nil) throws(MigrationFault) -> [Migration] {
        try refuseFaults()
        if let target, migration(target) == nil { throw .noSuchVersion(target, latest: migrations.count) }
        let finished = Set(applied.filter { $0.finishedAt != nil }.map(\.version))
        return migrations.filter { $0.version <= target ?? .max && !finished.contains($0.version) }
    }

    /// What `down` has to take back, latest first.
    package func reversible(steps: Int) throws(MigrationFault) -> [Migration] {
        try refuseFaults()
        return applied.reversed().prefix(max(0, steps)).compactMap { migration($0.version) }
    }

    /// Each migration of either side, in order.
    package var entries: [MigrationEntry] {
        let known = migrations.map { migration in
            let row = applied.first { $0.version == migration.version }
            return MigrationEntry(label: row?.label ?? migration.label, state: state(of: migration, row))
        }
        let unknown = applied.filter { migration($0.version) == nil }
        return known + unknown.map { MigrationEntry(label: $0.label, state: .unknown) }
    }

    private func state(of migration: Migration, _ row: AppliedMigration?) -> MigrationEntry.State {
        guard let row else { return .pending }
        guard !row.differs(from: migration) else { return .edited }
        return row.finishedAt.map { .applied(at: $0) } ?? .interrupted
    }

    private var missing: [Migration] {
        let versions = Set(applied.map(\.version))
        return migrations.filter { !versions.contains($0.version) }
    }

    private func migration(_ version: Int) -> Migration? {
        migrations.indices.contains(version - 1) ? migrations[version - 1] : nil
    }

    private func refuseFaults() throws(MigrationFault) {
        if let fault = faults.first { throw fault }
    }
}

extension MigrationHistory {
    /// Reads the bookkeeping; a database without one has no history.
    static func read(of migrations: [Migration], from session: some PostgresSession) async throws -> MigrationHistory {
        guard try await hasBookkeeping(session) else { return MigrationHistory(migrations: migrations, applied: []) }
        let applied = try await session.query(
            """
            SELECT version, name, checksum,
                   to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            FROM schema_migrations ORDER BY version
            """
        ) { row throws(PostgresError) in
            let (version, name, checksum, finishedAt) = try row.decode(
                Int32.self, String.self, String.self, String?.self)
            return AppliedMigration(version: Int(version), name: name, checksum: checksum, finishedAt: finishedAt)
        }
        return MigrationHistory(migrations: migrations, applied: applied)
    }

    static func hasBookkeeping(_ session: some PostgresSession) async throws -> Bool {
        try await session.query("SELECT to_regclass('schema_migrations') IS NOT NULL", as: flag).contains(true)
    }

    static func flag(_ row: PostgresRow) throws(PostgresError) -> Bool {
        try row.decode(Bool.self)
    }
}
