import Accounts
import KeyRing
import Postgres
import TestSupport
import Testing

@testable import Storage

/// A database with a feed, and accounts to which something happens.
struct FeedWorld: TestFixture {
    static let start = Timestamp(seconds: 1_767_225_600)

    let database: Database
    let storage: ServiceDatabase

    var feed: FeedStore { storage.feed }

    static func run(_ body: (FeedWorld) async throws -> Void) async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let keyRing = try KeyRing(parsing: "k1 BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")
            try await body(FeedWorld(database: database, storage: ServiceDatabase(database, keyRing: keyRing)))
        }
    }

    func call(by actor: AuditEvent.Actor = .person) -> Call {
        Call(now: Self.start, origin: ChangeOrigin(actor: actor, requestID: nil))
    }

    /// An event of an account of which there is no row.
    func announce(_ id: AccountID) async throws {
        try await database.change(by: call()) { change in change.announce(.accountEnabled(by: .admin), of: id) }
    }

    /// All that is stamped, in pages.
    func read(
        after start: FeedPosition = .beginning, of types: Set<AccountEvent.Kind> = [], limit: Int = 100
    ) async throws -> [FeedEvent] {
        var events: [FeedEvent] = []
        var position = start
        while true {
            let page = try #require(try await feed.page(after: position, of: types, limit: limit))
            events += page.events
            position = page.next
            guard page.hasMore else { return events }
        }
    }

    /// `type members` of an account's events, in their order.
    func story(of id: AccountID) async throws -> [String] {
        _ = try await feed.stamp()
        let events = try await read().filter { $0.accountID == id }
        #expect(events.map(\.sequence) == Array(1...Int64(max(1, events.count))).prefix(events.count).map(\.self))
        return events.map { "\($0.type) \($0.members)" }
    }

    func newAccount() async throws -> AccountID {
        let id = AccountID(now: Self.start)
        try await database.change(by: call()) { change in
            _ = try await change.execute(
                "INSERT INTO accounts (account_id, email_proof, created_at) VALUES (\(id), 'stated', \(change.call.now))"
            )
            change.announce(.accountCreated(by: .create), of: id)
        }
        return id
    }
}
