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
    ///   - turn: of a code that was asked for.
    ///   - source: one row, or none for no mail.
    static func insertion(
        _ mail: Mail, codeID: EmailCodeID?, knownNetwork: Network?, expiresAt: Timestamp, turn: CodeTurn? = nil,
        from source: SQL, by call: Call
    ) -> SQL {
        """
        INSERT INTO outbox (message_id, kind, template, recipient, language, provider, client_name, code_id, known_network,
            asked_from, request_id, expires_at, next_attempt_at, turn_at, created_at)
        SELECT \(MailID(now: call.now)), 'mail', \(mail.kind.rawValue), \(mail.recipient.text), \(mail.language),
            \(mail.provider?.rawValue), \(mail.clientName), \(codeID), \(knownNetwork), \(turn?.asker),
            \(call.origin.requestID), \(expiresAt), \(call.now),
            \(call.now) + \(turn?.delay ?? 0) * interval '1 millisecond', \(call.now)
        FROM \(source)
        """
    }
}

/// When a mailed code is sent: in turn by the networks that ask.
struct CodeTurn {
    /// The wide network, a blank and the network, so that all that a wide network has asked for are neighbours in the order of
    /// these; `nil` where the caller's address is not known.
    let asker: String?
    /// Milliseconds after it was asked for: 5 s for each code of the network that waits, and 250 ms for each of its wide
    /// network, ten minutes for all of either at most, for which a code is good.
    ///
    /// So of thousands that one network asks for one goes before others' codes every five seconds, and the rest where none
    /// of others waits. A code's turn comes, however many are asked for after it.
    let delay: Int64

    /// The next turn of a caller. What is being sent doesn't count: a code that no account has is over at once.
    init(of caller: Caller, in session: some PostgresSession) async throws(PostgresError) {
        guard let network = caller.network else {
            (asker, delay) = (nil, 0)
            return
        }
        let wideNetwork = caller.wideNetwork ?? network
        let asker = "\(wideNetwork) \(network)"
        let delays = try await session.query(CodeTurn.delay(of: asker, in: wideNetwork), as: Int64.self)
        (self.asker, delay) = (asker, delays[0])
    }

    static func delay(of asker: String, in wideNetwork: Network) -> SQL {
        let own = count(from: asker, to: asker, limit: 120)
        // An exclamation mark comes right after a blank.
        let all = count(from: "\(wideNetwork) ", to: "\(wideNetwork)!", limit: 2400)
        return "SELECT 5000 * (\(own)) + 250 * (\(all))"
    }

    /// In the order of the index, or a plan that expects to find most rows would read the table.
    private static func count(from first: String, to last: String, limit: Int) -> SQL {
        """
        SELECT count(*)
        FROM (
            SELECT FROM outbox w
            WHERE w.status = 'pending' AND \(Outbox.isFree) AND w.asked_from BETWEEN \(first) AND \(last)
            ORDER BY w.asked_from
            LIMIT \(limit)
        ) waiting
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
