package import Accounts
import Postgres

/// A try at a code.
package struct EmailCodeAttempt: Sendable {
    package let email: EmailAddress
    package let purpose: EmailCodePurpose
    package let ticketHash: SecretHash?
    /// The network that tries; `nil` if it is not known.
    package let network: Network?
    /// The account that the code is tried for, if that is not the one that has the address.
    package let account: AccountID?

    package init(
        email: EmailAddress, purpose: EmailCodePurpose, ticketHash: SecretHash?, network: Network?, account: AccountID?
    ) {
        self.email = email
        self.purpose = purpose
        self.ticketHash = ticketHash
        self.network = network
        self.account = account
    }

    var slot: EmailCodeSlot { EmailCodeSlot(email: email, purpose: purpose, ticketHash: ticketHash) }
}

/// Tries at codes.
extension EmailCodeStore {
    /// Looks whether the typed text is the live code, and counts it if it isn't.
    ///
    /// The tries that every network shares go one by one, so that of any number at once no more are looked at than there
    /// are left; at most twenty of them per code. Those that only a network may make from which the account is used are
    /// counted for that network, and wait for no other.
    ///
    /// - Parameter isRight: compares; takes no time and does no I/O.
    /// - Returns: the code, if it is right and this network may use it.
    package func attempt(
        _ attempt: EmailCodeAttempt, by call: Call, isRight: @escaping @Sendable (EmailCode) -> Bool
    ) async throws -> EmailCode? {
        guard let tried = try await EmailCodeStore.read(attempt, by: call, in: database) else { return nil }
        var decision = tried.decision(by: call)
        if decision == .open {
            let outcome = try await database.change(by: call) { change in
                try await change.emailCodes.attemptInTurn(attempt, isRight: isRight)
            }
            switch outcome {
            case .right(let code): return code
            case .wrong: return nil
            case .notOpen(let later): decision = later
            }
        }
        guard decision == .onlyIfKnown else { return nil }
        return try await attemptIfKnown(attempt, at: tried.live.code, by: call, isRight: isRight)
    }

    /// The same at the codes of several addresses, without saying which one is meant. What is one of them is tried at that
    /// alone; what is none of them counts at each.
    package func attempt(
        anyOf attempts: [EmailCodeAttempt], by call: Call, isRight: @escaping @Sendable (EmailCode) -> Bool
    ) async throws -> EmailCode? {
        for attempt in try await meant(by: attempts, by: call, isRight: isRight) {
            if let code = try await self.attempt(attempt, by: call, isRight: isRight) { return code }
        }
        return nil
    }

    private func meant(
        by attempts: [EmailCodeAttempt], by call: Call, isRight: @Sendable (EmailCode) -> Bool
    ) async throws(PostgresError) -> [EmailCodeAttempt] {
        guard attempts.count > 1 else { return attempts }
        for attempt in attempts {
            guard let tried = try await EmailCodeStore.read(attempt, by: call, in: database) else { continue }
            if isRight(tried.live.code) { return [attempt] }
        }
        return attempts
    }

    fileprivate enum Outcome: Sendable {
        case right(EmailCode)
        case wrong
        /// By now others have used up what there was.
        case notOpen(EmailCodeTryDecision)
    }

    /// A try that succeeds only from a network where the account that has proven the address is used. Wrong digits run
    /// the same query without an address, so the response time doesn't show which digits are right. A code of a session
    /// is for an address that is not proven yet, so it has no known network.
    private func attemptIfKnown(
        _ attempt: EmailCodeAttempt, at code: EmailCode, by call: Call, isRight: @Sendable (EmailCode) -> Bool
    ) async throws(PostgresError) -> EmailCode? {
        guard let network = attempt.network else { return nil }
        guard try await database.execute(EmailCodeStore.countingTry(attempt, at: code, by: call)) == 1 else {
            return nil
        }
        let isRight = isRight(code)
        let asked = isRight && attempt.account == nil ? attempt.email : nil
        let isKnown = try await knownNetworks.isKnown(network, toHolderOf: asked, by: call)
        return isRight && isKnown ? code : nil
    }

    /// Counts a try of the network, if it has one left.
    fileprivate static func countingTry(_ attempt: EmailCodeAttempt, at code: EmailCode, by call: Call) -> SQL {
        """
        INSERT INTO mailed_code_networks AS n (code_id, network, asked, tries, mails, created_at)
        SELECT c.code_id, \(attempt.network ?? ""), false, 1, 0, \(call.now)
        FROM \(row(code.id))
        ON CONFLICT (code_id, network) DO UPDATE
        SET tries = n.tries + 1
        WHERE n.tries < \(EmailCodeRules.triesPerNetwork)
        """
    }

    /// What a try finds.
    fileprivate struct Tried: Sendable {
        let live: LiveEmailCode
        let share: EmailCodeShare
        let guesses: EmailCodeGuesses
        let addressKey: [UInt8]

        func decision(by call: Call) -> EmailCodeTryDecision {
            EmailCodeRules.attempt(at: live, share: share, guesses: guesses, at: call.now)
        }
    }

    fileprivate static func read(
        _ attempt: EmailCodeAttempt, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) -> Tried? {
        let slot = attempt.slot
        let rows = try await session.query(
            """
            SELECT \(liveColumns), \(shareColumns), c.address_key, g.address_key IS NOT NULL, \(guessColumns)
            FROM mailed_codes c
            LEFT JOIN mailed_code_networks n ON n.code_id = c.code_id AND n.network = \(attempt.network ?? "")
            LEFT JOIN guessed_addresses g ON g.address_key = c.address_key
            WHERE \(slot.condition) AND c.expires_at > \(call.now)
            """
        ) { row throws(PostgresError) in
            let isRemembered = try Bool(from: row[columnCount + 1])
            return Tried(
                live: try LiveEmailCode(row, slot), share: try EmailCodeShare(row),
                guesses: isRemembered ? try EmailCodeGuesses(row, from: columnCount + 2) : .none,
                addressKey: try [UInt8](from: row[columnCount]))
        }
        return rows.first
    }
}

extension Change.EmailCodes {
    fileprivate func attemptInTurn(
        _ attempt: EmailCodeAttempt, isRight: @Sendable (EmailCode) -> Bool
    ) async throws(PostgresError) -> EmailCodeStore.Outcome {
        try await lock(attempt.email)
        guard let tried = try await EmailCodeStore.read(attempt, by: call, in: change) else { return .wrong }
        let decision = tried.decision(by: call)
        guard decision == .open else { return .notOpen(decision) }
        let code = tried.live.code
        if isRight(code) { return .right(code) }
        _ = try await change.execute("UPDATE mailed_codes SET tries = tries + 1 WHERE code_id = \(code.id)")
        _ = try await change.execute(EmailCodeStore.countingTry(attempt, at: code, by: call))
        var guesses = tried.guesses
        guesses.countWrong(at: code.length, at: now)
        try await EmailCodeStore.write(guesses, under: tried.addressKey, by: call, in: change)
        return .wrong
    }
}
