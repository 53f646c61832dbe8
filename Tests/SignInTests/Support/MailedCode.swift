import Accounts
import KeyRing
import Postgres
import SignIn
import Storage

/// The live code of an address and purpose, with the digits that the mail has.
struct MailedCode: Sendable {
    let id: EmailCodeID
    let digits: String

    /// - Parameter linkTicket: the ticket that a code for *bind* belongs to.
    /// - Returns: `nil` if no code is live.
    static func read(
        _ purpose: EmailCodePurpose, to address: String, linkTicket: String? = nil, at now: Timestamp,
        from database: Database, keyRing: KeyRing
    ) async throws -> MailedCode? {
        try await read(
            purpose, to: address, ticketHash: linkTicket.flatMap { OpaqueSecret.hash(ofPresented: $0) }, at: now,
            from: database, keyRing: keyRing)
    }

    /// - Parameter ticketHash: of the ticket or the flow that the code belongs to, if it is for *bind* or *register*.
    static func read(
        _ purpose: EmailCodePurpose, to address: String, ticketHash: SecretHash?, at now: Timestamp,
        from database: Database, keyRing: KeyRing
    ) async throws -> MailedCode? {
        guard let email = EmailAddress.existing(address) else { return nil }
        let codes = try await database.query(
            """
            SELECT code_id, key_id, digits, expires_at
            FROM mailed_codes
            WHERE email = \(email.text) AND purpose = \(purpose.rawValue)
                AND ticket_hash IS NOT DISTINCT FROM \(ticketHash) AND expires_at > \(now)
            """
        ) { row throws(PostgresError) in
            let (id, keyID, length, expiresAt) = try row.decode(
                EmailCodeID.self, String.self, EmailCode.Length.self, Timestamp.self)
            return EmailCode(id: id, keyID: keyID, email: email, purpose: purpose, length: length, expiresAt: expiresAt)
        }
        return codes.first.flatMap { code in
            EmailCodes(keyRing: keyRing).digits(of: code).map { MailedCode(id: code.id, digits: $0) }
        }
    }
}
