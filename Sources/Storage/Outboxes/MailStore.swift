import Accounts
import Postgres

/// The mails of `outbox`.
package struct MailStore: Sendable {
    let database: Database
    var outbox: Outbox { Outbox(database: database, kind: .mail) }

    /// Enqueues a mail in the transaction that decides it.
    static func enqueue(
        _ mail: Mail, expiresAt: Timestamp, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) {
        _ = try await session.execute(
            insertion(mail, codeID: nil, knownNetwork: nil, expiresAt: expiresAt, from: "(VALUES (1)) one", by: call))
    }

    /// `INSERT INTO outbox … SELECT … FROM …`.
    ///
    /// - Parameters:
    ///   - codeID: the code that it carries; the mail isn't sent once that code is no longer the live one.
    ///   - knownNetwork: the network that the account has to be used from for the mail to be sent.
    ///   - source: one row, or none for no mail.
    static func insertion(
        _ mail: Mail, codeID: EmailCodeID?, knownNetwork: Network?, expiresAt: Timestamp, from source: SQL,
        by call: Call
    ) -> SQL {
        """
        INSERT INTO outbox (message_id, kind, template, recipient, language, provider, client_name, code_id,
            known_network, request_id, expires_at, next_attempt_at, created_at)
        SELECT \(MailID(now: call.now)), 'mail', \(mail.kind.rawValue), \(mail.recipient.text), \(mail.language),
            \(mail.provider?.rawValue), \(mail.clientName), \(codeID), \(knownNetwork), \(call.origin.requestID), \(expiresAt),
            \(call.now), \(call.now)
        FROM \(source)
        """
    }
}

extension Change.Mail {
    /// Enqueues a notice to each of the addresses once, or none when mail is switched off.
    func notify(
        _ addresses: [EmailAddress?], of kind: Mail.Kind, provider: Provider? = nil, clientName: String? = nil
    ) async throws(PostgresError) {
        guard let language = origin.mailLanguage else { return }
        for address in Set(addresses.compactMap(\.self)) {
            try await MailStore.enqueue(
                Accounts.Mail(kind, to: address, in: language, provider: provider, clientName: clientName),
                expiresAt: now.advanced(bySeconds: Lifetimes.noticeSeconds), by: call, in: change)
        }
    }
}
