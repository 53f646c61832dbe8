package import Accounts
import Postgres

/// What came of a right code, or why nothing did.
package enum MailboxOutcome<Value: Sendable>: Sendable {
    case done(Value)
    /// Nobody has the address any more, or another request has used the code.
    case codeGone
    case accountDisabled
}

/// What a person does who has proven to read a mailbox.
extension AccountStore {
    /// Opens a session of the account whose mailbox was proven.
    package func signIn(
        by code: EmailCode, newSession: NewSession, from origin: ChangeOrigin
    ) async throws -> MailboxOutcome<Account> {
        try await withMailbox(proven: code, at: newSession.now, from: origin) { account, transaction in
            _ = try await transaction.execute(
                newSession.insertion(
                    accountID: "a.account_id", identityID: "NULL",
                    from: """
                        accounts a
                        WHERE a.account_id = \(account.id)
                        """))
            return account
        }
    }

    /// Sets a new password and ends all sessions. A change of address that is under way ends too: whoever began it may be
    /// the one whom the reset is to lock out.
    package func resetPassword(
        by code: EmailCode, passwordHash: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> MailboxOutcome<Void> {
        try await withMailbox(proven: code, at: now, from: origin) { account, transaction in
            _ = try await transaction.execute(
                """
                UPDATE accounts
                SET password_hash = \(passwordHash), pending_email = NULL, pending_email_expires_at = NULL
                WHERE account_id = \(account.id)
                """)
            try await SessionStore.end(
                "s.account_id = \(account.id)", reason: .passwordReset, at: now, in: transaction)
            try await AuditTrail.record(
                AuditEvent(.passwordReset, from: origin, accountID: account.id), at: now, in: transaction)
            try await MailStore.notify([account.mailbox], of: .passwordChanged, from: origin, at: now, in: transaction)
        }
    }

    private func withMailbox<Value: Sendable>(
        proven code: EmailCode, at now: Timestamp, from origin: ChangeOrigin,
        _ body: @Sendable (Account, Transaction) async throws -> Value
    ) async throws -> MailboxOutcome<Value> {
        do {
            return try await database.transaction(retries: 2) { transaction in
                let account = try await AccountStore.prove(code, at: now, from: origin, in: transaction)
                return .done(try await body(account, transaction))
            }
        } catch let refusal as MailboxRefusal {
            switch refusal {
            case .codeGone: return .codeGone
            case .accountDisabled: return .accountDisabled
            }
        }
    }

    /// Rolls back, and so leaves the code good.
    enum MailboxRefusal: Error {
        case codeGone
        case accountDisabled
    }

    /// The account that holds the code's address, locked, its mailbox proven by the code, which is used up.
    ///
    /// The first proof of a mailbox tells who the owner of the address is. What was set up before, by whoever wrote down
    /// the address, goes: password, sessions, identities and a change of address (Sudhodanan & Paverd 2022: pre-hijacking).
    static func prove(
        _ code: EmailCode, at now: Timestamp, from origin: ChangeOrigin, in transaction: Transaction
    ) async throws -> Account {
        let holders = try await transaction.query(
            "SELECT account_id FROM accounts WHERE email = \(code.email.text) FOR UPDATE"
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        guard let id = holders.first, let account = try await lock(id, in: transaction) else {
            throw MailboxRefusal.codeGone
        }
        guard account.status == .active else { throw MailboxRefusal.accountDisabled }
        guard try await EmailCodeStore.consume(code, at: now, in: transaction) else { throw MailboxRefusal.codeGone }
        guard !account.isEmailVerified else { return account }
        for identity in account.identities {
            try await unlink(
                identity, reason: .emailProven, event: AuditEvent(.identityUnlinked, from: origin), at: now,
                in: transaction)
        }
        try await SessionStore.end("s.account_id = \(id)", reason: .emailProven, at: now, in: transaction)
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET email_verified = true, password_hash = NULL, pending_email = NULL, pending_email_expires_at = NULL
            WHERE account_id = \(id)
            """)
        try await AuditTrail.record(AuditEvent(.emailProven, from: origin, accountID: id), at: now, in: transaction)
        guard let owned = try await self.account(id, in: transaction) else { throw MailboxRefusal.codeGone }
        return owned
    }

    /// The verified owner of its address has arrived: the account, which never proved it, loses the address, its password
    /// and its sessions, and is disabled when no identity is left to enter it by.
    static func reclaimEmail(
        of id: AccountID, disabling: Bool, at now: Timestamp, from origin: ChangeOrigin, in transaction: Transaction
    ) async throws(PostgresError) {
        try await SessionStore.end("s.account_id = \(id)", reason: .emailReclaimed, at: now, in: transaction)
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET email = NULL, password_hash = NULL, pending_email = NULL, pending_email_expires_at = NULL,
                status = CASE WHEN \(disabling) THEN 'disabled' ELSE status END,
                disabled_reason = CASE
                    WHEN \(disabling) AND status = 'active' THEN 'email_reclaimed' ELSE disabled_reason END
            WHERE account_id = \(id)
            """)
        try await AuditTrail.record(AuditEvent(.emailReclaimed, from: origin, accountID: id), at: now, in: transaction)
    }
}
