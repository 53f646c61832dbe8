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

    static func carryOut(
        _ decision: EmailCodeRequestDecision, of request: EmailCodeRequest, _ found: FoundEmailCode, by call: Call,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        switch decision {
        case .issue(let onlyIfKnown):
            try await issue(request, found, onlyIfKnown: onlyIfKnown, by: call, in: session)
        case .mail(let onlyIfKnown):
            guard let live = found.live else { return }
            if onlyIfKnown {
                try await mailIfKnown(live, found.share, request, by: call, in: session)
            } else {
                try await mail(live, request, by: call, in: session)
            }
        case .nothing:
            guard let live = found.live else { return }
            _ = try await session.execute(
                "\(noting(request, from: row(live.code.id), isMailed: false, by: call)) WHERE NOT n.asked")
        case .needsAllowance: return
        }
    }

    /// Makes the code the live one of its address, purpose and ticket, and enqueues the mail that carries it.
    private static func issue(
        _ request: EmailCodeRequest, _ found: FoundEmailCode, onlyIfKnown: Bool, by call: Call,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        let addressKey = try await keepGuesses(found, under: request.addressKeys, by: call, in: session)
        let code = request.code.with(found.guesses.length(isServiceGuessedAt: request.isServiceGuessedAt, at: call.now))
        _ = try await session.execute("DELETE FROM mailed_codes c WHERE \(request.slot.condition)")
        _ = try await session.execute(
            """
            INSERT INTO mailed_codes (code_id, email, purpose, ticket_hash, key_id, digits, address_key, mails, mailed_at,
                created_at, expires_at)
            VALUES (\(code.id), \(code.email.text), \(code.purpose.rawValue), \(request.ticketHash), \(code.keyID),
                \(code.length.rawValue), \(addressKey), \(onlyIfKnown ? 0 as Int32 : 1), \(call.now), \(call.now),
                \(code.expiresAt))
            """)
        _ = try await session.execute(noting(request, from: row(code.id), isMailed: true, by: call))
        try await mirror(code, request.ticketHash, by: call, in: session)
        try await enqueue(code, request, onlyIfKnown: onlyIfKnown, from: "(VALUES (1)) one", by: call, in: session)
    }

    /// Mails a code, unless another request has done so since it was looked at.
    private static func mail(
        _ live: LiveEmailCode, _ request: EmailCodeRequest, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        let mailed: SQL = """
            mailed AS (
                UPDATE mailed_codes c
                SET mails = c.mails + 1, mailed_at = \(call.now)
                WHERE c.code_id = \(live.code.id) AND c.mails = \(live.mails)
                RETURNING c.code_id
            ), noted AS (
                \(noting(request, from: "mailed c", isMailed: true, by: call))
            )
            """
        try await enqueue(live.code, request, onlyIfKnown: false, with: mailed, from: "mailed", by: call, in: session)
    }

    /// The same for a network that the account may be used from: the mail is sent if it is.
    private static func mailIfKnown(
        _ live: LiveEmailCode, _ share: EmailCodeShare, _ request: EmailCodeRequest, by call: Call,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        let noted: SQL = """
            noted AS (
                \(noting(request, from: row(live.code.id), isMailed: true, by: call))
                WHERE n.mails = \(share.mails)
                RETURNING n.code_id
            )
            """
        try await enqueue(live.code, request, onlyIfKnown: true, with: noted, from: "noted", by: call, in: session)
    }

    private static func enqueue(
        _ code: EmailCode, _ request: EmailCodeRequest, onlyIfKnown: Bool, with: SQL? = nil, from source: SQL,
        by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        let mail = Mail(Mail.Kind(code: code.purpose), to: code.email, in: request.language)
        let insertion = MailStore.insertion(
            mail, codeID: code.id, knownNetwork: onlyIfKnown ? request.network : nil, expiresAt: code.expiresAt,
            from: source, by: call)
        if let with {
            _ = try await session.execute("WITH \(with) \(insertion)")
        } else {
            _ = try await session.execute(insertion)
        }
    }

    /// The code's row, `c`, which stays until the statement has ended.
    static func row(_ id: EmailCodeID) -> SQL {
        "mailed_codes c WHERE c.code_id = \(id) FOR KEY SHARE"
    }

    /// `INSERT … ON CONFLICT DO UPDATE …`: notes that the network has asked for a code, whose row `source` names `c`.
    private static func noting(_ request: EmailCodeRequest, from source: SQL, isMailed: Bool, by call: Call) -> SQL {
        let mails: Int32 = isMailed ? 1 : 0
        return """
            INSERT INTO mailed_code_networks AS n (code_id, network, asked, tries, mails, mailed_at, created_at)
            SELECT c.code_id, \(request.network ?? ""), true, 0, \(mails), \(isMailed ? call.now : nil), \(call.now)
            FROM \(source)
            ON CONFLICT (code_id, network) DO UPDATE
            SET asked = true, mails = n.mails + EXCLUDED.mails, mailed_at = COALESCE(EXCLUDED.mailed_at, n.mailed_at)
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
