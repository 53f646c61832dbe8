import Accounts
import Postgres

/// What a request finds: the live code, what the asking network did with it, and what is remembered of the address.
struct FoundEmailCode: Sendable {
    let live: LiveEmailCode?
    let share: EmailCodeShare
    let isAskedForElsewhere: Bool
    let guesses: EmailCodeGuesses
    /// The rows of `guessed_addresses` that ``guesses`` is made of: one, unless the key ring has got a new first line.
    let addressKeys: [[UInt8]]

    func decision(_ allowance: EmailCodeAllowance?, by call: Call) -> EmailCodeRequestDecision {
        EmailCodeRules.request(
            of: live, share: share, isAskedForElsewhere: isAskedForElsewhere, guesses: guesses, allowance: allowance,
            at: call.now)
    }
}

/// Requests for a code.
extension EmailCodeStore {
    static func read(
        _ request: EmailCodeRequest, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) -> FoundEmailCode {
        let codes = try await session.query(
            """
            SELECT \(liveColumns), \(shareColumns),
                EXISTS (
                    SELECT FROM mailed_code_networks o
                    WHERE o.code_id = c.code_id AND o.network <> \(request.network ?? "") AND o.asked)
            FROM mailed_codes c
            LEFT JOIN mailed_code_networks n ON n.code_id = c.code_id AND n.network = \(request.network ?? "")
            WHERE \(request.slot.condition) AND c.expires_at > \(call.now)
            """
        ) { row throws(PostgresError) in
            let (live, share) = try (LiveEmailCode(row, request.slot), EmailCodeShare(row))
            return (live, share, try Bool(from: row[EmailCodeStore.columnCount]))
        }
        let remembered = try await session.query(
            """
            SELECT address_key, \(guessColumns)
            FROM guessed_addresses g
            WHERE g.address_key = ANY (\(request.addressKeys))
            """
        ) { row throws(PostgresError) in (try [UInt8](from: row[0]), try EmailCodeGuesses(row, from: 1)) }
        return FoundEmailCode(
            live: codes.first?.0, share: codes.first?.1 ?? .none, isAskedForElsewhere: codes.first?.2 ?? false,
            guesses: remembered.map(\.1).reduce(.none) { $0.merged(with: $1) },
            addressKeys: remembered.map(\.0))
    }

    /// Carries out what was decided, by the same statements whatever that is, some of which have no effect: the response
    /// time doesn't show whether there was a live code.
    ///
    /// - Parameter session: a transaction that has locked the address.
    static func carryOut(
        _ decision: EmailCodeRequestDecision, of request: EmailCodeRequest, _ found: FoundEmailCode, by call: Call,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        let writing: Writing
        switch decision {
        case .issue(let onlyIfKnown):
            let addressKey = try await keepGuesses(found, under: request.addressKeys, by: call, in: session)
            let length = found.guesses.length(isServiceGuessedAt: request.isServiceGuessedAt, at: call.now)
            writing = Writing(
                code: request.code.with(length), isNew: true, isMailed: true, onlyIfKnown: onlyIfKnown,
                addressKey: addressKey)
        case .mail(let onlyIfKnown):
            guard let code = found.live?.code else { return }
            writing = Writing(code: code, isNew: false, isMailed: true, onlyIfKnown: onlyIfKnown)
        case .nothing:
            // Where no code is live, at the id of none.
            writing = Writing(
                code: found.live?.code ?? request.code, isNew: false, isMailed: false, onlyIfKnown: false)
        case .needsAllowance: return
        }
        try await write(writing, of: request, by: call, in: session)
    }

    /// What a decision comes to.
    private struct Writing: Sendable {
        let code: EmailCode
        /// Whether it becomes the live one of its address, purpose and ticket.
        let isNew: Bool
        let isMailed: Bool
        /// Whether the mail is sent only if the account is used from the asking network.
        let onlyIfKnown: Bool
        var addressKey: [UInt8] = []
    }

    private static func write(
        _ writing: Writing, of request: EmailCodeRequest, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        let code = writing.code
        let isCounted = writing.isMailed && !writing.onlyIfKnown
        // Where none takes its place, one that is over by this process's clock alone stays: that may be ahead.
        _ = try await session.execute(
            """
            DELETE FROM mailed_codes c
            WHERE \(request.slot.condition) AND c.code_id <> \(code.id)
                AND (\(writing.isNew) OR c.expires_at <= clock_timestamp())
            """)
        _ = try await session.execute(
            """
            UPDATE mailed_codes
            SET mails = mails + 1, mailed_at = \(call.now)
            WHERE code_id = \(code.id) AND \(isCounted)
            """)
        _ = try await session.execute(
            """
            INSERT INTO mailed_codes (code_id, email, purpose, ticket_hash, key_id, digits, address_key, mails, mailed_at,
                created_at, expires_at)
            SELECT \(code.id), \(code.email.text), \(code.purpose.rawValue), \(request.ticketHash), \(code.keyID),
                \(code.length.rawValue), \(writing.addressKey), \(isCounted ? 1 as Int32 : 0), \(call.now), \(call.now),
                \(code.expiresAt)
            WHERE \(writing.isNew)
            """)
        _ = try await session.execute(noting(request, at: code.id, isMailed: writing.isMailed, by: call))
        try await mirror(code, request.ticketHash, if: writing.isNew, by: call, in: session)
        let mail = Mail(Mail.Kind(code: code.purpose), to: code.email, in: request.language)
        let turn = try await CodeTurn(of: call.caller, in: session)
        let insertion = MailStore.insertion(
            mail, codeID: code.id, knownNetwork: writing.onlyIfKnown ? request.network : nil,
            expiresAt: code.expiresAt, turn: turn,
            from: "mailed_codes c WHERE c.code_id = \(code.id) AND \(writing.isMailed) FOR KEY SHARE", by: call)
        _ = try await session.execute(insertion)
    }

    /// The code's row, `c`, which stays until the statement has ended.
    static func row(_ id: EmailCodeID) -> SQL { "mailed_codes c WHERE c.code_id = \(id) FOR KEY SHARE" }

    /// Without it a commit that has written no row wouldn't wait for the disk, and its time would show that.
    static let commitMessage: SQL = "SELECT pg_logical_emit_message(true, 'countersign', '')"

    /// Notes that the network has asked for the code, if there is one.
    private static func noting(
        _ request: EmailCodeRequest, at code: EmailCodeID, isMailed: Bool, by call: Call
    ) -> SQL {
        let mails: Int32 = isMailed ? 1 : 0
        return """
            WITH noted AS (
                INSERT INTO mailed_code_networks AS n (code_id, network, asked, tries, mails, mailed_at, created_at)
                SELECT c.code_id, \(request.network ?? ""), true, 0, \(mails), \(isMailed ? call.now : nil), \(call.now)
                FROM \(row(code))
                ON CONFLICT (code_id, network) DO UPDATE
                SET asked = true, mails = n.mails + EXCLUDED.mails,
                    mailed_at = COALESCE(EXCLUDED.mailed_at, n.mailed_at)
            )
            \(commitMessage)
            """
    }
}

extension Change.EmailCodes {
    /// Makes the requests and tries for an address go one by one until the transaction ends. A statement of its own,
    /// because a statement that waits for a lock still sees the state from before the wait.
    func lock(_ email: EmailAddress) async throws(PostgresError) {
        _ = try await change.query(
            "SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'codes', \(email.text)::text), 0))::text",
            as: String?.self)
    }
}
