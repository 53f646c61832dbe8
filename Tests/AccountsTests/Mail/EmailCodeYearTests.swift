import Accounts
import Foundation
import Testing

/// A year of guessing at the codes of one address, by an attacker with any number of networks, none of which the account is
/// used from. The rules are those that the store carries out; it is compared with them in `EmailCodeStoreTests`.
@Suite struct EmailCodeYearTests {
    private static let start: Int64 = 1_767_225_600
    private static let day = 86_400

    /// An attacker who knows when the owner's codes are right.
    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Codes that they have mailed every ten minutes. One is the default limit, `limits.mailPerAddress`.
        var codes = 1
        /// Wrong tries that they make within a day at most, to stay unnoticed.
        var triesPerDay = Int.max
        /// Seconds between two right codes of the owner's; 0 when they use none.
        var ownerEvery = 0
    }

    private static let attacks = [
        Attack(testDescription: "all that is allowed, and the owner uses no codes"),
        Attack(testDescription: "all that is allowed, and the owner signs in by code daily", ownerEvery: day),
        Attack(testDescription: "the same, and the owner does so every ten minutes", ownerEvery: 600),
        Attack(testDescription: "below what is noticed", triesPerDay: 19),
        Attack(
            testDescription: "below what is noticed, and the owner signs in daily", triesPerDay: 19, ownerEvery: day),
        Attack(testDescription: "six times as many codes", codes: 6, ownerEvery: 600),
    ]

    /// The chance that one of the tries is right. Those at one code are different ones.
    private func chance(of attack: Attack) throws -> Double {
        let codes = try codes()
        var guesses = EmailCodeGuesses.none
        var missed = 1.0
        var (day, triesOfDay) = (0, 0)
        for time in stride(from: 0, to: 365 * Self.day, by: Int(Lifetimes.emailCodeSeconds)) {
            let now = Timestamp(seconds: Self.start + Int64(time))
            if attack.ownerEvery > 0, time % attack.ownerEvery == 0 { guesses.reset() }
            if time / Self.day != day { (day, triesOfDay) = (time / Self.day, 0) }
            for _ in 0..<attack.codes {
                let code = try #require(codes[guesses.length(isServiceGuessedAt: false, at: now)])
                var tries: Int32 = 0
                while triesOfDay < attack.triesPerDay, isOpen(code, tries, guesses, at: now) {
                    guesses.countWrong(at: code.length, at: now)
                    tries += 1
                    triesOfDay += 1
                }
                missed *= 1 - Double(tries) / pow(10, Double(code.length.rawValue))
            }
        }
        return 1 - missed
    }

    private func codes() throws -> [EmailCode.Length: EmailCode] {
        let email = try #require(EmailAddress("victim@example.com"))
        return Dictionary(
            uniqueKeysWithValues: EmailCode.Length.allCases.map { length in
                (
                    length,
                    EmailCode(
                        id: EmailCodeID(now: Timestamp(seconds: 0), random: []), keyID: "k1", email: email,
                        purpose: .signIn, length: length, expiresAt: Timestamp(seconds: .max))
                )
            })
    }

    /// From a network that has not tried this code yet.
    private func isOpen(_ code: EmailCode, _ tries: Int32, _ guesses: EmailCodeGuesses, at now: Timestamp) -> Bool {
        let live = LiveEmailCode(code: code, tries: tries, mails: 1, mailedAt: now)
        return EmailCodeRules.attempt(at: live, share: .none, guesses: guesses, at: now) == .open
    }

    /// 60 tries at six digits and 183,000 at ten: 6.0 and 1.8 in 100,000, whatever the owner and the operator do.
    private static let bound = 60 / 1e6 + 183_000 / 1e10

    @Test(arguments: attacks)
    func `in a year one target's code is guessed with less than one in ten thousand`(attack: Attack) throws {
        let chance = try chance(of: attack)
        #expect(chance < 0.0001)
        #expect(chance <= Self.bound)
        // Something was tried.
        #expect(chance > 0.00002)
    }
}
