import Accounts
import Postgres

/// `email_codes`, where processes of the release before look for codes and keep theirs: one per address and purpose, with
/// six digits and five tries. Both releases are in service during an upgrade (docs/operations/upgrades.md), so a code is
/// written there too, and one that stands only there is as good as before. The release after this one drops the table, and
/// this file.
extension EmailCodeStore {
    /// A key id that no line of a key ring has: a process that finds it leaves the mail to one that knows more.
    private static let unknownKeyID = "/"

    static func mirror(
        _ code: EmailCode, _ ticketHash: SecretHash?, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        // They know no such purpose.
        guard code.purpose != .register else { return }
        // It would derive six digits of a code of ten.
        let keyID = code.length == .six ? code.keyID : unknownKeyID
        _ = try await session.execute(
            """
            INSERT INTO email_codes (email, purpose, code_id, key_id, ticket_hash, created_at, expires_at)
            VALUES (\(code.email.text), \(code.purpose.rawValue), \(code.id), \(keyID), \(ticketHash), \(call.now),
                \(code.expiresAt))
            ON CONFLICT (email, purpose) DO UPDATE
            SET code_id = EXCLUDED.code_id, key_id = EXCLUDED.key_id, ticket_hash = EXCLUDED.ticket_hash, tries = 0,
                created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            """)
    }

    /// Whether no process of the release before has used the code of the row `c`, which deletes its copy. A copy of a code
    /// for *bind* may have given way to that for another ticket, and a registration's has none.
    static var isUnusedByPredecessors: SQL {
        """
        (c.purpose IN ('bind', 'register')
            OR EXISTS (SELECT FROM email_codes e WHERE e.email = c.email AND e.purpose = c.purpose))
        """
    }

    /// Counts a try, right or wrong, at a code that a process of the release before has made since.
    ///
    /// - Returns: the code to compare with.
    func attemptAtPredecessor(_ slot: EmailCodeSlot, by call: Call) async throws(PostgresError) -> EmailCode? {
        let rows = try await database.query(
            """
            UPDATE email_codes e
            SET tries = e.tries + 1
            WHERE e.email = \(slot.email.text) AND e.purpose = \(slot.purpose.rawValue)
                AND e.tries < \(EmailCodeRules.triesPerNetwork) AND e.expires_at > \(call.now)
                AND e.ticket_hash IS NOT DISTINCT FROM \(slot.ticketHash)
                AND NOT EXISTS (SELECT FROM mailed_codes c WHERE c.code_id = e.code_id)
            RETURNING e.code_id, e.key_id, e.expires_at
            """
        ) { row throws(PostgresError) in
            let (id, keyID, expiresAt) = try row.decode(EmailCodeID.self, String.self, Timestamp.self)
            return EmailCode(id: id, keyID: keyID, email: slot.email, purpose: slot.purpose, expiresAt: expiresAt)
        }
        return rows.first
    }

    func deleteExpiredOfPredecessors(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
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
