package import Postgres

/// The reason why the migrator, or a starting service, refuses. Each `description` is a sentence for the operator: it
/// names the migration, and says what to do. No migration text and no row of a table is ever part of it.
package enum MigrationFault: Error, Sendable {
    /// No migration was ever applied to the database.
    case noSchema
    /// This many migrations of the binary are not applied, the first of which is named.
    case behind(Int, first: String)
    /// A migration outside a transaction was interrupted.
    case interrupted(String)
    /// The database has a migration that the binary lacks: a later release applied it, or its files are gone.
    case unknown(String)
    /// The database has a later migration, which declares that programs of this level may no longer serve.
    case superseded(String, servesFrom: Int)
    /// The applied text or name differs from the binary's.
    case edited(String)
    /// A migration is not applied although a later one is.
    case skipped(String, later: String)
    /// `--to` names a version that does not exist.
    case noSuchVersion(Int, latest: Int)
    /// The script would end the transaction that has to hold it together with its bookkeeping.
    case endsTransaction(String, MigrationStep.Direction, word: String)
    /// The server refused a statement of the script.
    case failed(String, MigrationStep.Direction, isTransactional: Bool, PostgresError)
    /// A concurrent build ended without an error and without a valid index.
    case invalidIndex(String, index: String)
    /// The role of `postgres.url` has to exist before it can be granted anything.
    case noSuchRole(String)
    /// The role may not change what is there.
    case notOwner(String, of: String)
    /// The role may make no tables in the schema.
    case mayNotCreate(String)
}

extension MigrationFault: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String {
        switch self {
        case .noSchema:
            "The database has no schema yet: run `countersign migrate up`."
        case .behind(let count, let first):
            "The database is \(count) migration\(count == 1 ? "" : "s") behind this binary, beginning with \(first): "
                + "run `countersign migrate up`."
        case .interrupted(let label):
            "Migration \(label) was interrupted: run `countersign migrate up`, which finishes it."
        case .unknown(let label):
            "Migration \(label) is applied to the database but unknown to this binary: use the release that brought it, "
                + "or restore its files and build again."
        case .superseded(let label, let level):
            "Migration \(label) of a later release took away what this one needs: start that release, or another that knows "
                + "migration \(Migration.fourDigits(level))."
        case .edited(let label):
            "Migration \(label) was edited or renamed after it was applied: restore its files as they were and put the "
                + "change into a new migration."
        case .skipped(let label, let later):
            "Migration \(label) is not applied although \(later) is: schema_migrations was changed by hand; restore its "
                + "row from a backup."
        case .noSuchVersion(let version, let latest):
            "There is no migration \(Migration.fourDigits(version)): name one from 0001 to "
                + "\(Migration.fourDigits(latest))."
        case .endsTransaction(let label, let direction, let word):
            "Migration \(label) \(direction.rawValue) says \(word), which would end the transaction around it: "
                + "remove the statement."
        case .failed(let label, let direction, true, let error) where error.sqlState == "42501":
            "Migration \(label) \(direction.rawValue) failed and nothing of it was kept (\(reason(of: error))): "
                + "set postgres.migrationUrl, whose role owns the tables, and run it again."
        case .failed(let label, let direction, true, let error):
            "Migration \(label) \(direction.rawValue) failed and nothing of it was kept (\(reason(of: error))): "
                + "remove the cause and run it again."
        case .failed(let label, let direction, false, let error):
            "Migration \(label) \(direction.rawValue) failed half-way, for it runs outside a transaction "
                + "(\(reason(of: error))): remove the cause and run it again, which finishes it."
        case .invalidIndex(let label, let index):
            "Migration \(label) left the index \(index) invalid: look at the data that it covers and run "
                + "`countersign migrate up` again, which rebuilds it."
        case .noSuchRole(let role):
            "The role \"\(role)\" of postgres.url does not exist: create it (CREATE ROLE … LOGIN) and run "
                + "`countersign migrate up` again."
        case .notOwner(let role, let relation):
            "The role \"\(role)\" does not own \(relation): set postgres.migrationUrl, whose role owns the tables."
        case .mayNotCreate(let role):
            "The role \"\(role)\" may not create tables in the schema: set postgres.migrationUrl, whose role is to own them."
        }
    }

    package var debugDescription: String {
        switch self {
        case .failed(_, _, _, let error): "\(description) \(String(reflecting: error))"
        default: description
        }
    }

    /// The SQLSTATE and the server's message, which `PostgresError` keeps only where it can't quote a row.
    private func reason(of error: PostgresError) -> String {
        let state = error.sqlState.map { "SQLSTATE \($0)" }
        let reason = [state, error.message].compactMap { $0 }.joined(separator: ": ")
        return reason.isEmpty ? "the connection was lost" : reason
    }
}
