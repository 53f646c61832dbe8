import Accounts
import Testing

@Suite struct RetryScheduleTests {
    private static let second: Int64 = 1_000_000

    @Test(arguments: [
        (1, 1), (2, 2), (3, 4), (4, 8), (10, 512), (11, 1024), (12, 2048), (13, 3600), (14, 3600), (64, 3600),
        (107, 3600),
    ]) func `the pause doubles up to an hour`(attempts: Int, seconds: Int64) {
        #expect(RetrySchedule.delay(after: attempts, jitter: 0.5) == seconds * Self.second)
    }

    @Test(arguments: [1, 7, 12, 13, 107])
    func `each pause is a fifth shorter or longer, by chance`(attempts: Int) throws {
        let middle = try #require(RetrySchedule.delay(after: attempts, jitter: 0.5))
        #expect(RetrySchedule.delay(after: attempts, jitter: 0) == middle * 4 / 5)
        #expect(RetrySchedule.delay(after: attempts, jitter: 1) == middle * 6 / 5)
        let some = try #require(RetrySchedule.delay(after: attempts, jitter: 0.75))
        #expect(some > middle && some < middle * 6 / 5)
    }

    @Test(arguments: [-1.0, 2, .infinity, -.infinity])
    func `chance beyond its limits is taken for its limits`(jitter: Double) {
        let limit = jitter < 0 ? Self.second * 4 / 5 : Self.second * 6 / 5
        #expect(RetrySchedule.delay(after: 1, jitter: jitter) == limit)
    }

    @Test func `there is an end to it, after days`() {
        let last = RetrySchedule.maximumAttempts
        #expect(RetrySchedule.delay(after: last - 1, jitter: 0) != nil)
        #expect(RetrySchedule.delay(after: last, jitter: 1) == nil)
        #expect(RetrySchedule.delay(after: .max, jitter: 0.5) == nil)
        // Also if chance is always on the short side it is longer than a weekend.
        let shortest = (1..<last).compactMap { RetrySchedule.delay(after: $0, jitter: 0) }.reduce(0, +)
        #expect(shortest > 3 * 86_400 * Self.second)
    }

    @Test(arguments: [0, -1]) func `before the first attempt has failed the pause is the shortest`(attempts: Int) {
        #expect(RetrySchedule.delay(after: attempts, jitter: 0.5) == Self.second)
    }
}
