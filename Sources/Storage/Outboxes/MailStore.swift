import Accounts
package import Postgres

/// The mails of `outbox`.
package struct MailStore: Sendable {
    let database: Database
    var outbox: Outbox { Outbox(database: database, kind: .mail) }

    package init(database: Database) {
        self.database = database
    }

    /// Enqueues a mail in the transaction that decides it.
    ///
    /// - Parameter codeID: the code that it carries; the mail isn't sent once that code is no longer the live one.
    static func enqueue(
        _ mail: Mail, codeID: EmailCodeID? = nil, expiresAt: Timestamp, at now: Timestamp,
        in session: some PostgresSession
    ) async throws(PostgresError) {
        _ = try await session.execute(insertion(mail, codeID: codeID, expiresAt: expiresAt, at: now))
    }

    static func insertion(_ mail: Mail, codeID: EmailCodeID?, expiresAt: Timestamp, at now: Timestamp) -> SQL {
        """
        INSERT INTO outbox (message_id, kind, template, recipient, language, provider, code_id, expires_at,
            next_attempt_at, created_at)
        VALUES (\(MailID(now: now)), 'mail', \(mail.kind.rawValue), \(mail.recipient.text), \(mail.language),
            \(mail.provider?.rawValue), \(codeID), \(expiresAt), \(now), \(now))
        """
    }

    /// Enqueues a notice to each of the addresses once, or none when mail is switched off.
    static func notify(
        _ addresses: [EmailAddress?], of kind: Mail.Kind, provider: Provider? = nil, from origin: ChangeOrigin,
        at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) {
        guard let language = origin.mailLanguage else { return }
        for address in Set(addresses.compactMap(\.self)) {
            try await enqueue(
                Mail(kind, to: address, in: language, provider: provider),
                expiresAt: now.advanced(bySeconds: Mail.noticeLifetime), at: now, in: transaction)
        }
    }
}
