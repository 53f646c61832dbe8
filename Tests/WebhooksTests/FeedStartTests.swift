import Accounts
import KeyRing
import Postgres
import Storage
import TestSupport
import Testing
import Webhooks

/// Where a reader of the feed may begin, and for how long it is waited for.
@Suite(.timeLimit(.minutes(3))) struct FeedStartTests {
    @Test func `an id from a day that was dropped has expired, and another one that is not there is none`() async throws
    {
        // Of 2026-01-01.
        let noon: Int64 = 1_767_268_800
        try await ScratchDatabase.withMigratedPool { database in
            try await database.execute(
                """
                UPDATE feed_head
                SET last_position = \(noon * 1_000_000), dropped_position = \(noon * 1_000_000)
                """)
            let keyRing = try KeyRing(parsing: "k1 BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")
            let feed = Feed(store: FeedStore(database: database), keyRing: keyRing, news: FeedNews())
            func refusal(after id: AccountEventID) async throws -> Feed.Refusal? {
                do {
                    _ = try await feed.read(Feed.Query(from: .event(id)))
                    return nil
                } catch let refusal as Feed.Refusal {
                    return refusal
                }
            }
            for (second, expected) in [
                (noon - 1, .expired), (noon + 1, .expired), (noon + 43_199, .expired), (noon + 43_200, .unknownStart),
            ] as [(Int64, Feed.Refusal)] {
                let id = AccountEventID(now: Timestamp(seconds: second))
                #expect(try await refusal(after: id) == expected, "\(second)")
            }
            // No id of ours, as old as it looks.
            let other = try #require(AccountEventID("00000000-0000-4000-8000-000000000000"))
            #expect(try await refusal(after: other) == .unknownStart)
        }
    }

    /// Otherwise it would have its place for as long as it wanted to wait.
    @Test func `what a reader waited for who has left is not waited for`() async throws {
        try await ScratchDatabase.withMigratedPool { database in
            let keyRing = try KeyRing(parsing: "k1 BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")
            let feed = Feed(store: FeedStore(database: database), keyRing: keyRing, news: FeedNews())
            let answer = try await feed.read(Feed.Query(from: .now, wait: .seconds(3_600))) { false }
            #expect(answer.events.isEmpty && !answer.hasMore)
        }
    }
}
