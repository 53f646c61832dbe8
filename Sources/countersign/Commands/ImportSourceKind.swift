import AccountImport
import Accounts
import ArgumentParser
import Foundation
import Postgres
import Primitives
import Synchronization

/// The systems that people can come from.
enum ImportSourceKind: String, ExpressibleByArgument, CaseIterable {
    case firebase, supabase, auth0, cognito, keycloak, allauth
    case betterAuth = "better-auth"
    case ndjson

    /// Whether it is read from a live database, and not from a file.
    var isDatabase: Bool {
        switch self {
        case .supabase, .allauth, .betterAuth: true
        case .firebase, .auth0, .cognito, .keycloak, .ndjson: false
        }
    }

    /// Whether hashes are in forms that its own reader makes.
    var makesOwnForms: Bool { self == .firebase || self == .keycloak }

    /// Whether it may call a provider something of its own. Firebase's words are fixed, and its other providers are not exported.
    var takesAliases: Bool { self != .firebase }

    func open(_ input: FileInput, _ aliases: ProviderAliases) throws -> any ImportSource {
        switch self {
        case .firebase: try FirebaseSource(input)
        case .auth0: Auth0Source(input, aliases: aliases)
        case .cognito: CognitoSource(input, aliases: aliases)
        case .keycloak: KeycloakSource(input, aliases: aliases)
        case .ndjson, .supabase, .allauth, .betterAuth: NeutralSource(input, aliases: aliases)
        }
    }

    func open(_ connection: LeasedConnection, _ aliases: ProviderAliases) async throws -> any ImportSource {
        do {
            switch self {
            case .supabase:
                return try await SupabaseSource(connection, aliases: aliases, at: SystemClock().now())
            case .allauth: return try await AllauthSource(connection, aliases: aliases)
            case .betterAuth:
                return try await BetterAuthSource(connection, aliases: aliases, at: SystemClock().now())
            case .firebase, .auth0, .cognito, .keycloak, .ndjson:
                throw SourceFault("\(rawValue) is read from a file.")
            }
        } catch let error as PostgresError {
            throw SourceFault(reading: error)
        }
    }
}

/// The database of another system.
enum SourceDatabase {
    /// The URL of the command line, which other users can see, or of a file, which only its owner may read.
    ///
    /// - Throws: `UsageFault` for a password on the command line, or a file that others can read.
    static func url(from given: String?, file: String?) throws -> String {
        let url: String
        if let given {
            guard Database.Configuration.isReadable(url: given) else {
                throw UsageFault(
                    sentence: """
                        --from can't be read: it is postgres://USER@HOST:PORT/DATABASE, without a password, which others on \
                        this machine could see
                        """)
            }
            guard !Database.Configuration.hasPassword(url: given) else {
                throw UsageFault(
                    sentence: """
                        --from has a password, which others on this machine can see: leave it out, and let PGPASSFILE \
                        name the file that has it (or give a FILE of mode 0600 with the whole URL)
                        """)
            }
            url = given
        } else {
            url = try secret(in: file ?? "")
        }
        guard TransportSecurity(url: url) != .unstated else {
            throw UsageFault(
                sentence: "the database's URL leads across a network and has no sslmode: add sslmode=verify-full")
        }
        return url
    }

    private static func secret(in path: String) throws -> String {
        guard let file = RegularFile(path: path), let bytes = file.read(upTo: 65_536) else {
            throw UsageFault(sentence: "the file \(path) can't be read")
        }
        let url = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard Database.Configuration.isReadable(url: url) else {
            throw UsageFault(
                sentence: """
                    the file \(path) has no URL of a database, postgres://USER@HOST:PORT/DATABASE. Such a source is read from \
                    its database, and neither from CSV nor from a dump: make neutral rows of these, for ndjson
                    """)
        }
        guard file.mode & 0o077 == 0 else {
            throw UsageFault(sentence: "the file \(path) can be opened by others than its owner: set its mode to 0600")
        }
        return url
    }

    /// Runs the body in a read-only transaction there.
    static func reading<Result: Sendable>(
        _ url: String, _ body: @Sendable (LeasedConnection) async throws -> Result
    ) async throws -> Result {
        let database = Database(
            configuration: Database.Configuration(
                url: url, poolSize: 1, acquireTimeout: .seconds(10), statementTimeout: nil,
                idleInTransactionTimeout: nil, applicationName: "countersign import"), logger: .quiet)
        let isOpen = Mutex(false)
        do {
            return try await closing(database.shutdown) {
                try await database.withConnection { connection in
                    try await connection.beginReading()
                    isOpen.withLock { $0 = true }
                    return try await body(connection)
                }
            }
        } catch {
            // Later errors are of either database: those of this one are faults of the source already.
            guard !isOpen.withLock(\.self), let error = error as? PostgresError else { throw error }
            throw SourceFault(reading: error)
        }
    }
}
