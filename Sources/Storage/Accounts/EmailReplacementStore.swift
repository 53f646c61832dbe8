package import Accounts
package import Postgres

/// The outcome of a request to replace the address of an account.
package enum EmailReplacementRequest: Sendable {
    case requested(EmailReplacement)
    case notFound
    /// The account has no sessions in which its owner could stop it.
    case accountDisabled
    /// The account has this address.
    case emailUnchanged
    /// Another account has the address.
    case emailTaken
}

/// `email_replacements`: the addresses that administrators have requested for accounts whose owners have lost the mailbox,
/// until they are due. Every change of a row, its effect included, happens under the lock of its account, so of several
/// that happen at once one comes first and the others find what it has left.
package struct EmailReplacementStore: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// The reason for which a replacement ended that nobody stopped: the code in the audit trail.
    enum EndReason: String {
        /// When it was due the account was disabled.
        case accountDisabled = "account_disabled"
        /// When it was due another account had the address.
        case emailTaken = "email_taken"
        /// The account has an owner who reads a mailbox.
        case emailProven = "email_proven"
        case passwordChanged = "password_changed"
        case passwordReset = "password_reset"
        /// An administrator has given the account an address.
        case accountEnabled = "account_enabled"
    }

    /// The account's replacement that is not in effect yet.
    package func pending(of id: AccountID) async throws(PostgresError) -> EmailReplacement? {
        try await pending(of: [id])[id]
    }

    func pending(of ids: [AccountID]) async throws(PostgresError) -> [AccountID: EmailReplacement] {
        let rows = try await database.query(
            """
            SELECT account_id, email, created_at, due_at, requested_by
            FROM email_replacements
            WHERE account_id = ANY (\(ids))
            """
        ) { row throws(PostgresError) in
            let (id, email, requestedAt, dueAt, requestedBy) = try row.decode(
                AccountID.self, EmailAddress.self, Timestamp.self, Timestamp.self, String?.self)
            return (
                id, EmailReplacement(email: email, requestedAt: requestedAt, dueAt: dueAt, requestedBy: requestedBy)
            )
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    /// Stores the address that takes the place of the account's in a day, and notifies every mailbox of the account. A
    /// request that is pending already is replaced, and the day begins again.
    package func request(
        _ email: EmailAddress, for id: AccountID, reason: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> EmailReplacementRequest {
        let replacement = EmailReplacement(
            email: email, requestedAt: now,
            dueAt: now.advanced(bySeconds: Lifetimes.emailReplacementDelaySeconds), requestedBy: origin.actorName)
        return try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(id, in: transaction) else { return .notFound }
            guard account.status == .active else { return .accountDisabled }
            guard account.email != email else { return .emailUnchanged }
            guard try await EmailReplacementStore.isFree(email, in: transaction) else { return .emailTaken }
            _ = try await transaction.execute(
                """
                INSERT INTO email_replacements (account_id, email, requested_by, request_id, language, due_at, created_at)
                VALUES (\(id), \(email.text), \(origin.actorName), \(origin.requestID), \(origin.mailLanguage),
                    \(replacement.dueAt), \(now))
                ON CONFLICT (account_id) DO UPDATE
                SET email = EXCLUDED.email, requested_by = EXCLUDED.requested_by, request_id = EXCLUDED.request_id,
                    language = EXCLUDED.language, due_at = EXCLUDED.due_at, created_at = EXCLUDED.created_at
                """)
            try await AuditTrail.record(
                AuditEvent(.emailReplacementRequested, from: origin, accountID: id, reason: reason), at: now,
                in: transaction)
            try await MailStore.notify(
                account.mailboxes, of: .emailReplacementRequested, from: origin, at: now, in: transaction)
            return .requested(replacement)
        }
    }

    /// Stops a replacement in a session of its account, if there is one.
    ///
    /// - Returns: whether the session was still there.
    package func cancel(in session: Session, at now: Timestamp, from origin: ChangeOrigin) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            guard try await AccountStore.lock(of: session, at: now, in: transaction) != nil else { return false }
            try await EmailReplacementStore.delete(
                of: session.accountID,
                recording: AuditEvent(
                    .emailReplacementCancelled, from: origin, accountID: session.accountID, sessionID: session.id),
                at: now, in: transaction)
            return true
        }
    }

    /// Stops a replacement, if there is one, without a session of its account.
    ///
    /// - Returns: whether there is such an account.
    package func cancel(
        of id: AccountID, reason: String?, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            guard try await AccountStore.lock(id, in: transaction) != nil else { return false }
            try await EmailReplacementStore.delete(
                of: id,
                recording: AuditEvent(.emailReplacementCancelled, from: origin, accountID: id, reason: reason), at: now,
                in: transaction)
            return true
        }
    }

    /// Ends a replacement, if there is one, because of another change of the account, which the caller has locked.
    static func end(
        of id: AccountID, because reason: EndReason, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws(PostgresError) {
        try await delete(
            of: id,
            recording: AuditEvent(.emailReplacementCancelled, from: origin, accountID: id, reason: reason.rawValue),
            at: now, in: transaction)
    }

    /// Deletes the row and records it, if there is one.
    private static func delete(
        of id: AccountID, recording event: AuditEvent, at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) {
        _ = try await transaction.execute(
            """
            WITH deleted AS (
                DELETE FROM email_replacements WHERE account_id = \(id) RETURNING account_id
            )
            \(AuditTrail.insertion(event, at: now))
            WHERE EXISTS (SELECT FROM deleted)
            """)
    }

    /// Whether an administrator may give the address to an account that doesn't have it.
    private static func isFree(
        _ email: EmailAddress, in transaction: Transaction
    ) async throws(PostgresError) -> Bool {
        let holder = try await AccountStore.holder(of: email, in: transaction)
        return AddressRule.outcome(of: .replaceEmail, .none, holder: AddressHolder(holder)) == .prove
    }
}

/// The effect.
extension EmailReplacementStore {
    /// Carries out the replacements that are due, each in a transaction of its own: a failure of one holds up no other.
    ///
    /// - Returns: the number of those that are in effect now, or have lapsed.
    package func carryOutDue(at now: Timestamp, limit: Int) async throws -> Int {
        let due = try await database.query(
            """
            SELECT account_id
            FROM email_replacements
            WHERE due_at <= \(now)
            ORDER BY due_at
            LIMIT \(limit)
            """
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        var count = 0
        var failure: (any Error)?
        for id in due {
            do {
                if try await carryOut(of: id, at: now) { count += 1 }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return count
    }

    /// - Returns: whether there still was a replacement that is due.
    private func carryOut(of id: AccountID, at now: Timestamp) async throws -> Bool {
        var remainingTries = 2
        while true {
            do {
                return try await database.transaction(retries: 2) { transaction in
                    try await EmailReplacementStore.carryOut(of: id, at: now, in: transaction)
                }
            } catch let error as PostgresError
                where error.isUniqueViolation(of: "accounts_email_key") && remainingTries > 0
            {
                // The address was taken after it was looked up; the next attempt finds its holder.
                remainingTries -= 1
            }
        }
    }

    private static func carryOut(
        of id: AccountID, at now: Timestamp, in transaction: Transaction
    ) async throws -> Bool {
        guard let account = try await AccountStore.lock(id, in: transaction) else { return false }
        // Another process may have carried it out, and a newer request may have begun another day.
        let due = try await transaction.query(
            """
            DELETE FROM email_replacements
            WHERE account_id = \(id) AND due_at <= \(now)
            RETURNING email, requested_by, request_id, language
            """
        ) { row throws(PostgresError) in
            try row.decode(EmailAddress.self, String?.self, String?.self, String?.self)
        }
        guard let (email, requestedBy, requestID, language) = due.first else { return false }
        let origin = ChangeOrigin(
            actor: .service, actorName: requestedBy, requestID: requestID, mailLanguage: language)
        let lapse: EndReason? =
            if account.status != .active {
                .accountDisabled
            } else if try await !isFree(email, in: transaction) {
                .emailTaken
            } else {
                nil
            }
        if let lapse {
            try await AuditTrail.record(
                AuditEvent(.emailReplacementCancelled, from: origin, accountID: id, reason: lapse.rawValue), at: now,
                in: transaction)
        } else {
            try await replace(email, of: account, at: now, from: origin, in: transaction)
        }
        return true
    }

    /// Gives the account its new address and leaves nothing else by which it could be entered as before. Who has lost a
    /// mailbox may have lost it to somebody who is in the account by now: sessions and the password go, and so does a
    /// pending change of address. The identities stay, but none of their earlier tokens counts, and the next sign-in by
    /// each of them is mailed to the new address.
    ///
    /// - Parameter account: locked.
    private static func replace(
        _ email: EmailAddress, of account: Account, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws(PostgresError) {
        try await SessionStore.end("s.account_id = \(account.id)", reason: .emailReplaced, at: now, in: transaction)
        try await OAuthGrantStore.end(
            allOf: account.id, because: .emailReplaced, at: now, from: origin, in: transaction)
        try await IdentityStore.refuseTokens(issuedBefore: now, of: account.id, in: transaction)
        _ = try await transaction.execute(
            "UPDATE identities SET notify_sign_in = true WHERE account_id = \(account.id)")
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET email = \(email.text), password_hash = NULL, pending_email = NULL, pending_email_expires_at = NULL,
                \(AccountStore.grading(.proven, .administrator))
            WHERE account_id = \(account.id)
            """)
        try await AuditTrail.record(
            AuditEvent(.emailReplaced, from: origin, accountID: account.id), at: now, in: transaction)
        try await MailStore.notify(
            account.mailboxes.filter { $0 != email }, of: .emailChanged, from: origin, at: now, in: transaction)
    }
}
