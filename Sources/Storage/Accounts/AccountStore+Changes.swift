package import Accounts
package import Postgres

/// The outcome of a change of an account in one of its sessions.
package enum AccountChange: Sendable {
    case done
    /// The session has ended, or the state that the change was based on has changed.
    case outdated
}

/// The outcome of a request for another address.
package enum EmailChangeRequest: Sendable {
    case done
    /// The session has ended.
    case outdated
    /// A code has to be made for it, and an allowance drawn before. Nothing was changed.
    case needsAllowance
}

/// The outcome of *verify-email*.
package enum EmailVerification: Sendable {
    case verified
    /// The session has ended.
    case sessionGone
    /// The code was used, or the address it was for is no longer the account's.
    case codeGone
    /// Another account has proven the address.
    case emailTaken
}

/// The changes that an account's owner makes.
extension AccountStore {
    /// Deletes pending addresses that were never proven.
    ///
    /// - Returns: the number of deleted addresses.
    package func deleteExpiredPendingEmails(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            UPDATE accounts
            SET pending_email = NULL, pending_email_expires_at = NULL
            WHERE account_id = ANY (ARRAY(
                SELECT account_id
                FROM accounts
                WHERE pending_email IS NOT NULL AND pending_email_expires_at < \(time)
                LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED))
            """)
    }

    /// - Parameter event: recorded with the change.
    /// - Returns: `nil` when there is no such account.
    package func rename(
        _ id: AccountID, to name: DisplayName?, at now: Timestamp, recording event: AuditEvent?
    ) async throws -> Account? {
        try await database.transaction(retries: 2) { transaction in
            let renamed = try await transaction.execute(
                "UPDATE accounts SET display_name = \(name?.text) WHERE account_id = \(id)")
            guard renamed == 1 else { return nil }
            if let event { try await AuditTrail.record(event, at: now, in: transaction) }
            return try await AccountStore.account(id, in: transaction)
        }
    }

    /// The stored hash of the account's password.
    package func passwordHash(of id: AccountID) async throws(PostgresError) -> String? {
        let rows = try await database.query("SELECT password_hash FROM accounts WHERE account_id = \(id)") {
            row throws(PostgresError) in try row.decode(String?.self)
        }
        return rows.first ?? nil
    }

    /// Sets the password, and ends all sessions but this. A pending change or replacement of the address ends too: the
    /// person who requested it may be the reason for the new password.
    ///
    /// - Parameter old: the hash that the current password was compared with; `nil` if there was none.
    package func changePassword(
        to passwordHash: String, from old: String?, in session: Session, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> AccountChange {
        let id = session.accountID
        return try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(of: session, at: now, in: transaction) else {
                return .outdated
            }
            let changed = try await transaction.execute(
                """
                UPDATE accounts
                SET password_hash = \(passwordHash), pending_email = NULL, pending_email_expires_at = NULL
                WHERE account_id = \(id) AND password_hash IS NOT DISTINCT FROM \(old)
                """)
            guard changed == 1 else { return .outdated }
            try await SessionStore.end(
                "s.account_id = \(id) AND s.session_id <> \(session.id)", reason: .passwordChanged, at: now,
                in: transaction)
            try await EmailReplacementStore.end(
                of: id, because: .passwordChanged, at: now, from: origin, in: transaction)
            try await AuditTrail.record(
                AuditEvent(.passwordChanged, from: origin, accountID: id, sessionID: session.id), at: now,
                in: transaction)
            try await MailStore.notify([account.mailbox], of: .passwordChanged, from: origin, at: now, in: transaction)
            return .done
        }
    }

    /// Stores the address that is to become the account's, enqueues the mail with the code that proves it, and notifies
    /// the current address.
    ///
    /// - Parameter allowance: what was drawn for the request.
    package func requestEmail(
        _ request: EmailCodeRequest, allowance: EmailCodeAllowance?, in session: Session, at now: Timestamp,
        from origin: ChangeOrigin
    ) async throws -> EmailChangeRequest {
        let (id, email) = (session.accountID, request.code.email)
        return try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(of: session, at: now, in: transaction) else {
                return .outdated
            }
            let decision = try await EmailCodeStore.request(request, allowance: allowance, at: now, in: transaction)
            guard decision != .needsAllowance else { return .needsAllowance }
            let isOther = account.email != email
            _ = try await transaction.execute(
                """
                UPDATE accounts
                SET pending_email = \(isOther ? email.text : nil),
                    pending_email_expires_at = \(isOther ? now.advanced(bySeconds: Lifetimes.pendingEmailSeconds) : nil)
                WHERE account_id = \(id)
                """)
            guard isOther else { return .done }
            try await AuditTrail.record(
                AuditEvent(.emailChangeRequested, from: origin, accountID: id, sessionID: session.id), at: now,
                in: transaction)
            try await MailStore.notify(
                [account.mailbox], of: .emailChangeRequested, from: origin, at: now, in: transaction)
            return .done
        }
    }

    /// The address that a code for *verify-email* is mailed to: the pending one, else the account's own if it is not
    /// proven.
    package func unprovenEmail(of id: AccountID, at now: Timestamp) async throws(PostgresError) -> EmailAddress? {
        try await AccountStore.unprovenEmail(of: id, at: now, in: database)
    }

    private static func unprovenEmail(
        of id: AccountID, at now: Timestamp, in session: some PostgresSession
    ) async throws(PostgresError) -> EmailAddress? {
        let rows = try await session.query(
            """
            SELECT COALESCE(
                CASE WHEN pending_email_expires_at > \(now) THEN pending_email END,
                CASE WHEN (\(AccountRow.proof)) <> \(EmailProof.proven.rawValue) THEN email END)
            FROM accounts a
            WHERE account_id = \(id)
            """
        ) { row throws(PostgresError) in try row.decode(EmailAddress?.self) }
        return rows.first ?? nil
    }

    /// Marks the account's address as proven, or puts the pending one in its place, in a session of the account.
    ///
    /// Unlike a mailed code that signs in, it establishes no new owner: the holder of the session reads the mailbox
    /// too, so the password, the sessions and the identities stay. No other address is needed then, so a pending
    /// replacement ends.
    package func verifyEmail(
        by code: EmailCode, in session: Session, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> EmailVerification {
        for _ in 0..<AccountStore.triesForAddress {
            do {
                return try await database.transaction(retries: 2) { transaction in
                    try await AccountStore.verifyEmail(by: code, in: session, at: now, from: origin, in: transaction)
                }
            } catch let refusal as EmailRefusal {
                return refusal.outcome
            } catch let error as PostgresError where error.isUniqueViolation(of: "accounts_email_key") {
                // The address was taken after it was looked up; the next attempt finds its holder.
            }
        }
        return .emailTaken
    }

    /// A refusal, which rolls back and so leaves the code valid.
    private struct EmailRefusal: Error {
        let outcome: EmailVerification
    }

    private static func verifyEmail(
        by code: EmailCode, in session: Session, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws -> EmailVerification {
        // Together with the account that holds the address.
        try await lock("a.account_id = \(session.accountID) OR a.email = \(code.email.text)", in: transaction)
        guard let account = try await lock(of: session, at: now, in: transaction) else {
            throw EmailRefusal(outcome: .sessionGone)
        }
        guard try await unprovenEmail(of: account.id, at: now, in: transaction) == code.email,
            try await EmailCodeStore.consume(code, at: now, in: transaction)
        else { throw EmailRefusal(outcome: .codeGone) }
        if account.email != code.email {
            try await free(code.email, at: now, from: origin, in: transaction)
            try await MailStore.notify([account.mailbox], of: .emailChanged, from: origin, at: now, in: transaction)
        }
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET email = \(code.email.text), pending_email = NULL, pending_email_expires_at = NULL,
                \(grading(.proven, .mailedCode))
            WHERE account_id = \(account.id)
            """)
        try await EmailReplacementStore.end(
            of: account.id, because: .emailProven, at: now, from: origin, in: transaction)
        let kind: AuditEvent.Kind = account.email == code.email ? .emailVerified : .emailChanged
        try await AuditTrail.record(
            AuditEvent(kind, from: origin, accountID: account.id, sessionID: session.id), at: now, in: transaction)
        return .verified
    }

    /// Takes the address, whose mailbox has just been proven, from an account that has it without a proof.
    private static func free(
        _ email: EmailAddress, at now: Timestamp, from origin: ChangeOrigin, in transaction: Transaction
    ) async throws {
        let holders = try await transaction.query(
            "SELECT account_id FROM accounts WHERE email = \(email.text) FOR UPDATE"
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        guard let holder = holders.first, let account = try await lock(holder, in: transaction) else { return }
        guard AddressRule.outcome(of: .changeEmail, .mailedCode, holder: AddressHolder(account)) == .proveTaking else {
            throw EmailRefusal(outcome: .emailTaken)
        }
        try await takeEmail(from: account, at: now, from: origin, in: transaction)
    }

    /// The account of the session, locked, if the session is live and the account is active.
    static func lock(
        of session: Session, at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) -> Account? {
        guard let account = try await lock(session.accountID, in: transaction), account.status == .active,
            try await SessionStore.isLive(session.id, of: account.id, at: now, in: transaction)
        else { return nil }
        return account
    }
}
