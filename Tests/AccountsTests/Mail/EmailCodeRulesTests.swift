import Accounts
import Testing

/// When a code may be tried, when it is mailed again and when another one takes its place, one line each.
@Suite struct EmailCodeRulesTests {
    private static let now = Timestamp(seconds: 1_767_225_600)

    private static func ago(_ seconds: Int64) -> Timestamp { now.advanced(bySeconds: -seconds) }

    private func live(
        _ length: EmailCode.Length = .six, tries: Int32 = 0, mails: Int32 = 1, mailed: Int64 = 60
    ) throws -> LiveEmailCode {
        let code = EmailCode(
            id: EmailCodeID(now: Self.ago(mailed)), keyID: "k1", email: try #require(EmailAddress("kim@example.com")),
            purpose: .signIn, length: length, expiresAt: Self.now.advanced(bySeconds: 300))
        return LiveEmailCode(code: code, tries: tries, mails: mails, mailedAt: Self.ago(mailed))
    }

    /// What is left after as many wrong tries at codes of six digits, a month ago and so no attack of today's.
    private func guesses(short: Int = 0, long: Int = 0) -> EmailCodeGuesses {
        var guesses = EmailCodeGuesses.none
        for _ in 0..<short { guesses.countWrong(at: .six, at: Self.now) }
        for _ in 0..<long { guesses.countWrong(at: .ten, at: Self.now) }
        return guesses
    }

    // MARK: Requests

    private func request(
        _ live: LiveEmailCode?, share: EmailCodeShare = .none, elsewhere: Bool = false,
        guesses: EmailCodeGuesses = .none, _ allowance: EmailCodeAllowance?
    ) -> EmailCodeRequestDecision {
        EmailCodeRules.request(
            of: live, share: share, isAskedForElsewhere: elsewhere, guesses: guesses, allowance: allowance,
            at: Self.now)
    }

    private func expect(
        _ expected: [EmailCodeRequestDecision], _ live: LiveEmailCode?, share: EmailCodeShare = .none,
        elsewhere: Bool = false, guesses: EmailCodeGuesses = .none, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let decisions = [nil, EmailCodeAllowance.full, .onlyIfKnown].map {
            request(live, share: share, elsewhere: elsewhere, guesses: guesses, $0)
        }
        #expect(decisions == expected, sourceLocation: sourceLocation)
        // As without an allowance, but that none is asked for.
        let usedUp = request(live, share: share, elsewhere: elsewhere, guesses: guesses, .usedUp)
        #expect(usedUp == (expected[0] == .needsAllowance ? .nothing : expected[0]), sourceLocation: sourceLocation)
    }

    private func share(tries: Int32 = 0, mails: Int32 = 0, mailed: Int64? = nil) -> EmailCodeShare {
        EmailCodeShare(tries: tries, mails: mails, mailedAt: mailed.map(Self.ago))
    }

    @Test func `without a live code one is made`() {
        expect([.needsAllowance, .issue(onlyIfKnown: false), .issue(onlyIfKnown: true)], nil)
    }

    @Test func `a live code is mailed again after a minute, twice`() throws {
        for mails in 1...2 as ClosedRange<Int32> {
            let again = EmailCodeRequestDecision.mail(onlyIfKnown: false)
            expect([again, again, again], try live(mails: mails, mailed: 60))
            expect([.nothing, .nothing, .nothing], try live(mails: mails, mailed: 59))
        }
        expect([.nothing, .nothing, .nothing], try live(mails: 3, mailed: 500))
    }

    @Test func `who has mistyped it too often gets another one, unless another network asked for it too`() throws {
        let again = EmailCodeRequestDecision.mail(onlyIfKnown: false)
        expect([again, again, again], try live(), share: share(tries: 4))
        expect(
            [.needsAllowance, .issue(onlyIfKnown: false), .mail(onlyIfKnown: true)], try live(), share: share(tries: 5))
        expect([again, again, again], try live(), share: share(tries: 5), elsewhere: true)
    }

    @Test func `a code that everybody together has used up is replaced`() throws {
        let again = EmailCodeRequestDecision.mail(onlyIfKnown: false)
        expect([again, again, again], try live(tries: 19), elsewhere: true)
        expect(
            [.needsAllowance, .issue(onlyIfKnown: false), .mail(onlyIfKnown: true)], try live(tries: 20),
            elsewhere: true)
    }

    @Test func `a code of a length for which the address has no tries left is replaced`() throws {
        let replaced: [EmailCodeRequestDecision] = [
            .needsAllowance, .issue(onlyIfKnown: false), .mail(onlyIfKnown: true),
        ]
        let again = EmailCodeRequestDecision.mail(onlyIfKnown: false)
        expect([again, again, again], try live(.six), guesses: guesses(short: 29))
        expect(replaced, try live(.six), guesses: guesses(short: 30))
        expect([again, again, again], try live(.ten), guesses: guesses(short: 30, long: 499))
        expect(replaced, try live(.ten), guesses: guesses(long: 500))
    }

    @Test func `what goes to known networks alone replaces nothing, and is mailed thrice, a minute apart`() throws {
        for (share, expected) in [
            (share(), EmailCodeRequestDecision.mail(onlyIfKnown: true)),
            (share(mails: 1, mailed: 59), .nothing), (share(mails: 1, mailed: 60), .mail(onlyIfKnown: true)),
            (share(mails: 2, mailed: 60), .mail(onlyIfKnown: true)), (share(mails: 3, mailed: 500), .nothing),
        ] { #expect(request(try live(tries: 20), share: share, .onlyIfKnown) == expected) }
    }

    @Test func `a code that was mailed to nobody yet needs an allowance to be mailed`() throws {
        let unmailed = try live(mails: 0, mailed: 10)
        expect([.needsAllowance, .mail(onlyIfKnown: false), .mail(onlyIfKnown: true)], unmailed)
        expect([.nothing, .nothing, .nothing], unmailed, share: share(mails: 1, mailed: 59))
    }

    // MARK: Tries

    private func attempt(
        _ live: LiveEmailCode, tries: Int32 = 0, guesses: EmailCodeGuesses = .none
    ) -> EmailCodeTryDecision {
        EmailCodeRules.attempt(at: live, share: share(tries: tries), guesses: guesses, at: Self.now)
    }

    @Test func `a network has five wrong tries`() throws {
        #expect(attempt(try live(tries: 4), tries: 4) == .open)
        #expect(attempt(try live(tries: 5), tries: 5) == .refused)
        // Also one that the account is used from.
        #expect(attempt(try live(tries: 20), tries: 5) == .refused)
    }

    @Test func `all networks together have twenty, and then only known ones have theirs`() throws {
        #expect(attempt(try live(tries: 19)) == .open)
        #expect(attempt(try live(tries: 20)) == .onlyIfKnown)
        #expect(attempt(try live(tries: 20), tries: 4) == .onlyIfKnown)
    }

    @Test func `an address has thirty tries at six digits and five hundred at ten`() throws {
        #expect(attempt(try live(.six), guesses: guesses(short: 29)) == .open)
        #expect(attempt(try live(.six), guesses: guesses(short: 30)) == .onlyIfKnown)
        #expect(attempt(try live(.ten), guesses: guesses(short: 30, long: 499)) == .open)
        #expect(attempt(try live(.ten), guesses: guesses(long: 500)) == .onlyIfKnown)
    }
}
