package import Accounts
package import Postgres

/// `email_replacements`: the addresses that administrators have requested for accounts whose owners have lost the mailbox,
/// until they are due. Every change of a row, its effect included, happens under the lock of its account, so of several
/// that happen at once one comes first and the others find what it has left.
package struct EmailReplacementStore: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// Why a replacement ended without being stopped; the reason code in the audit trail.
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
        /// The database was restored to a time at which it was pending; it may have been stopped since.
        case databaseRestored = "database_restored"
    }

    /// The accounts' replacements that are not in effect yet.
    func pending(of ids: [AccountID]) async throws(PostgresError) -> [AccountID: EmailReplacement] {
        let rows = try await database.query(
            """
            SELECT account_id, email, created_at, due_at, requested_by
            FROM email_replacements
            WHERE account_id = ANY (\(ids))
            """, as: AccountID.self, EmailAddress.self, Timestamp.self, Timestamp.self, String?.self)
        return Dictionary(
            uniqueKeysWithValues: rows.map { id, email, requestedAt, dueAt, requestedBy in
                (id, EmailReplacement(email: email, requestedAt: requestedAt, dueAt: dueAt, requestedBy: requestedBy))
            })
    }

    /// Stores the address that takes the place of the account's in a day, and notifies every mailbox of the account. A
    /// request that is pending already is replaced, and the day begins again. It is none shorter by the database's clock,
    /// which the sweep that carries it out agrees with.
    package func request(
        _ email: EmailAddress, for id: AccountID, reason: String, by call: Call
    ) async throws -> EmailReplacement {
        try await database.change(by: call) { change in
            guard let account = try await change.accounts.lock(id) else { throw Refusal.accountNotFound }
            guard account.status == .active else { throw Refusal.accountDisabled }
            guard account.email != email else { throw Refusal.emailUnchanged }
            guard try await change.emailReplacements.isFree(email) else { throw Refusal.emailTaken }
            let dueAt = try await change.query(
                """
                INSERT INTO email_replacements (account_id, email, requested_by, request_id, language, due_at, created_at)
                VALUES (\(id), \(email.text), \(call.origin.actorName), \(call.origin.requestID), \(call.origin.mailLanguage),
                    GREATEST(\(call.now), clock_timestamp())
                        + \(Lifetimes.emailReplacementDelaySeconds) * interval '1 second',
                    \(call.now))
                ON CONFLICT (account_id) DO UPDATE
                SET email = EXCLUDED.email, requested_by = EXCLUDED.requested_by, request_id = EXCLUDED.request_id,
                    language = EXCLUDED.language, due_at = EXCLUDED.due_at, created_at = EXCLUDED.created_at
                RETURNING due_at
                """, as: Timestamp.self)[0]
            try await change.record(.emailReplacementRequested, accountID: id, reason: reason)
            try await change.mail.notify(account.mailboxes, of: .emailReplacementRequested)
            return EmailReplacement(
                email: email, requestedAt: call.now, dueAt: dueAt, requestedBy: call.origin.actorName)
        }
    }

    /// Stops a replacement in a session of its account, if there is one.
    package func cancel(in session: Session, by call: Call) async throws {
        try await database.change(by: call) { change in
            _ = try await change.accounts.lock(of: session)
            _ = try await change.emailReplacements.delete(
                of: session.accountID,
                recording: AuditEvent(
                    .emailReplacementCancelled, from: call.origin, accountID: session.accountID, sessionID: session.id))
        }
    }

    /// Stops a replacement, if there is one, without a session of its account.
    ///
    /// - Returns: whether there was one.
    package func cancel(of id: AccountID, reason: String?, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            guard try await change.accounts.lock(id) != nil else { throw Refusal.accountNotFound }
            return try await change.emailReplacements.delete(
                of: id,
                recording: AuditEvent(.emailReplacementCancelled, from: call.origin, accountID: id, reason: reason))
        }
    }
}

/// The effect.
extension EmailReplacementStore {
    /// Carries out the replacements that are due, each in a transaction of its own: a failure of one holds up no other.
    ///
    /// - Returns: the number of those that are in effect now, or have lapsed.
    package func carryOutDue(by call: Call, limit: Int) async throws -> Int {
        let due = try await database.query(
            """
            SELECT account_id
            FROM email_replacements
            WHERE due_at <= \(call.now)
            ORDER BY due_at
            LIMIT \(limit)
            """, as: AccountID.self)
        var count = 0
        var failure: (any Error)?
        for id in due {
            do {
                let isCarriedOut = try await database.changeTakingAddress(by: call) { change in
                    try await change.emailReplacements.carryOut(of: id)
                }
                if isCarriedOut { count += 1 }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return count
    }
}

extension Change.EmailReplacements {
    /// Ends a replacement, if there is one, because of another change of the account, which the caller has locked.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func end(of id: AccountID, because reason: EmailReplacementStore.EndReason) async throws(PostgresError) -> Bool {
        try await delete(
            of: id,
            recording: AuditEvent(.emailReplacementCancelled, from: origin, accountID: id, reason: reason.rawValue))
    }

    /// Deletes the row and records it, if there is one.
    ///
    /// - Returns: whether there was one.
    fileprivate func delete(of id: AccountID, recording event: AuditEvent) async throws(PostgresError) -> Bool {
        let recorded = try await change.execute(
            """
            WITH deleted AS (
                DELETE FROM email_replacements WHERE account_id = \(id) RETURNING account_id
            )
            \(AuditTrail.insertion(event, by: call))
            WHERE EXISTS (SELECT FROM deleted)
            """)
        return recorded == 1
    }

    /// Whether an administrator may give the address to an account that doesn't have it.
    fileprivate func isFree(_ email: EmailAddress) async throws(PostgresError) -> Bool {
        let holder = try await AccountStore.holder(of: email, in: change)
        return AddressRule.outcome(of: .replaceEmail, .none, holder: AddressHolder(holder)) == .prove
    }

    fileprivate func carryOut(of id: AccountID) async throws -> Bool {
        guard let account = try await change.accounts.lock(id) else { return false }
        // Another process may have carried it out, and a newer request may have begun another day.
        let due = try await change.query(
            """
            DELETE FROM email_replacements
            WHERE account_id = \(id) AND due_at <= \(now)
            RETURNING email, requested_by, request_id, language
            """, as: EmailAddress.self, String?.self, String?.self, String?.self)
        guard let (email, requestedBy, requestID, language) = due.first else { return false }
        let change = change.onBehalf(
            of: ChangeOrigin(actor: .service, actorName: requestedBy, requestID: requestID, mailLanguage: language))
        let lapse: EmailReplacementStore.EndReason? =
            if account.status != .active {
                .accountDisabled
            } else if try await !isFree(email) {
                .emailTaken
            } else {
                nil
            }
        if let lapse {
            try await change.record(.emailReplacementCancelled, accountID: id, reason: lapse.rawValue)
        } else {
            try await change.emailReplacements.replace(email, of: account)
        }
        return true
    }

    /// Gives the account its new address and leaves nothing else by which it could be entered as before. The mailbox
    /// may have been lost to an attacker who is in the account by now: sessions and the password go, and so does a
    /// pending change of address. The identities stay, but none of their earlier tokens counts, and the next sign-in by
    /// each of them is mailed to the new address.
    ///
    /// - Parameter account: locked.
    fileprivate func replace(_ email: EmailAddress, of account: Account) async throws(PostgresError) {
        try await change.accounts.endAccess(to: account.id, because: .emailReplaced)
        _ = try await change.execute("UPDATE identities SET notify_sign_in = true WHERE account_id = \(account.id)")
        _ = try await change.execute(
            """
            UPDATE accounts
            SET email = \(email.text), password_hash = NULL, \(AccountStore.droppingPendingEmail),
                \(AccountStore.grading(.proven, .administrator))
            WHERE account_id = \(account.id)
            """)
        change.announce(.emailChanged(.proven, by: .admin), of: account.id)
        if account.hasPassword { change.announce(.passwordChanged(by: .policy), of: account.id) }
        try await change.record(.emailReplaced, accountID: account.id)
        try await change.mail.notify(account.mailboxes.filter { $0 != email }, of: .emailChanged)
    }
}
