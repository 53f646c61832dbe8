/// The wrong tries at the codes of one address, beyond any one code: they decide how long the next code is, and whether a
/// network that the account isn't used from may try at all.
///
/// ``reset()`` begins the count of an attack again and leaves the two allowances, which bound what an attacker with any
/// number of networks can try in a year whatever the owner does meanwhile (docs/linking.md, "Codes by mail"): 60 tries at
/// six digits and 183,000 at ten, a chance of 7.9 in 100,000.
package struct EmailCodeGuesses: Hashable, Sendable {
    /// The latest wrong tries, the oldest first; at most ``attackCount``.
    package private(set) var latestWrong: [Timestamp]
    /// Wrong tries since a code was last right.
    package private(set) var wrongSinceSuccess: Int32
    /// Since when the address is under attack.
    package private(set) var attackedAt: Timestamp?
    /// When the whole allowance of tries at six digits is there again.
    package private(set) var shortFullAt: Timestamp
    /// When the whole allowance of tries at ten digits is there again.
    package private(set) var longFullAt: Timestamp

    package init(
        latestWrong: [Timestamp], wrongSinceSuccess: Int32, attackedAt: Timestamp?, shortFullAt: Timestamp,
        longFullAt: Timestamp
    ) {
        self.latestWrong = latestWrong
        self.wrongSinceSuccess = wrongSinceSuccess
        self.attackedAt = attackedAt
        self.shortFullAt = shortFullAt
        self.longFullAt = longFullAt
    }

    /// Nothing is remembered.
    package static let none = EmailCodeGuesses(
        latestWrong: [], wrongSinceSuccess: 0, attackedAt: nil, shortFullAt: Timestamp(seconds: 0),
        longFullAt: Timestamp(seconds: 0))

    /// So many wrong tries within ``attackPeriod`` are an attack, …
    package static let attackCount = 20
    /// Seconds.
    package static let attackPeriod: Int64 = 86_400
    /// … and so many since a code was last right, however slowly.
    package static let attackCountSinceSuccess: Int32 = 100

    /// Tries at six digits: 30, which come back evenly over a year.
    static let shortAllowance = GuessAllowance(count: 30, seconds: 365 * 86_400)
    /// Tries at ten digits: 500, which come back evenly over a day.
    static let longAllowance = GuessAllowance(count: 500, seconds: 86_400)

    package var isUnderAttack: Bool { attackedAt != nil }

    /// The length of a new code.
    ///
    /// - Parameter isServiceGuessedAt: whether there are so many wrong guesses at all accounts together that each is taken
    ///   for attacked.
    package func length(isServiceGuessedAt: Bool, at now: Timestamp) -> EmailCode.Length {
        // Six digits are of use only while the tries of one network are left.
        let tries = EmailCodeGuesses.shortAllowance.remaining(until: shortFullAt, at: now)
        return isUnderAttack || isServiceGuessedAt || tries < Int(EmailCodeRules.triesPerNetwork) ? .ten : .six
    }

    /// Whether there is an allowance for a try at a code of this length.
    package func allowsTry(at length: EmailCode.Length, at now: Timestamp) -> Bool {
        switch length {
        case .six: EmailCodeGuesses.shortAllowance.remaining(until: shortFullAt, at: now) > 0
        case .ten: EmailCodeGuesses.longAllowance.remaining(until: longFullAt, at: now) > 0
        }
    }

    /// Counts a wrong try at a code of this length.
    package mutating func countWrong(at length: EmailCode.Length, at now: Timestamp) {
        switch length {
        case .six: shortFullAt = EmailCodeGuesses.shortAllowance.drawn(from: shortFullAt, at: now)
        case .ten: longFullAt = EmailCodeGuesses.longAllowance.drawn(from: longFullAt, at: now)
        }
        latestWrong = latestWrong.suffix(EmailCodeGuesses.attackCount - 1) + [now]
        wrongSinceSuccess += wrongSinceSuccess == .max ? 0 : 1
        let start = now.advanced(bySeconds: -EmailCodeGuesses.attackPeriod)
        let isBurst = latestWrong.count { $0 > start } >= EmailCodeGuesses.attackCount
        if isBurst || wrongSinceSuccess >= EmailCodeGuesses.attackCountSinceSuccess {
            attackedAt = attackedAt ?? now
        }
    }

    /// A code was right, and used: an attack is over.
    package mutating func reset() {
        latestWrong = []
        wrongSinceSuccess = 0
        attackedAt = nil
    }

    /// What two rows remember of one address.
    package func merged(with other: EmailCodeGuesses) -> EmailCodeGuesses {
        EmailCodeGuesses(
            latestWrong: Array((latestWrong + other.latestWrong).sorted().suffix(EmailCodeGuesses.attackCount)),
            wrongSinceSuccess: max(wrongSinceSuccess, other.wrongSinceSuccess),
            attackedAt: [attackedAt, other.attackedAt].compactMap(\.self).min(),
            shortFullAt: max(shortFullAt, other.shortFullAt), longFullAt: max(longFullAt, other.longFullAt))
    }

    /// From when on this says the same as ``none``, or was left alone for so long that it needn't be remembered: when both
    /// allowances are whole, after a day, and after a year where it makes codes longer or may soon.
    package var forgetAt: Timestamp {
        let end = max(shortFullAt, longFullAt)
        guard let last = latestWrong.last else { return end }
        let isSerious = isUnderAttack || wrongSinceSuccess >= Int32(EmailCodeGuesses.attackCount)
        return max(end, last.advanced(bySeconds: isSerious ? 365 * 86_400 : EmailCodeGuesses.attackPeriod))
    }
}

/// `count` tries that may be made at once and come back evenly over `seconds` (the generic cell rate algorithm): in any
/// time of that length at most twice as many. Its state is one time, when all of them are there.
struct GuessAllowance: Hashable, Sendable {
    let count: Int64
    let seconds: Int64

    /// Microseconds for one try to come back.
    private var interval: Int64 { seconds * 1_000_000 / count }

    func remaining(until fullAt: Timestamp, at now: Timestamp) -> Int {
        guard fullAt > now else { return Int(count) }
        let missing = (fullAt.microseconds - now.microseconds + interval - 1) / interval
        return Int(max(0, count - missing))
    }

    /// The state after one more try.
    func drawn(from fullAt: Timestamp, at now: Timestamp) -> Timestamp {
        Timestamp(microseconds: max(fullAt.microseconds, now.microseconds) + interval)
    }
}
