import Accounts
import Postgres

/// What there is one live code for.
struct EmailCodeSlot: Sendable {
    let email: EmailAddress
    let purpose: EmailCodePurpose
    let ticketHash: SecretHash?

    /// The `WHERE` condition for the rows of `mailed_codes`, named `c`.
    var condition: SQL {
        """
        c.email = \(email.text) AND c.purpose = \(purpose.rawValue)
            AND c.ticket_hash IS NOT DISTINCT FROM \(ticketHash)
        """
    }
}

extension EmailCodeStore {
    /// The columns of `mailed_codes c`, then those of `mailed_code_networks n`.
    static let liveColumns: SQL = "c.code_id, c.key_id, c.digits, c.expires_at, c.tries, c.mails, c.mailed_at"
    static let shareColumns: SQL = "n.tries, n.mails, n.mailed_at"
    /// The number of both together.
    static let columnCount = 10
    /// The columns of `guessed_addresses g`.
    static let guessColumns: SQL =
        "g.latest_wrong, g.wrong_since_success, g.attacked_at, g.short_full_at, g.long_full_at"

    /// Brings what is remembered of the address under the first of the keys, so that it outlives the key ring's other
    /// lines.
    ///
    /// - Returns: that key.
    static func keepGuesses(
        _ found: FoundEmailCode, under keys: [[UInt8]], by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) -> [UInt8] {
        let key = keys.first ?? []
        guard found.addressKeys.contains(where: { $0 != key }) else { return key }
        _ = try await session.execute(
            "UPDATE mailed_codes SET address_key = \(key) WHERE address_key = ANY (\(found.addressKeys))")
        _ = try await session.execute("DELETE FROM guessed_addresses WHERE address_key = ANY (\(found.addressKeys))")
        try await write(found.guesses, under: key, if: true, by: call, in: session)
        return key
    }

    /// - Parameter isCounted: whether anything is written; the statement is the same.
    static func write(
        _ guesses: EmailCodeGuesses, under key: [UInt8], if isCounted: Bool, by call: Call,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        _ = try await session.execute(
            """
            INSERT INTO guessed_addresses (address_key, latest_wrong, wrong_since_success, attacked_at, short_full_at,
                long_full_at, forget_at, created_at)
            SELECT \(key), \(guesses.latestWrong), \(guesses.wrongSinceSuccess), \(guesses.attackedAt),
                \(guesses.shortFullAt), \(guesses.longFullAt), \(guesses.forgetAt), \(call.now)
            WHERE \(isCounted)
            ON CONFLICT (address_key) DO UPDATE
            SET latest_wrong = EXCLUDED.latest_wrong, wrong_since_success = EXCLUDED.wrong_since_success,
                attacked_at = EXCLUDED.attacked_at, short_full_at = EXCLUDED.short_full_at,
                long_full_at = EXCLUDED.long_full_at, forget_at = EXCLUDED.forget_at
            """)
    }
}

extension EmailCode.Length: PostgresDecodable {}

extension LiveEmailCode {
    /// Reads the first columns of ``EmailCodeStore/liveColumns``.
    init(_ row: PostgresRow, _ slot: EmailCodeSlot) throws(PostgresError) {
        self.init(
            code: EmailCode(
                id: try EmailCodeID(from: row[0]), keyID: try String(from: row[1]), email: slot.email,
                purpose: slot.purpose, length: try EmailCode.Length(from: row[2]),
                expiresAt: try Timestamp(from: row[3])),
            tries: try Int32(from: row[4]), mails: try Int32(from: row[5]), mailedAt: try Timestamp(from: row[6]))
    }
}

extension EmailCodeShare {
    /// Reads the columns of ``EmailCodeStore/shareColumns`` behind those of the code; NULL where there is no row.
    init(_ row: PostgresRow) throws(PostgresError) {
        self.init(
            tries: try Int32?(from: row[7]) ?? 0, mails: try Int32?(from: row[8]) ?? 0,
            mailedAt: try Timestamp?(from: row[9]))
    }
}

extension EmailCodeGuesses {
    /// Reads the columns of ``EmailCodeStore/guessColumns``.
    init(_ row: PostgresRow, from first: Int) throws(PostgresError) {
        self.init(
            latestWrong: try [Timestamp](from: row[first]), wrongSinceSuccess: try Int32(from: row[first + 1]),
            attackedAt: try Timestamp?(from: row[first + 2]), shortFullAt: try Timestamp(from: row[first + 3]),
            longFullAt: try Timestamp(from: row[first + 4]))
    }
}
