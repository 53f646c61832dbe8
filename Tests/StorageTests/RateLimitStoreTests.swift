import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// Allowances that many draw from at once: fifty in a quarter of an hour.
@Suite(.timeLimit(.minutes(2))) struct RateLimitStoreTests {
    private static let count = 50
    private static let seconds = 900
    private static let now = Timestamp(seconds: 1_767_225_600)

    private static func key(_ octet: UInt8) -> [UInt8] { [UInt8](repeating: octet, count: 32) }

    /// The seconds to wait, or `nil` if there was one.
    private static func draw(_ octet: UInt8 = 1, from store: RateLimitStore) async throws -> Int64? {
        try await store.draw(key(octet), count: count, seconds: seconds, by: .at(now))
    }

    private static func putBack(into store: RateLimitStore) async throws {
        try await store.putBack(key(1), count: count, seconds: seconds)
    }

    /// Opens so many connections of the pool.
    private static func open(_ connections: Int, of database: Database) async throws {
        guard connections > 0 else { return }
        try await database.transaction { _ in try await open(connections - 1, of: database) }
    }

    @Test func `draws of one allowance wait on one connection together, and hold up those of no other`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            // A statement goes to a connection that is busy while there is no other.
            try await Self.open(database.configuration.poolSize, of: database)
            let store = RateLimitStore(database: database)
            #expect(try await Self.draw(from: store) == nil)
            let number = 2 * database.configuration.poolSize
            let draws = try await database.transaction { transaction in
                try await transaction.execute("SELECT FROM rate_limits FOR UPDATE")
                let draws = (0..<number).map { _ in Task { try await Self.draw(from: store) } }
                try await transaction.awaitWaiters()
                while store.useCount < number { try await pollingPause() }
                for _ in 0..<number { #expect(try await Self.draw(2, from: store) == nil) }
                #expect(try await transaction.waiters() == 1)
                #expect(store.useCount == number)
                return draws
            }
            for draw in draws { #expect(try await draw.value == nil) }
            #expect(store.useCount == 0)
        }
    }

    @Test(arguments: [1, 2])
    func `of draws that come at once exactly as many succeed as there are, also of two processes`(
        processes: Int
    ) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let stores = (0..<processes).map { _ in RateLimitStore(database: database) }
            let waits = try await concurrently(0..<80) { number in
                try await Self.draw(from: stores[number % processes])
            }
            #expect(waits.count { $0 == nil } == Self.count)
            #expect(Set(waits.compactMap(\.self)) == [18])
        }
    }

    @Test func `what is put back at once is there again, and no more, also among draws`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let store = RateLimitStore(database: database)
            let first = try await concurrently(0..<Self.count) { _ in try await Self.draw(from: store) }
            #expect(first == Array(repeating: nil, count: Self.count))
            #expect(try await Self.draw(from: store) == 18)
            try await concurrently(0..<5) { _ in try await Self.putBack(into: store) }
            // All that comes while the first draw waits is one batch.
            let draws = try await database.transaction { transaction in
                try await transaction.execute("SELECT FROM rate_limits FOR UPDATE")
                let first = Task { try await Self.draw(from: store) }
                try await transaction.awaitWaiters()
                let returns = (0..<10).map { _ in
                    Task { () -> Int64? in
                        try await Self.putBack(into: store)
                        return nil
                    }
                }
                let others = (0..<15).map { _ in Task { try await Self.draw(from: store) } }
                while store.useCount < 26 { try await pollingPause() }
                return [first] + returns + others
            }
            var refused = 0
            for draw in draws where try await draw.value != nil { refused += 1 }
            #expect(refused == 1)
            #expect(try await Self.draw(from: store) == 18)
        }
    }
}
