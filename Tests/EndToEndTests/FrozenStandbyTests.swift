import Foundation
import Testing

/// A few passes of `FrozenStandby`; `Scripts/soak frozen-standby` makes hundreds.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct FrozenStandbyTests {
    @Test func `what was answered beside a standby that freezes is there after it took over`() async throws {
        try await FrozenStandby.run(passes: 3)
    }
}

/// `Scripts/soak frozen-standby N`.
@Suite(
    .enabled(if: ProcessInfo.processInfo.environment["COUNTERSIGN_FAILOVERS"] != nil), .limitedConcurrency,
    .timeLimit(.minutes(600)))
struct FrozenStandbySoak {
    @Test func `over many failovers nothing is lost that was answered`() async throws {
        let passes = try #require(ProcessInfo.processInfo.environment["COUNTERSIGN_FAILOVERS"].flatMap { Int($0) })
        try await FrozenStandby.run(passes: passes) { print($0) }
    }
}
