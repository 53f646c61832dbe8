import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

@Suite(.timeLimit(.minutes(3))) struct WebSessionStoreTests {
    private static let start = Timestamp(seconds: 1_767_225_600)
    private static let cookie = SecretHash([UInt8](repeating: 7, count: 32))

    private static func use(_ database: Database, after seconds: Int64, absolute: Int64? = nil) async throws -> Bool {
        try await WebSessionStore(database: database).use(
            cookie, by: .at(start.advanced(bySeconds: seconds)),
            lifetimes: SessionLifetimes(unused: 5_184_000, absolute: absolute)) != nil
    }

    /// The seconds after the start when the session was used and when it ends, and the version of its row.
    private static func session(_ database: Database) async throws -> (used: Int64, end: Int64, version: String) {
        let rows = try await database.query(
            """
            SELECT extract(epoch FROM last_used_at - \(start))::bigint, extract(epoch FROM expires_at - \(start))::bigint,
                xmin::text
            FROM sessions
            """, as: Int64.self, Int64.self, String.self)
        return try #require(rows.first)
    }

    @Test func `a use moves the end, and is noted twice a minute at most`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let id = try await database.addSession(at: Self.start, lasting: 5_184_000).session
            let store = WebSessionStore(database: database)
            #expect(try await store.open(Self.cookie, for: id, by: .at(Self.start)))
            let opened = try await Self.session(database)
            #expect(opened.end == 600)

            #expect(try await Self.use(database, after: 29))
            #expect(try await Self.session(database).version == opened.version)
            #expect(try await Self.use(database, after: 30))
            let used = try await Self.session(database)
            #expect(used.used == 30 && used.end == 630)
            // What is noted outlasts no limit on any session.
            #expect(try await Self.use(database, after: 400, absolute: 700))
            #expect(try await Self.session(database).end == 700)
            #expect(try await !Self.use(database, after: 700))
        }
    }
}
