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
    /// The tries at an address go one by one, so that of any number at once no more are looked at than there are left: at
    /// most twenty per code of those that every network shares. Those that only a network may make from which the account
    /// is used are counted for that network. What is refused runs the same statements, and its commit waits for the disk,
    /// whether there is a code or none and whether or not its tries are used up: the response time shows neither.
    ///
    /// - Parameter isRight: compares; takes no time and does no I/O.
    /// - Returns: the code, if it is right and this network may use it.
    package func attempt(
        _ attempt: EmailCodeAttempt, by call: Call, isRight: @escaping @Sendable (EmailCode) -> Bool
    ) async throws -> EmailCode? {
        let outcome = try await database.change(by: call) { change in
            try await change.emailCodes.attemptInTurn(attempt, isRight: isRight)
        }
        let code: EmailCode?
        switch outcome {
        case .right(let code): return code
        case .rightIfKnown(let right): code = right
        case .wrong: code = nil
        }
        guard let network = attempt.network else { return nil }
        // Without an address it is the same query. A code of a session is for an address that is not proven yet, so it
        // has no known network.
        let asked = attempt.account == nil ? code?.email : nil
        return try await knownNetworks.isKnown(network, toHolderOf: asked, by: call) ? code : nil
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
        /// The others have used up what there is.
        case rightIfKnown(EmailCode)
        case wrong
    }

    /// Counts a try of the network, if it has one left.
    fileprivate static func countingTry(_ attempt: EmailCodeAttempt, at code: EmailCodeID, by call: Call) -> SQL {
        """
        INSERT INTO mailed_code_networks AS n (code_id, network, asked, tries, mails, created_at)
        SELECT c.code_id, \(attempt.network ?? ""), false, 1, 0, \(call.now)
        FROM \(row(code))
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
        _ attempt: EmailCodeAttempt, isRight matches: @Sendable (EmailCode) -> Bool
    ) async throws(PostgresError) -> EmailCodeStore.Outcome {
        try await lock(attempt.email)
        let tried = try await EmailCodeStore.read(attempt, by: call, in: change)
        let (code, decision) = (tried?.live.code, tried?.decision(by: call) ?? .refused)
        let isRight = code.map(matches) ?? false
        if let code, isRight, decision == .open { return .right(code) }
        // What doesn't count is written at the id of no code.
        let none = EmailCodeID(now: now)
        let id = code?.id ?? none
        let (shared, own): (EmailCodeID, EmailCodeID) =
            switch decision {
            case .open: (id, id)
            case .onlyIfKnown: (none, attempt.network == nil ? none : id)
            case .refused: (none, none)
            }
        var guesses = tried?.guesses ?? EmailCodeGuesses.none
        if let code, decision == .open { guesses.countWrong(at: code.length, at: now) }
        _ = try await change.execute("UPDATE mailed_codes SET tries = tries + 1 WHERE code_id = \(shared)")
        let isCounted = try await change.execute(EmailCodeStore.countingTry(attempt, at: own, by: call)) == 1
        try await EmailCodeStore.write(
            guesses, under: tried?.addressKey ?? [], if: decision == .open, by: call, in: change)
        _ = try await change.execute(EmailCodeStore.commitMessage)
        guard let code, isRight, isCounted, decision == .onlyIfKnown else { return .wrong }
        return .rightIfKnown(code)
    }
}
