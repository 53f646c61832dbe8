import Foundation
package import Postgres
import Primitives

/// A database for one test, dropped when the test ends, however it ends.
///
/// It is a copy of a template, which is made once for each `key` and stays in the cluster: copying a migrated database
/// takes a fraction of the time of migrating one. The cluster is what `COUNTERSIGN_TEST_DATABASE_URL` names; its user
/// must be allowed to create databases.
package struct ScratchDatabase: Sendable {
    package let url: String

    /// A database that may exist already or not; it is not dropped.
    package init(url: String) { self.url = url }

    /// - Parameters:
    ///   - key: names what `prepareTemplate` does, such as a hash of the migrations; other content needs another key.
    ///   - prepareTemplate: gets the URL of an empty UTF8 database and fills it. It must leave no connection behind.
    package static func withFresh<T: Sendable>(
        key: String = "", prepareTemplate: @Sendable (String) async throws -> Void = { _ in },
        _ body: (ScratchDatabase) async throws -> T
    ) async throws -> T {
        let cluster = try TestCluster.shared.get()
        let template = key.isEmpty ? nil : try await cluster.template(key, prepare: prepareTemplate)
        return try await cluster.withDatabase("TEMPLATE \(template ?? "template0 ENCODING 'UTF8'")", body)
    }

    /// Runs a closure with an empty database of this encoding.
    package static func withFresh<T: Sendable>(
        encoding: String, _ body: (ScratchDatabase) async throws -> T
    ) async throws -> T {
        try await TestCluster.shared.get()
            .withDatabase("TEMPLATE template0 ENCODING '\(encoding)' LOCALE 'C'", body)
    }

    /// The same with a pool on it, which is shut down before the database is dropped.
    package static func withFreshPool<T: Sendable>(
        _ configuration: Database.Configuration = .test(), key: String = "",
        prepareTemplate: @Sendable (String) async throws -> Void = { _ in }, _ body: (Database) async throws -> T
    ) async throws -> T {
        try await withFresh(key: key, prepareTemplate: prepareTemplate) { scratch in
            try await scratch.withPool(configuration, body)
        }
    }

    package static func withFreshPool<T: Sendable>(
        key: String = "", prepareTemplate: @Sendable (String) async throws -> Void = { _ in },
        configure: (inout Database.Configuration) -> Void, _ body: (Database) async throws -> T
    ) async throws -> T {
        var configuration = Database.Configuration.test()
        configure(&configuration)
        return try await withFreshPool(configuration, key: key, prepareTemplate: prepareTemplate, body)
    }

    /// Runs a closure with a copy of this database, to which nobody is connected.
    package func withCopy<T: Sendable>(_ body: (ScratchDatabase) async throws -> T) async throws -> T {
        let path = url.prefix { $0 != "?" }
        let name = path.split(separator: "/").last ?? path
        return try await TestCluster.shared.get().withDatabase("TEMPLATE \(name)", body)
    }

    /// Runs a closure with a pool on this database, which is shut down afterwards.
    package func withPool<T: Sendable>(
        _ configuration: Database.Configuration = .test(), _ body: (Database) async throws -> T
    ) async throws -> T {
        var configuration = configuration
        configuration.url = url
        let database = Database(configuration: configuration, logger: .silent)
        return try await closing(database.shutdown) { try await body(database) }
    }
}

extension Database.Configuration {
    /// Four connections, since many tests run at a time; and on a busy machine a test waits rather than fails: of fifty
    /// calls that race for one row the last one waits for all others. The URL is that of the database it is used on.
    package static func test(
        poolSize: Int = 4, acquireTimeout: Duration = .seconds(300), connectTimeout: Duration = .seconds(30),
        statementTimeout: Duration? = .seconds(300), lockTimeout: Duration = .seconds(300),
        idleInTransactionTimeout: Duration = .seconds(300), commitTimeout: Duration = .seconds(300),
        answerTimeout: Duration? = nil, preparedStatements: Bool = true, applicationName: String = "tests",
        pipelineDepth: Int = 8, maximumWaiting: Int = 10_000
    ) -> Self {
        Self(
            url: "", poolSize: poolSize, acquireTimeout: acquireTimeout, connectTimeout: connectTimeout,
            statementTimeout: statementTimeout, lockTimeout: lockTimeout,
            idleInTransactionTimeout: idleInTransactionTimeout, commitTimeout: commitTimeout,
            answerTimeout: answerTimeout, preparedStatements: preparedStatements, applicationName: applicationName,
            pipelineDepth: pipelineDepth, maximumWaiting: maximumWaiting)
    }
}

/// The cluster of this test run, with two connections to it for all tests together.
private actor TestCluster {
    static let shared = Result {
        guard let url = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_DATABASE_URL"] else {
            throw SetUpFailure("COUNTERSIGN_TEST_DATABASE_URL names no PostgreSQL cluster. Scripts/test starts one.")
        }
        return TestCluster(url: url)
    }

    private let url: String
    private let admin: Database
    private var templates: [String: Task<String, any Error>] = [:]

    private init(url: String) {
        self.url = url
        admin = Database(
            configuration: Database.Configuration(
                url: url, poolSize: 2, acquireTimeout: .seconds(300), connectTimeout: .seconds(60),
                statementTimeout: nil, lockTimeout: nil, applicationName: "countersign-tests"),
            logger: .silent)
    }

    nonisolated func withDatabase<T: Sendable>(
        _ source: String, _ body: (ScratchDatabase) async throws -> T
    ) async throws -> T {
        let name = "scratch_" + UUID().uuidString.replacing("-", with: "").lowercased()
        // In a cluster without fsync, such as that of Scripts/test, copying by the log, PostgreSQL's own choice, takes twice
        // the time.
        try await admin.execute("CREATE DATABASE \(unsafeSQL: name) \(unsafeSQL: source) STRATEGY FILE_COPY")
        do {
            let value = try await body(ScratchDatabase(url: url(of: name)))
            try? await AuditKinds.note(in: ScratchDatabase(url: url(of: name)))
            try await drop(name)
            return value
        } catch {
            try? await drop(name)
            throw error
        }
    }

    /// Runs in a task of its own: a test over its time limit is cancelled, and its database is dropped nevertheless.
    private nonisolated func drop(_ name: String) async throws {
        try await Task { [admin] in
            _ = try await admin.execute("DROP DATABASE IF EXISTS \(unsafeSQL: name) WITH (FORCE)")
        }.value
    }

    /// The name of the template for `key`, made when there is none.
    func template(_ key: String, prepare: @Sendable (String) async throws -> Void) async throws -> String {
        if let known = templates[key] { return try await known.value }
        return try await withoutActuallyEscaping(prepare) { prepare in
            let making = Task { try await make("template_\(fingerprint(of: key))", prepare) }
            templates[key] = making
            do {
                return try await making.value
            } catch {
                // The next caller tries again.
                templates[key] = nil
                throw error
            }
        }
    }

    /// Test runs may share a cluster, so a template is made under a lock, and under another name until it is complete.
    private nonisolated func make(
        _ name: String, _ prepare: @Sendable (String) async throws -> Void
    ) async throws -> String {
        let unfinished = name + "_unfinished"
        try await admin.withConnection { [url = url(of: unfinished)] connection in
            try await connection.execute("SELECT pg_advisory_lock(hashtext(\(name)))")
            let existing = try await connection.query("SELECT 1::int4 FROM pg_database WHERE datname = \(name)") {
                row throws(PostgresError) in try row.decode(Int32.self)
            }
            guard existing.isEmpty else { return }
            try await connection.execute("DROP DATABASE IF EXISTS \(unsafeSQL: unfinished) WITH (FORCE)")
            try await connection.execute("CREATE DATABASE \(unsafeSQL: unfinished) TEMPLATE template0 ENCODING 'UTF8'")
            try await prepare(url)
            try await connection.execute("ALTER DATABASE \(unsafeSQL: unfinished) RENAME TO \(unsafeSQL: name)")
        }
        return name
    }

    /// FNV-1a, 64 bits.
    private nonisolated func fingerprint(of key: String) -> String {
        let hash = key.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// The URL of another database of the cluster.
    private nonisolated func url(of name: String) -> String {
        guard let scheme = url.range(of: "://") else { return url + " dbname=\(name)" }
        let (rest, query) = url[scheme.upperBound...].cut(before: "?")
        let (authority, _) = rest.cut(before: "/")
        return url[..<scheme.upperBound] + authority + "/" + name + query
    }
}

extension Substring {
    fileprivate func cut(before separator: Character) -> (Substring, Substring) {
        let index = firstIndex(of: separator) ?? endIndex
        return (self[..<index], self[index...])
    }
}
