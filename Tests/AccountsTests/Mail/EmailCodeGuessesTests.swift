import Accounts
import Testing

/// What is remembered of the wrong tries at an address's codes, and how long its codes are for it.
@Suite struct EmailCodeGuessesTests {
    private static let start = Timestamp(seconds: 1_767_225_600)
    private static let day: Int64 = 86_400
    /// In which one of the thirty tries at six digits comes back.
    private static let refill: Int64 = 365 * day / 30

    private static func time(_ seconds: Int64) -> Timestamp { start.advanced(bySeconds: seconds) }

    /// After a wrong try at each of the times, in seconds, of a code as long as a new one was.
    private func guesses(_ times: [Int64], at length: EmailCode.Length? = nil) -> EmailCodeGuesses {
        var guesses = EmailCodeGuesses.none
        for time in times {
            let now = Self.time(time)
            guesses.countWrong(at: length ?? guesses.length(isServiceGuessedAt: false, at: now), at: now)
        }
        return guesses
    }

    private func length(_ guesses: EmailCodeGuesses, at seconds: Int64) -> EmailCode.Length {
        guesses.length(isServiceGuessedAt: false, at: Self.time(seconds))
    }

    @Test func `twenty wrong tries within a day make codes long until a success`() {
        var attacked = guesses(Array(repeating: 0, count: 19))
        #expect(length(attacked, at: 0) == .six)
        attacked.countWrong(at: .six, at: Self.time(Self.day - 1))
        #expect(length(attacked, at: Self.day) == .ten)
        // Not by itself.
        #expect(length(attacked, at: 200 * Self.day) == .ten)
        attacked.reset()
        #expect(length(attacked, at: Self.day) == .six)
        #expect(!attacked.isUnderAttack)
        #expect(attacked.wrongSinceSuccess == 0)
    }

    @Test func `twenty wrong tries in more than a day are no attack`() {
        let slow = guesses([0] + Array(repeating: Self.day, count: 19))
        #expect(!slow.isUnderAttack)
        #expect(length(slow, at: Self.day) == .six)
        let sliding = guesses((0..<40).map { $0 * Self.day / 19 })
        #expect(!sliding.isUnderAttack)
        #expect(guesses((0..<40).map { $0 * (Self.day - 1) / 19 }).isUnderAttack)
    }

    @Test func `a hundred wrong tries since the last success are an attack, however slow`() {
        var slow = guesses((0..<99).map { $0 * 30 * Self.day })
        let end = 99 * 30 * Self.day
        #expect(!slow.isUnderAttack)
        #expect(length(slow, at: end) == .six)
        var forgiven = slow
        slow.countWrong(at: .six, at: Self.time(end))
        #expect(length(slow, at: end) == .ten)
        forgiven.reset()
        forgiven.countWrong(at: .six, at: Self.time(end))
        #expect(length(forgiven, at: end) == .six)
    }

    @Test func `a success gives back none of the tries at six digits, which come back over a year`() {
        var guesses = guesses(Array(repeating: 0, count: 19))
        guesses.reset()
        for _ in 0..<6 { guesses.countWrong(at: .six, at: Self.start) }
        #expect(!guesses.isUnderAttack)
        #expect(length(guesses, at: 0) == .six)
        guesses.countWrong(at: .six, at: Self.start)
        // Four are left: less than a network's five.
        #expect(length(guesses, at: 0) == .ten)
        #expect(length(guesses, at: Self.refill - 1) == .ten)
        #expect(length(guesses, at: Self.refill) == .six)
        for left in (0...3).reversed() {
            #expect(guesses.allowsTry(at: .six, at: Self.start))
            guesses.countWrong(at: .six, at: Self.start)
            #expect(guesses.allowsTry(at: .six, at: Self.start) == (left > 0))
        }
        #expect(guesses.allowsTry(at: .ten, at: Self.start))
        #expect(!guesses.allowsTry(at: .six, at: Self.time(Self.refill - 1)))
        #expect(guesses.allowsTry(at: .six, at: Self.time(Self.refill)))
    }

    @Test func `while the whole service is guessed at every code is long`() {
        #expect(EmailCodeGuesses.none.length(isServiceGuessedAt: true, at: Self.start) == .ten)
        #expect(EmailCodeGuesses.none.length(isServiceGuessedAt: false, at: Self.start) == .six)
    }

    @Test func `tries at ten digits are five hundred, and come back over a day`() {
        var guesses = guesses(Array(repeating: 0, count: 499), at: .ten)
        #expect(guesses.allowsTry(at: .ten, at: Self.start))
        guesses.countWrong(at: .ten, at: Self.start)
        #expect(!guesses.allowsTry(at: .ten, at: Self.time(172)))
        #expect(guesses.allowsTry(at: .ten, at: Self.time(173)))
        #expect(guesses.allowsTry(at: .six, at: Self.start))
    }

    @Test func `what is remembered goes when it matters no more`() {
        #expect(guesses([0]).forgetAt == Self.time(Self.refill))
        #expect(guesses([0, 0, 0]).forgetAt == Self.time(3 * Self.refill))
        #expect(guesses([0], at: .ten).forgetAt == Self.time(Self.day))
        // Until then it would have made codes long, or nearly.
        #expect(guesses(Array(repeating: 0, count: 20)).forgetAt == Self.time(365 * Self.day))
        #expect(guesses(Array(repeating: 0, count: 20), at: .ten).forgetAt == Self.time(365 * Self.day))
        var forgiven = guesses(Array(repeating: 0, count: 20))
        forgiven.reset()
        #expect(forgiven.forgetAt == Self.time(20 * Self.refill))
    }

    @Test func `no count overflows`() {
        var guesses = EmailCodeGuesses(
            latestWrong: [], wrongSinceSuccess: .max, attackedAt: nil, shortFullAt: Self.start, longFullAt: Self.start)
        guesses.countWrong(at: .ten, at: Self.start)
        #expect(guesses.wrongSinceSuccess == .max)
        #expect(guesses.isUnderAttack)
    }

    @Test func `two rows of one address count as the more cautious of both`() {
        let one = guesses(Array(repeating: 0, count: 3))
        let other = guesses([5], at: .ten)
        for merged in [one.merged(with: other), other.merged(with: one)] {
            #expect(merged.latestWrong == [0, 0, 0, 5].map(Self.time))
            #expect(merged.wrongSinceSuccess == 3)
            #expect(merged.shortFullAt == one.shortFullAt)
            #expect(merged.longFullAt == other.longFullAt)
            #expect(!merged.isUnderAttack)
        }
        let attacked = guesses(Array(repeating: 0, count: 20))
        #expect(attacked.merged(with: one).attackedAt == attacked.attackedAt)
    }
}
