package import Accounts
package import Postgres

/// `email_codes`: the mailed codes, one per address and purpose.
package struct EmailCodeStore: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// Makes a code the live one of its address and purpose, and enqueues the mail that carries it.
    ///
    /// One statement, and the same one whether or not an account has the address: that is looked up when the mail is
    /// made.
    ///
    /// - Parameter ticketHash: the hash of the link ticket that a code for *bind* belongs to.
    package func issue(
        _ code: EmailCode, ticketHash: [UInt8]?, language: String, at now: Timestamp
    ) async throws(PostgresError) {
        try await EmailCodeStore.issue(code, ticketHash: ticketHash, language: language, at: now, in: database)
    }

    static func issue(
        _ code: EmailCode, ticketHash: [UInt8]? = nil, language: String, at now: Timestamp,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        let mail = Mail(Mail.Kind(code: code.purpose), to: code.email, in: language)
        _ = try await session.execute(
            """
            WITH issued AS (
                INSERT INTO email_codes (email, purpose, code_id, key_id, ticket_hash, created_at, expires_at)
                VALUES (\(code.email.text), \(code.purpose.rawValue), \(code.id), \(code.keyID), \(ticketHash), \(now),
                    \(code.expiresAt))
                ON CONFLICT (email, purpose) DO UPDATE
                SET code_id = EXCLUDED.code_id, key_id = EXCLUDED.key_id, ticket_hash = EXCLUDED.ticket_hash, tries = 0,
                    created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            )
            \(MailStore.insertion(mail, codeID: code.id, expiresAt: code.expiresAt, at: now))
            """)
    }

    /// Counts a try, right or wrong.
    ///
    /// - Returns: the code to compare with; `nil` when there is no live one, or it was tried too often.
    package func attempt(
        _ purpose: EmailCodePurpose, of email: EmailAddress, ticketHash: [UInt8]? = nil, at now: Timestamp
    ) async throws(PostgresError) -> EmailCode? {
        let rows = try await database.query(
            """
            UPDATE email_codes
            SET tries = tries + 1
            WHERE email = \(email.text) AND purpose = \(purpose.rawValue) AND tries < \(EmailCode.maximumTries)
                AND expires_at > \(now) AND ticket_hash IS NOT DISTINCT FROM \(ticketHash)
            RETURNING code_id, key_id, expires_at
            """
        ) { row throws(PostgresError) in
            let (id, keyID, expiresAt) = try row.decode(EmailCodeID.self, String.self, Timestamp.self)
            return EmailCode(id: id, keyID: keyID, email: email, purpose: purpose, expiresAt: expiresAt)
        }
        return rows.first
    }

    /// Consumes the code. A concurrent use of the same code finds it gone.
    ///
    /// - Returns: whether it was still there.
    static func consume(
        _ code: EmailCode, at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) -> Bool {
        try await transaction.execute(
            """
            DELETE FROM email_codes
            WHERE email = \(code.email.text) AND purpose = \(code.purpose.rawValue) AND code_id = \(code.id)
                AND expires_at > \(now)
            """) == 1
    }

    /// - Returns: how many were deleted.
    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            DELETE FROM email_codes
            WHERE (email, purpose) IN (
                SELECT email, purpose
                FROM email_codes
                WHERE expires_at < \(time)
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED)
            """)
    }
}
