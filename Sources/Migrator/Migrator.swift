package import Logging
package import Postgres

/// The runner of migrations, up and down. See this directory's README for the rules.
package struct Migrator: Sendable {
    let database: Database
    let migrations: [Migration]
    private let service: ServiceRole?
    private let logger: Logger

    /// - Parameters:
    ///   - database: reached as the owner of the tables, without a statement timeout where it is to migrate: the server's
    ///     is lifted, and would go on here as the limit of its silence.
    ///   - service: the role that is granted what the service needs, when it is not the owner.
    package init(
        database: Database, migrations: [Migration] = Migration.embedded, service: ServiceRole? = nil, logger: Logger
    ) {
        self.database = database
        self.migrations = migrations
        self.service = service
        self.logger = logger
    }

    /// Applies everything up to `version`, or everything, and grants the service role its privileges. On the schema of
    /// a later program it does neither: what its tables allow is not known here. Where this program can't serve on that,
    /// it is refused.
    ///
    /// Any number of runners may do so at once: one works, the others wait and then find nothing to do. Killing one at
    /// any moment leaves a database on which the next one continues.
    package func up(
        to version: Int? = nil, onStep: @Sendable (MigrationStep) -> Void = { _ in }
    ) async throws -> [MigrationStep] {
        try refuseTransactionControl()
        return try await locked { session in
            if let service { try await session.requireRole(service) }
            var steps: [MigrationStep] = []
            let history = try await MigrationHistory.read(of: migrations, from: session.connection)
            let pending = try history.pending(to: version)
            let grant = {
                if let service, history.later.isEmpty { try await session.grant(to: service, on: created) }
            }
            for migration in pending {
                let isLast = migration.version == pending.last?.version
                try await session.apply(migration) { if isLast { try await grant() } }
                steps.append(MigrationStep(label: migration.label, direction: .up))
                onStep(steps[steps.count - 1])
            }
            if steps.isEmpty { try await grant() }
            return steps
        }
    }

    /// The steps that `up` would take. Takes no lock and writes nothing, not even the bookkeeping table.
    package func plan(to version: Int? = nil) async throws -> [MigrationStep] {
        try refuseTransactionControl()
        let history = try await history()
        let pending = try history.pending(to: version)
        if !pending.isEmpty { try await requireRights(on: history) }
        return pending.map { MigrationStep(label: $0.label, direction: .up) }
    }

    /// Reverts the latest `steps` migrations, all of them if there are fewer.
    package func down(
        steps: Int = 1, onStep: @Sendable (MigrationStep) -> Void = { _ in }
    ) async throws -> [MigrationStep] {
        try refuseTransactionControl()
        return try await locked { session in
            var reverted: [MigrationStep] = []
            for migration in try await MigrationHistory.read(of: migrations, from: session.connection).reversible(
                steps: steps)
            {
                try await session.revert(migration)
                reverted.append(MigrationStep(label: migration.label, direction: .down))
                onStep(reverted[reverted.count - 1])
            }
            return reverted
        }
    }

    /// The steps that `down` would take. Takes no lock and writes nothing.
    package func planDown(steps: Int = 1) async throws -> [MigrationStep] {
        try await history().reversible(steps: steps).map { MigrationStep(label: $0.label, direction: .down) }
    }

    /// Every migration that the binary or the database knows.
    package func status() async throws -> [MigrationEntry] { try await history().entries }

    /// All differences between database and binary; empty when they are of the same release.
    package func verify() async throws -> [MigrationFault] { try await history().differences }

    /// The reasons not to serve on this schema; empty when there are none.
    package func servingFaults() async throws -> [MigrationFault] { try await history().servingFaults }

    /// Refuses a schema that this binary can't serve on: the one check that `serve` makes, at its start and for
    /// readiness. The service role may do it.
    package func requireServableSchema() async throws { if let fault = try await servingFaults().first { throw fault } }

    /// The label of the latest migration that only a later program knows, if there is one.
    package func latestOfLaterProgram() async throws -> String? { try await history().later.last?.label }

    private func history() async throws -> MigrationHistory {
        try await MigrationHistory.read(of: migrations, from: database)
    }

    /// Refuses a role that `up` would fail by: one that may not make the first table, or does not own what there is, since
    /// that is what migrations change.
    private func requireRights(on history: MigrationHistory) async throws {
        let found = try await database.query(
            """
            SELECT current_user::text, has_schema_privilege(current_schema(), 'CREATE'),
                (
                    SELECT relname::text
                    FROM pg_class
                    WHERE relnamespace = \(SQL.currentSchema) AND relname::text = ANY (\(Array(created.relations)))
                        AND NOT pg_has_role(relowner, 'USAGE')
                    ORDER BY oid
                    LIMIT 1
                )
            """, as: String.self, Bool?.self, String?.self)
        for (role, mayCreate, relation) in found {
            if let relation { throw MigrationFault.notOwner(role, of: relation) }
            if history.applied.isEmpty, mayCreate == false { throw MigrationFault.mayNotCreate(role) }
        }
    }

    /// Runs `body` on a connection that holds the lock, and that is closed afterwards.
    private func locked<Result: Sendable>(
        _ body: @Sendable (MigrationSession) async throws -> Result
    ) async throws -> Result {
        try await database.requireUTF8()
        return try await database.withConnection { connection in
            let session = MigrationSession(connection: connection, logger: logger)
            try await session.lock()
            let result = try await body(session)
            try await session.unlock()
            return result
        }
    }

    private func refuseTransactionControl() throws(MigrationFault) {
        for migration in migrations {
            for (script, direction) in [(migration.up, MigrationStep.Direction.up), (migration.down, .down)] {
                guard let word = script.transactionControl else { continue }
                throw .endsTransaction(migration.label, direction, word: word)
            }
        }
    }
}
