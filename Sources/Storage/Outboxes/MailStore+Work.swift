package import Accounts
package import Postgres

/// A mail that this process has claimed, and what is known of its recipient.
package struct ClaimedMail: Sendable {
    package let id: MailID
    /// This attempt's number, from 1. A later claim has a higher one.
    package let attempt: Int
    /// The number of attempts that failed before this one.
    package let failures: Int
    /// `nil` when this release doesn't know it, or what its code is for: a newer one may have enqueued it.
    package let kind: Mail.Kind?
    package let recipient: EmailAddress?
    package let language: String
    package let provider: Provider?
    /// The client of the OAuth server that it is about.
    package let clientName: String?
    package let expiresAt: Timestamp
    /// The code that it was enqueued with, if that is still the live one.
    package let code: EmailCode?
    /// The degree of the address for the account that has it; `nil` when none has, or none that is used from the network
    /// that the mail is only for.
    package fileprivate(set) var holderProof: EmailProof?
    /// The network that the mail is only for, if it is.
    fileprivate let knownNetwork: Network?
    /// Whether an account has yet to prove it.
    package let isUnproven: Bool

    /// Whether an account has the address of a registration: its reader gets that to read, and no code.
    package var isRegistrationTaken: Bool { kind == .registerCode && registration == .refuseEmailTaken }

    /// Whether the code of a registration leads into an account that only claims the address.
    package var isRegistrationOfClaimed: Bool { kind == .registerCode && registration == .enterClearing }

    private var registration: AddressOutcome? {
        AddressRule.outcome(of: .registerByCode, .mailedCode, holder: AddressHolder(holderProof))
    }

    /// Whether the code for a new password is kept back: the account's address is only stated (docs/linking.md).
    package var isResetRefused: Bool {
        kind == .resetPasswordCode
            && AddressRule.outcome(of: .reset, .mailedCode, holder: AddressHolder(holderProof)) == .refuseCode
    }
}

/// The life of a mail in the outbox.
///
/// ```
///   enqueue ──▶ pending ──claim──▶ pending, claimed ──sent, or no recipient──▶ deleted
///                  ▲                  │      │
///                  └─────postpone─────┘      └──refused or expired──▶ failed, without its recipient ──▶ deleted
/// ```
extension MailStore {
    /// Claims the mail that is to be sent next: the code whose turn it is, or else the notice that has been due for
    /// longest. A person waits for a code, and notices may be many.
    ///
    /// The code and the accounts are looked up with it: by now the code may be spent or replaced, and the address may
    /// belong to no account. Whether a mail is enqueued never depends on that.
    ///
    /// - Parameter lease: the seconds after which it is free again.
    package func claim(by call: Call, lease: Int64) async throws(PostgresError) -> ClaimedRows<ClaimedMail> {
        let rows = try await database.query(
            """
            \(claiming(by: call, lease: lease))
            SELECT c.message_id, c.attempts, c.failures, c.template, c.recipient, c.language, c.provider, c.client_name,
                c.expires_at, c.known_network,
                m.code_id, m.key_id, m.purpose, COALESCE(m.digits, \(EmailCode.Length.six.rawValue)), m.expires_at,
                \(AccountRow.proof),
                c.known_network IS NULL AND (COALESCE((\(AccountRow.proof)) <> \(EmailProof.proven.rawValue), false)
                    OR EXISTS (
                        SELECT FROM accounts p
                        WHERE p.pending_email = c.recipient AND p.pending_email_expires_at > \(call.now)))
            FROM claimed c
            LEFT JOIN mailed_codes m ON m.code_id = c.code_id AND m.email = c.recipient AND m.expires_at > \(call.now)
            LEFT JOIN accounts a ON a.email = c.recipient
            """
        ) { row throws(PostgresError) in try row.claimed(attempt: 1, MailStore.mail) }
        var claimed = await ClaimedRows(rows, in: database)
        _ = try await outbox.giveUp(claimed.unreadable, by: call, in: database)
        // A statement of its own: its plan has the trail's partitions in it, which takes longer than the rest.
        for (index, mail) in claimed.work.enumerated() {
            guard let network = mail.knownNetwork,
                try await !KnownNetworks(database: database).isKnown(network, toHolderOf: mail.recipient, by: call)
            else { continue }
            claimed.work[index].holderProof = nil
        }
        return claimed
    }

    /// `WITH … claimed AS (…)` of the mail that is to be sent next.
    func claiming(by call: Call, lease: Int64) -> SQL {
        let isDue: SQL = "next_attempt_at <= \(call.now)"
        // Each half has an index in its order. With its kind in it, which all codes have, the first might be planned along
        // the other's, and sort all that wait. Of two halves of a query the second is begun only when the first has given
        // less than the limit.
        return outbox.claiming(
            """
            WITH code AS (
                \(Outbox.claimable("\(isDue) AND code_id IS NOT NULL", inOrderOf: "turn_at", limit: 1))
            ), mail AS (
                \(outbox.claimable(isDue, limit: 1))
            )
            SELECT message_id FROM code UNION ALL SELECT message_id FROM mail
            LIMIT 1
            """, lease: lease)
    }

    private static func mail(_ row: PostgresRow) throws(PostgresError) -> ClaimedMail {
        let (
            id, attempt, failures, template, email, language, provider, clientName, expiresAt, knownNetwork, codeID,
            keyID, codeFor, length, codeExpiresAt, holderProof, isUnproven
        ) = try row.decode(
            MailID.self, Int32.self, Int32.self, String.self, EmailAddress?.self, String.self, Provider?.self,
            String?.self, Timestamp.self, Network?.self, EmailCodeID?.self, String?.self, String?.self,
            EmailCode.Length.self, Timestamp?.self, EmailProof?.self, Bool.self)
        let purpose = codeFor.flatMap(EmailCodePurpose.init(rawValue:))
        let isCodeKnown = codeFor == nil || purpose != nil
        var code: EmailCode?
        if let email, let codeID, let keyID, let purpose, let codeExpiresAt {
            code = EmailCode(
                id: codeID, keyID: keyID, email: email, purpose: purpose, length: length, expiresAt: codeExpiresAt)
        }
        return ClaimedMail(
            id: id, attempt: Int(attempt), failures: Int(failures),
            kind: isCodeKnown ? Mail.Kind(rawValue: template) : nil, recipient: email, language: language,
            provider: provider, clientName: clientName, expiresAt: expiresAt,
            code: code, holderProof: holderProof, knownNetwork: knownNetwork, isUnproven: isUnproven)
    }

    /// Deletes a mail that has been sent. If it carried a code, this is recorded with the account that awaits the code and
    /// the request that asked for it.
    package func finish(_ mail: ClaimedMail, by call: Call) async throws(PostgresError) {
        guard let code = mail.code, !mail.isResetRefused, !mail.isRegistrationTaken else {
            return try await delete(mail)
        }
        let id = Identifier<AuditEvent>(now: call.now)
        _ = try await database.execute(
            """
            WITH sent AS (
                DELETE FROM outbox
                WHERE \(Outbox.isHeld(mail.id, attempt: mail.attempt))
                RETURNING recipient, request_id
            )
            INSERT INTO audit_events (event_id, type, actor, account_id, reason, request_id, created_at)
            SELECT \(id), \(AuditEvent.Kind.codeMailed.rawValue), 'service',
                COALESCE(
                    (SELECT a.account_id FROM accounts a WHERE a.email = sent.recipient),
                    (SELECT a.account_id FROM accounts a WHERE a.pending_email = sent.recipient LIMIT 1)),
                \(code.purpose.rawValue), sent.request_id, \(call.now)
            FROM sent
            """)
    }

    /// Deletes a mail that needs no sending.
    package func delete(_ mail: ClaimedMail) async throws(PostgresError) {
        _ = try await database.execute("DELETE FROM outbox WHERE \(Outbox.isHeld(mail.id, attempt: mail.attempt))")
    }

    /// Schedules the next attempt after one that failed.
    package func postpone(
        _ mail: ClaimedMail, error: String, until nextAttempt: Timestamp
    ) async throws(PostgresError) {
        try await outbox.postpone(mail.id, attempt: mail.attempt, error: error, until: nextAttempt)
    }

    /// Gives the mail up, and erases its recipient.
    package func giveUp(_ mail: ClaimedMail, error: String, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE outbox
            SET \(Outbox.givingUp(error, by: call))
            WHERE \(Outbox.isHeld(mail.id, attempt: mail.attempt))
            """)
    }

    /// The backlog, whose oldest mail is none that the mail server postpones for its recipient's sake: such an address is
    /// soon typed, and says nothing of the server. Nor is it one that the server may have, until that is tried again.
    package func backlog(at time: Timestamp) async throws(PostgresError) -> OutboxBacklog {
        try await outbox.backlog(
            oldestOf: """
                last_error IS NULL OR NOT (
                    starts_with(last_error, 'rcpt_')
                    OR last_error = 'timed_out_after_data' AND next_attempt_at > \(time))
                """)
    }

    /// The `last_error` of a mail that is of no use any more.
    package static let expired = "expired"

    /// Gives up, and erases the recipients of, mails that expired before `time` and that no process is at: none has sent
    /// mail since, or mail has been switched off.
    ///
    /// - Returns: how many, at most `limit`.
    package func giveUpExpired(before time: Timestamp, by call: Call, limit: Int) async throws(PostgresError) -> Int {
        // No attempt is due later than the expiry, and those that are due have an index.
        try await database.execute(
            """
            WITH expired AS MATERIALIZED (
                \(outbox.claimable("next_attempt_at < \(time) AND expires_at < \(time)", limit: limit))
            )
            UPDATE outbox o
            SET \(Outbox.givingUp(MailStore.expired, by: call))
            FROM expired
            WHERE o.message_id = expired.message_id
            """)
    }

    /// Deletes mails that expired before `time`. They have been given up by then.
    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "outbox", where: "kind = 'mail' AND expires_at < \(time)", limit: limit)
    }
}
