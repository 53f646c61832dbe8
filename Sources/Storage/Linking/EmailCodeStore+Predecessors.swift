import Accounts
import Postgres

/// `email_codes`, where processes of the release before look for the copy of each code: one per address and purpose, with
/// six digits. Both releases are in service during an upgrade (docs/operations/upgrades.md). Such a process takes a code
/// without its copy for used, and a copy that outlives its code for a usable one: so the two come and go together. Nothing
/// is read here, as it keeps its own codes in `mailed_codes` too. The release after this one drops the table, and this file.
extension EmailCodeStore {
    /// A key id that no line of a key ring has: a process that finds it leaves the mail to one that knows more.
    private static let unknownKeyID = "/"

    /// - Parameter isNew: whether anything is written; the statement is the same.
    static func mirror(
        _ code: EmailCode, _ ticketHash: SecretHash?, if isNew: Bool, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        // They know no such purpose.
        guard code.purpose != .register else { return }
        // It would derive six digits of a code of ten.
        let keyID = code.length == .six ? code.keyID : unknownKeyID
        _ = try await session.execute(
            """
            INSERT INTO email_codes (email, purpose, code_id, key_id, ticket_hash, created_at, expires_at)
            SELECT \(code.email.text), \(code.purpose.rawValue), \(code.id), \(keyID), \(ticketHash), \(call.now),
                \(code.expiresAt)
            WHERE \(isNew)
            ON CONFLICT (email, purpose) DO UPDATE
            SET code_id = EXCLUDED.code_id, key_id = EXCLUDED.key_id, ticket_hash = EXCLUDED.ticket_hash, tries = 0,
                created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
            """)
    }

    func deleteExpiredOfPredecessors(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "email_codes", where: "expires_at < \(time)", limit: limit)
    }
}
