import Foundation
import Testing

/// Some kills of `FeedKills`; `Scripts/soak feed` makes hundreds.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct FeedKillTests {
    @Test func `processes and the database are killed under load, and nothing is lost or out of order`() async throws {
        try await FeedKills.run(kills: 20)
    }
}

/// `Scripts/soak feed N`.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["COUNTERSIGN_FEED_KILLS"] != nil), .limitedConcurrency,
    .timeLimit(.minutes(600)))
struct FeedKillSoak {
    @Test func `over many kills every event arrives`() async throws {
        let kills = try #require(ProcessInfo.processInfo.environment["COUNTERSIGN_FEED_KILLS"].flatMap { Int($0) })
        try await FeedKills.run(kills: kills) { print($0) }
    }
}
