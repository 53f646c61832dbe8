/// A code that was mailed, and what has become of it so far.
package struct LiveEmailCode: Hashable, Sendable {
    package let code: EmailCode
    /// Wrong tries from all networks.
    package let tries: Int32
    /// How often it was mailed, and when last. Not counted are mails to be sent only if the account is used
    /// from the asking network.
    package let mails: Int32
    package let mailedAt: Timestamp

    package init(code: EmailCode, tries: Int32 = 0, mails: Int32, mailedAt: Timestamp) {
        self.code = code
        self.tries = tries
        self.mails = mails
        self.mailedAt = mailedAt
    }
}

/// What one network has done with a code.
package struct EmailCodeShare: Hashable, Sendable {
    /// Its wrong tries.
    package let tries: Int32
    /// How often the code was mailed, or was to be if the account is used from there, because of it; and when last.
    package let mails: Int32
    package let mailedAt: Timestamp?

    package init(tries: Int32, mails: Int32, mailedAt: Timestamp?) {
        self.tries = tries
        self.mails = mails
        self.mailedAt = mailedAt
    }

    package static let none = EmailCodeShare(tries: 0, mails: 0, mailedAt: nil)
}

/// What is to be done about a request for a code. The answer to it is the same in any case.
package enum EmailCodeRequestDecision: Hashable, Sendable {
    /// A code is to be made, or mailed for the first time: an allowance has to be drawn before.
    case needsAllowance
    /// Make a code the live one, in place of another if there is one, and mail it.
    case issue(onlyIfKnown: Bool)
    /// Mail the live one.
    case mail(onlyIfKnown: Bool)
    case nothing
}

/// What was left of the allowance of codes for an address (`limits.mailPerAddress`).
package enum EmailCodeAllowance: Hashable, Sendable {
    case full
    /// Nothing, but for a network that the account is used from. Whether it is one is looked up when the mail is sent, so
    /// that neither the answer nor its time depends on it.
    case onlyIfKnown
    /// Nothing for the asking network either: no code is made, and the request is answered as ever.
    case usedUp
}

/// What a try at a code may do.
package enum EmailCodeTryDecision: Hashable, Sendable {
    /// Compare, and count a wrong one.
    case open
    /// The others have used up the code, or the address: only a network that the account is used from may be right.
    case onlyIfKnown
    /// This network has used up its tries.
    case refused
}

/// When a code may be tried, when it is mailed again, and when another one takes its place.
package enum EmailCodeRules {
    /// Wrong tries at a code that one network has.
    package static let triesPerNetwork: Int32 = 5
    /// Wrong tries at a code from all networks together. A network that the account is used from keeps its own beyond
    /// them.
    package static let triesPerCode: Int32 = 20
    /// How often a code is mailed: once, and twice again.
    package static let mailsPerCode: Int32 = 3
    /// Seconds between two mails of a code.
    package static let mailInterval: Int64 = 60

    /// - Parameters:
    ///   - live: the live code of the address, purpose and ticket.
    ///   - share: what the asking network has done with it.
    ///   - isAskedForElsewhere: whether another network has asked for it too.
    ///   - allowance: `nil` as long as none was drawn.
    package static func request(
        of live: LiveEmailCode?, share: EmailCodeShare, isAskedForElsewhere: Bool, guesses: EmailCodeGuesses,
        allowance: EmailCodeAllowance?, at now: Timestamp
    ) -> EmailCodeRequestDecision {
        guard allowance != .usedUp else {
            let decision = request(
                of: live, share: share, isAskedForElsewhere: isAskedForElsewhere, guesses: guesses, allowance: nil,
                at: now)
            return decision == .needsAllowance ? .nothing : decision
        }
        guard let live else {
            return allowance.map { .issue(onlyIfKnown: $0 == .onlyIfKnown) } ?? .needsAllowance
        }
        // A code that can't be used any more is replaced; so is one that its only asker has mistyped too often. What
        // another network has asked for stays, or an attacker would take it away by trying and asking.
        let isSpent = share.tries >= triesPerNetwork && !isAskedForElsewhere
        if isSpent || !isOpen(live, guesses, at: now) {
            guard let allowance else { return .needsAllowance }
            if allowance == .full { return .issue(onlyIfKnown: false) }
            // A code that may not be delivered must not replace a live one.
            return isMailDue(share, at: now) ? .mail(onlyIfKnown: true) : .nothing
        }
        if live.mails == 0 {
            guard isMailDue(share, at: now) else { return .nothing }
            return allowance.map { .mail(onlyIfKnown: $0 == .onlyIfKnown) } ?? .needsAllowance
        }
        return isDue(mails: live.mails, last: live.mailedAt, at: now) ? .mail(onlyIfKnown: false) : .nothing
    }

    package static func attempt(
        at live: LiveEmailCode, share: EmailCodeShare, guesses: EmailCodeGuesses, at now: Timestamp
    ) -> EmailCodeTryDecision {
        guard share.tries < triesPerNetwork else { return .refused }
        return isOpen(live, guesses, at: now) ? .open : .onlyIfKnown
    }

    /// Whether a network that the account isn't used from may try.
    private static func isOpen(_ live: LiveEmailCode, _ guesses: EmailCodeGuesses, at now: Timestamp) -> Bool {
        live.tries < triesPerCode && guesses.allowsTry(at: live.code.length, at: now)
    }

    private static func isMailDue(_ share: EmailCodeShare, at now: Timestamp) -> Bool {
        isDue(mails: share.mails, last: share.mailedAt, at: now)
    }

    private static func isDue(mails: Int32, last: Timestamp?, at now: Timestamp) -> Bool {
        guard mails < mailsPerCode else { return false }
        return last.map { $0.advanced(bySeconds: mailInterval) <= now } ?? true
    }
}
