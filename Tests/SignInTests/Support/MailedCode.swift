import Accounts
import KeyRing
import Postgres
import SignIn
import Storage

/// The live code of an address and purpose, with the digits that the mail has.
struct MailedCode: Sendable {
    let id: EmailCodeID
    let digits: String

    /// - Returns: `nil` if no code is live.
    static func read(
        _ purpose: EmailCodePurpose, to address: String, at now: Timestamp, from database: Database, keyRing: KeyRing
    ) async throws -> MailedCode? {
        guard let email = EmailAddress(address) else { return nil }
        let codes = try await database.query(
            """
            SELECT code_id, key_id, expires_at
            FROM email_codes
            WHERE email = \(email.text) AND purpose = \(purpose.rawValue) AND expires_at > \(now)
            """
        ) { row throws(PostgresError) in
            let (id, keyID, expiresAt) = try row.decode(EmailCodeID.self, String.self, Timestamp.self)
            return EmailCode(id: id, keyID: keyID, email: email, purpose: purpose, expiresAt: expiresAt)
        }
        return codes.first.flatMap { code in
            EmailCodes(keyRing: keyRing).digits(of: code).map { MailedCode(id: code.id, digits: $0) }
        }
    }
}
