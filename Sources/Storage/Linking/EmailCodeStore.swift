package import Accounts
package import Postgres

/// A request for a code by mail.
package struct EmailCodeRequest: Sendable {
    /// The code to be made if a new one is called for; its length is decided then.
    package let code: EmailCode
    /// The hash of the link ticket that a code for *bind* belongs to.
    package let ticketHash: SecretHash?
    /// The keyed digests of the address, that of the key ring's first line first.
    package let addressKeys: [[UInt8]]
    /// The network that asks; `nil` if it is not known.
    package let network: Network?
    package let language: String
    /// Whether there are so many wrong guesses at all accounts together that each address is taken for attacked.
    package var isServiceGuessedAt = false

    package init(code: EmailCode, ticketHash: SecretHash?, addressKeys: [[UInt8]], network: Network?, language: String)
    {
        self.code = code
        self.ticketHash = ticketHash
        self.addressKeys = addressKeys
        self.network = network
        self.language = language
    }

    var slot: EmailCodeSlot { EmailCodeSlot(email: code.email, purpose: code.purpose, ticketHash: ticketHash) }
}

/// `mailed_codes`, one for an address, purpose and link ticket; what each network did with them; and the wrong tries that
/// are remembered of an address. ``EmailCodeRules`` decides.
///
/// ```
///   request ──▶ live ──the right digits──▶ no row
///                 ├──requested again──▶ mailed again, or replaced
///                 └──10 minutes, too many wrong tries──▶ dead ──swept──▶ no row
/// ```
package struct EmailCodeStore: Sendable {
    let database: Database
    var knownNetworks: KnownNetworks { KnownNetworks(database: database) }

    /// Whether an allowance has to be drawn for the request, as things are.
    package func needsAllowance(_ request: EmailCodeRequest, by call: Call) async throws(PostgresError) -> Bool {
        let found = try await EmailCodeStore.read(request, by: call, in: database)
        return found.decision(nil, by: call) == .needsAllowance
    }

    /// Makes a code, or mails the live one again, as ``EmailCodeRules`` decides. The work is the same whatever they
    /// decide, and whether or not an account has the address: that is looked up when the mail is made.
    ///
    /// - Parameter allowance: what was drawn for the request; without one a code that is called for is not made.
    /// - Returns: what was done, or ``EmailCodeRequestDecision/needsAllowance``.
    package func request(
        _ request: EmailCodeRequest, allowance: EmailCodeAllowance?, by call: Call
    ) async throws -> EmailCodeRequestDecision {
        try await database.change(by: call) { change in
            try await change.emailCodes.request(request, allowance: allowance)
        }
    }

    /// The same on behalf of an administrator.
    ///
    /// - Parameter event: recorded in the same transaction, unless nothing is mailed.
    package func request(
        _ request: EmailCodeRequest, allowance: EmailCodeAllowance?, recording event: AuditEvent, by call: Call
    ) async throws -> EmailCodeRequestDecision {
        try await database.change(by: call) { change in
            let decision = try await change.emailCodes.request(request, allowance: allowance)
            switch decision {
            case .issue, .mail: try await change.record(event)
            case .nothing, .needsAllowance: break
            }
            return decision
        }
    }

    /// The number of addresses that were under attack within a day, with or without an account.
    package func addressesUnderAttack(by call: Call) async throws(PostgresError) -> Int {
        let rows = try await database.query(
            """
            SELECT count(*)
            FROM guessed_addresses
            WHERE attacked_at IS NOT NULL
                AND latest_wrong[cardinality(latest_wrong)] > \(call.now.advanced(bySeconds: -EmailCodeGuesses.attackPeriod))
            """, as: Int.self)
        return rows.first ?? 0
    }

    /// Deletes codes that expired before `time`, and what is remembered of addresses for longer than it matters.
    ///
    /// - Returns: how many were deleted, at most `limit` of each kind.
    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        let codes = try await database.delete(from: "mailed_codes", where: "expires_at < \(time)", limit: limit)
        let addresses = try await database.delete(from: "guessed_addresses", where: "forget_at < \(time)", limit: limit)
        return codes + addresses + (try await deleteExpiredOfPredecessors(before: time, limit: limit))
    }
}

extension Change.EmailCodes {
    /// The same in a transaction, which makes other requests and tries for the address wait.
    func request(
        _ request: EmailCodeRequest, allowance: EmailCodeAllowance?
    ) async throws(PostgresError) -> EmailCodeRequestDecision {
        try await lock(request.code.email)
        let found = try await EmailCodeStore.read(request, by: call, in: change)
        let decision = found.decision(allowance, by: call)
        try await EmailCodeStore.carryOut(decision, of: request, found, by: call, in: change)
        return decision
    }

    /// Consumes the code, which ends an attack on its address. A concurrent use of the same code finds it gone.
    ///
    /// - Returns: whether it was still there.
    func consume(_ code: EmailCode) async throws(PostgresError) -> Bool {
        let rows = try await change.query(
            """
            WITH used AS (
                DELETE FROM mailed_codes c
                WHERE c.code_id = \(code.id) AND c.expires_at > \(now)
                RETURNING c.address_key
            ), copied AS (
                DELETE FROM email_codes
                WHERE email = \(code.email.text) AND purpose = \(code.purpose.rawValue) AND code_id = \(code.id)
                    AND expires_at > \(now)
            ), forgotten AS (
                UPDATE guessed_addresses g
                SET latest_wrong = '{}', wrong_since_success = 0, attacked_at = NULL,
                    forget_at = GREATEST(g.short_full_at, g.long_full_at)
                FROM used u
                WHERE g.address_key = u.address_key
            )
            SELECT EXISTS (SELECT FROM used)
            """, as: Bool.self)
        return rows.first ?? false
    }

    /// Ends the codes that were mailed to the proven address of the account. Those of an address that is less than proven stay:
    /// they are its reader's, who need not be the account's owner.
    ///
    /// - Parameter id: of an account that is locked.
    func end(mailedTo id: AccountID) async throws(PostgresError) {
        for codes in ["mailed_codes", "email_codes"] as [SQL] {
            _ = try await change.execute(
                """
                DELETE FROM \(codes)
                WHERE email = (
                    SELECT a.email
                    FROM accounts a
                    WHERE a.account_id = \(id) AND (\(AccountRow.proof)) = \(EmailProof.proven.rawValue))
                """)
        }
    }
}
