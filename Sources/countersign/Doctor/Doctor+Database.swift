import Accounts
import Migrator
import Postgres
import Storage

/// The checks of the database, and of what it allows the service.
extension Doctor {
    /// The oldest version that is tested, as `server_version_num` has it.
    private static let oldestVersion: Int32 = 150_000
    /// The seconds after which a row should have its seal: a service that starts has some to seal.
    private static let longestUnsealed: Int64 = 300
    private static let commitAdvice = "ALTER ROLE … SET synchronous_commit = on, for the role of postgres.url"

    @Sendable func database() async -> [Finding] {
        await withDatabase { await findings(of: $0, Migrator(database: $0, logger: .quiet)) }
    }

    /// Runs the body with one connection, whose time-outs are shorter than that of a check.
    func withDatabase(_ body: (Database) async -> [Finding]) async -> [Finding] {
        var settings = Database.Configuration(configuration.database)
        settings.poolSize = 1
        settings.acquireTimeout = .seconds(4)
        settings.connectTimeout = .seconds(4)
        settings.statementTimeout = .seconds(4)
        settings.applicationName = "countersign doctor"
        let database = Database(configuration: settings, logger: .quiet)
        let findings = await body(database)
        await database.shutdown()
        return findings
    }

    /// Runs the body where the tables are those that this program knows. Where they aren't, the check of the schema has
    /// the failure, and what was left out is a note.
    func withSchema(
        _ check: CheckName, _ leftOut: String, _ body: (Database) async throws -> [Finding]
    ) async -> [Finding] {
        await withDatabase { database in
            do {
                guard try await Migrator(database: database, logger: .quiet).servingFaults().isEmpty else {
                    return .note(check, "\(leftOut): the schema is not the one that this program needs")
                }
                return try await body(database)
            } catch {
                return .warning(
                    check, "\(leftOut): \(sentence(error))",
                    advice: "see the findings on the database, and try again when it has less to do")
            }
        }
    }

    private func findings(of database: Database, _ migrator: Migrator) async -> [Finding] {
        let inspection = DatabaseInspection(database: database)
        let server: DatabaseServer
        do {
            server = try await inspection.server(now: clock.now)
        } catch {
            return .failure(.database, sentence(error), advice: "see postgres.url, the server, and the way to it")
        }
        var findings = [version(server)] + transport(server) + durability(server.durability)
        findings += [connections(server), await pooler(before: database), time(server)]
        let schema = await schema(migrator)
        findings += schema
        guard schema.allSatisfy({ $0.status != .failure }) else { return findings }
        // What the tables of a later release allow is not known here.
        if schema.allSatisfy({ $0.status == .ok }) { findings += await privileges(migrator) }
        findings += [await auditPartitions(of: database), await auditSeals(of: database)]
        return findings
    }

    private func version(_ server: DatabaseServer) -> Finding {
        let name = "PostgreSQL \(server.version), \(server.encoding)\(server.isReadOnly ? ", read-only" : "")"
        if server.encoding != "UTF8" {
            return .failure(.database, name, advice: "create the database with ENCODING 'UTF8'")
        }
        if server.isReadOnly {
            return .failure(.database, name, advice: "let postgres.url name the primary")
        }
        if server.versionNumber < Self.oldestVersion {
            return .warning(.database, name, advice: "use PostgreSQL 15 or later: older ones aren't tested")
        }
        if !server.knowsCapitals {
            return .warning(
                .database, "\(name), in a locale without letters beyond ASCII: a search for a name heeds their case",
                advice: "create the database with LOCALE 'C.UTF-8' or another one of UTF-8")
        }
        return .ok(.database, name)
    }

    private func transport(_ server: DatabaseServer) -> [Finding] {
        guard TransportSecurity(url: configuration.database.url) != .local else { return [] }
        let unverified = configuration.warnings.compactMap { warning -> Finding? in
            guard case .unverifiedDatabase = warning else { return nil }
            return .warning(
                .databaseTransport, warning.sentence,
                advice: "sslmode=verify-full with sslrootcert, unless nobody can stand in between")
        }
        guard server.isEncrypted else {
            return unverified + [
                .warning(
                    .databaseTransport, "the connection is not encrypted: the network reads every row",
                    advice: "let the server speak TLS, and say sslmode=verify-full")
            ]
        }
        return unverified.isEmpty
            ? [.ok(.databaseTransport, "encrypted, and the server's certificate is checked")] : unverified
    }

    private func durability(_ durability: Durability) -> [Finding] {
        var isCommitSound = true
        var findings = durability.gaps.map { gap in
            switch gap {
            case .unsafeFiles:
                return Finding.failure(.durability, "\(gap)", advice: "switch it on, unless this database is for tests")
            case .commitNotAwaited:
                isCommitSound = false
                return .failure(.durability, "\(gap)", advice: Self.commitAdvice)
            case .standbyNotAwaited:
                isCommitSound = false
                return .warning(.durability, "\(gap)", advice: Self.commitAdvice)
            }
        }
        if isCommitSound {
            let standby =
                durability.hasSynchronousStandby
                ? "with a synchronous standby"
                : "without a synchronous standby: a failover may lose the last commits"
            findings.append(.ok(.durability, "synchronous_commit is \(durability.synchronousCommit), \(standby)"))
        }
        return findings
    }

    private func connections(_ server: DatabaseServer) -> Finding {
        // Two more than the pool's: that of the readiness checks, and that of the notifications.
        let (pool, free) = (configuration.database.poolSize + 2, server.connectionLimit.count)
        let setter = server.connectionLimit.setter.words
        let detail = "a process takes \(pool) connections, there is room by \(setter) for \(free)"
        guard pool <= free else {
            return .failure(.connections, detail, advice: "raise \(setter), or lower postgres.poolSize")
        }
        guard pool * 2 <= free else {
            return .warning(
                .connections, detail,
                advice: "two processes have no room: raise \(setter), or lower postgres.poolSize")
        }
        return .ok(.connections, detail + ", enough for \(free / pool) processes")
    }

    private func pooler(before database: Database) async -> Finding {
        do {
            guard try await database.isPooled() else {
                return .ok(.pooler, "each connection is one to a process of the server")
            }
            guard configuration.database.preparedStatements else {
                return .ok(.pooler, "a pooler stands in between, and postgres.preparedStatements is false")
            }
            return .warning(
                .pooler, "a pooler stands in between, and postgres.preparedStatements is true: requests fail",
                advice: """
                    set it to false (docs/operations/pgbouncer.md), unless the pooler keeps a connection of its own for \
                    each of ours, or knows of prepared statements
                    """)
        } catch {
            return .warning(.pooler, sentence(error), advice: "see postgres.url, the server, and the way to it")
        }
    }

    private func time(_ server: DatabaseServer) -> Finding {
        let seconds = abs(server.clockDifference)
        let detail = "this machine's and the database's differ by \((seconds * 1000).rounded() / 1000) s"
        let advice = "keep both on time: chrony or systemd-timesyncd"
        if seconds > 30 { return .failure(.clock, detail, advice: advice) }
        if seconds > 1 { return .warning(.clock, detail, advice: advice) }
        return .ok(.clock, detail)
    }

    private func schema(_ migrator: Migrator) async -> [Finding] {
        do {
            let faults = try await migrator.servingFaults()
            guard faults.isEmpty else {
                return faults.map {
                    .failure(.schema, $0.description, advice: "`countersign migrate status` shows all")
                }
            }
            guard let later = try await migrator.latestOfLaterProgram() else {
                return .ok(.schema, "is this binary's")
            }
            return .warning(
                .schema, "a later release brought it to \(later); this one serves on it",
                advice: "end the upgrade, unless you went back on purpose")
        } catch {
            return .failure(.schema, sentence(error), advice: "run `countersign migrate up`")
        }
    }

    private func privileges(_ migrator: Migrator) async -> [Finding] {
        do {
            let privileges = try await migrator.privileges()
            if !privileges.lacking.isEmpty {
                return .failure(
                    .privileges, "the role of postgres.url lacks \(privileges.lacking.joined(separator: ", "))",
                    advice: "run `countersign migrate up` with postgres.migrationUrl set, which grants it")
            }
            let advice =
                "make a role that owns the tables for postgres.migrationUrl, and one without rights for postgres.url"
            if privileges.isSuperuser {
                return .warning(.privileges, "the role of postgres.url is a superuser", advice: advice)
            }
            if privileges.ownsTables {
                return .warning(
                    .privileges,
                    "the role of postgres.url owns the tables: a stolen password is enough to rewrite the audit trail",
                    advice: advice)
            }
            var findings: [Finding] = []
            if let schema = privileges.schemaOpenToCreate {
                findings.append(
                    .warning(
                        .privileges, "the role of postgres.url may create objects in the schema \(schema)",
                        advice: """
                            run `countersign migrate up`; if that changes nothing, REVOKE CREATE ON SCHEMA \(schema) FROM \
                            PUBLIC as the schema's owner: databases from before PostgreSQL 15 let everybody create
                            """))
            }
            if !privileges.excess.isEmpty {
                findings.append(
                    .warning(
                        .privileges,
                        "the role of postgres.url may do more than it needs: \(privileges.excess.joined(separator: ", "))",
                        advice: "run `countersign migrate up`, which takes it back"))
            }
            guard findings.isEmpty else { return findings }
            return .ok(.privileges, "the role of postgres.url may do what the service needs and no more")
        } catch {
            return .failure(.privileges, sentence(error), advice: "see whether the role may read the catalogs")
        }
    }

    private func auditPartitions(of database: Database) async -> Finding {
        do {
            let months = try await AuditPartitions(database: database).monthsAhead(by: clock.call(by: .commandLine))
            let detail = "months after this one that have a partition of the audit trail: \(months)"
            guard months < 2 else { return .ok(.auditPartitions, detail) }
            return .warning(
                .auditPartitions, detail,
                advice: "the service makes them once an hour, and logs why it can't: audit partition not made")
        } catch {
            return .warning(.auditPartitions, sentence(error), advice: "see whether the role may read the catalogs")
        }
    }

    private func auditSeals(of database: Database) async -> Finding {
        let seals = AuditSeals(database: database, keyRing: configuration.keyRing)
        do {
            if let halt = try await seals.halt() {
                return .warning(.auditSeals, "nothing of the audit trail is sealed: \(halt)", advice: advice(on: halt))
            }
            let oldest = try await seals.oldestUnsealed()
            let age = oldest.map { clock.now().seconds - $0.seconds } ?? 0
            guard age > Self.longestUnsealed else { return .ok(.auditSeals, "the audit trail is sealed") }
            return .warning(
                .auditSeals, "rows of the audit trail have waited for their seal for \(age / 60) minutes",
                advice: """
                    see that the service runs, and that no transaction that has written stays open: to a superuser \
                    pg_stat_activity shows its backend_xid
                    """)
        } catch {
            return .warning(.auditSeals, sentence(error), advice: "see whether the role may read the audit trail")
        }
    }

    private func advice(on halt: AuditHalt) -> String {
        switch halt {
        case .restored: "do it before the service starts: docs/audit.md, Restoring, has what comes of rows before that"
        case .headMismatch, .sealsGone, .behindRemembered:
            "treat it as an attack until you know better, and keep a copy of the database first"
        case .keyMissing: "put the line back into the key ring"
        case .columnsUnknown: "start a process of that release, which seals what waits"
        }
    }

    func sentence(_ error: any Error) -> String {
        CommandEnding(of: error).message.replacing("countersign: ", with: "")
    }
}

extension ConnectionLimit.Setter {
    fileprivate var words: String {
        switch self {
        case .role: "the role's CONNECTION LIMIT"
        case .database: "the database's CONNECTION LIMIT"
        case .server: "max_connections"
        }
    }
}
