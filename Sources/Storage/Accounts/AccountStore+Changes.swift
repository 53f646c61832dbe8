package import Accounts
package import Postgres

/// What a change of an account, made in one of its sessions, came to.
package enum AccountChange: Sendable {
    case done
    /// The session has ended, or what the change was based on is no longer so.
    case outdated
}

/// What *verify-email* came to.
package enum EmailVerification: Sendable {
    case verified
    /// The session has ended.
    case sessionGone
    /// The code was used, or the address it was for is no longer the account's.
    case codeGone
    /// Somebody else has proven the address.
    case emailTaken
}

/// What the owner of an account changes in it.
extension AccountStore {
    /// Seconds for which an address waits to take the place of the account's.
    static let pendingLifetime: Int64 = 86_400

    /// Forgets addresses that were never proven.
    ///
    /// - Returns: how many.
    package func forgetPendingEmails(before moment: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            UPDATE accounts
            SET pending_email = NULL, pending_email_expires_at = NULL
            WHERE account_id = ANY (ARRAY(
                SELECT account_id
                FROM accounts
                WHERE pending_email IS NOT NULL AND pending_email_expires_at < \(moment)
                LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED))
            """)
    }

    package func rename(
        _ id: AccountID, to name: DisplayName, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> Account? {
        try await database.transaction(retries: 2) { transaction in
            let renamed = try await transaction.execute(
                "UPDATE accounts SET display_name = \(name.text) WHERE account_id = \(id)")
            guard renamed == 1 else { return nil }
            try await AuditTrail.record(
                AuditEvent(.displayNameChanged, from: origin, accountID: id), at: now, in: transaction)
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

    /// Sets the password, and ends all sessions but this. A change of address that is under way ends too: whoever began it
    /// may be the one because of whom the password is changed.
    ///
    /// - Parameter old: what the account's password was compared with, or that it had none.
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
            try await AuditTrail.record(
                AuditEvent(.passwordChanged, from: origin, accountID: id, sessionID: session.id), at: now,
                in: transaction)
            try await MailStore.notify([account.mailbox], of: .passwordChanged, from: origin, at: now, in: transaction)
            return .done
        }
    }

    /// Notes the address that is to become the account's, and promises the mail with the code that proves it. The address
    /// it has so far is told.
    package func requestEmail(
        _ code: EmailCode, language: String, in session: Session, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> AccountChange {
        let id = session.accountID
        return try await database.transaction(retries: 2) { transaction in
            guard let account = try await AccountStore.lock(of: session, at: now, in: transaction) else {
                return .outdated
            }
            let isOther = account.email != code.email
            _ = try await transaction.execute(
                """
                UPDATE accounts
                SET pending_email = \(isOther ? code.email.text : nil),
                    pending_email_expires_at = \(isOther ? now.advanced(bySeconds: AccountStore.pendingLifetime) : nil)
                WHERE account_id = \(id)
                """)
            try await EmailCodeStore.issue(code, language: language, at: now, in: transaction)
            guard isOther else { return .done }
            try await AuditTrail.record(
                AuditEvent(.emailChangeRequested, from: origin, accountID: id, sessionID: session.id), at: now,
                in: transaction)
            try await MailStore.notify(
                [account.mailbox], of: .emailChangeRequested, from: origin, at: now, in: transaction)
            return .done
        }
    }

    /// The address that a code for *verify-email* is mailed to: the one that is to become the account's, else the one that
    /// was never proven.
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
                CASE WHEN NOT email_verified THEN email END)
            FROM accounts
            WHERE account_id = \(id)
            """
        ) { row throws(PostgresError) in try row.decode(EmailAddress?.self) }
        return rows.first ?? nil
    }

    /// Proves the account's address, or puts the new one in its place, in a session of the account.
    ///
    /// Unlike a mailed code that lets somebody in, it proves no one else to be the owner: whoever has the session reads the
    /// mailbox too, so what the account holds stays.
    package func verifyEmail(
        by code: EmailCode, in session: Session, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> EmailVerification {
        var remainingTries = 2
        while true {
            do {
                return try await database.transaction(retries: 2) { transaction in
                    try await AccountStore.verifyEmail(by: code, in: session, at: now, from: origin, in: transaction)
                }
            } catch let refusal as EmailRefusal {
                return refusal.outcome
            } catch let error as PostgresError
                where error.isUniqueViolation(of: "accounts_email_key") && remainingTries > 0
            {
                // Somebody took the address after it was looked up. The next look finds them.
                remainingTries -= 1
            }
        }
    }

    /// Rolls back, and so leaves the code good.
    private struct EmailRefusal: Error {
        let outcome: EmailVerification
    }

    private static func verifyEmail(
        by code: EmailCode, in session: Session, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws -> EmailVerification {
        // Also of whoever has the address.
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
            SET email = \(code.email.text), email_verified = true, pending_email = NULL, pending_email_expires_at = NULL
            WHERE account_id = \(account.id)
            """)
        let kind: AuditEvent.Kind = account.email == code.email ? .emailVerified : .emailChanged
        try await AuditTrail.record(
            AuditEvent(kind, from: origin, accountID: account.id, sessionID: session.id), at: now, in: transaction)
        return .verified
    }

    /// Takes the address, whose mailbox has just been proven, from whoever has it without a proof.
    private static func free(
        _ email: EmailAddress, at now: Timestamp, from origin: ChangeOrigin, in transaction: Transaction
    ) async throws {
        let holders = try await transaction.query(
            "SELECT account_id FROM accounts WHERE email = \(email.text) FOR UPDATE"
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        guard let holder = holders.first, let account = try await lock(holder, in: transaction) else { return }
        guard !account.isEmailVerified else { throw EmailRefusal(outcome: .emailTaken) }
        try await reclaimEmail(
            of: holder, disabling: account.identities.isEmpty, at: now, from: origin, in: transaction)
    }

    /// The account of the session, locked, if both may still act.
    static func lock(
        of session: Session, at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) -> Account? {
        guard let account = try await lock(session.accountID, in: transaction), account.status == .active,
            try await SessionStore.isLive(session.id, of: account.id, at: now, in: transaction)
        else { return nil }
        return account
    }
}
