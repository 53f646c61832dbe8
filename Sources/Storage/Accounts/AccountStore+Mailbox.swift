package import Accounts
import Postgres

/// The outcome of a use of a correct code.
package enum MailboxOutcome<Value: Sendable>: Sendable {
    case done(Value)
    /// No account has the address any more, or another request has used the code.
    case codeGone
    case accountDisabled
}

/// The operations that a proven mailbox permits.
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

    /// Sets a new password and ends all sessions. A pending change of address ends too: the reset may be meant to lock
    /// out the person who requested it.
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

    /// A refusal, which rolls back and so leaves the code valid.
    enum MailboxRefusal: Error {
        case codeGone
        case accountDisabled
    }

    /// The account that holds the code's address, locked, its mailbox proven by the code, which is consumed.
    ///
    /// The first proof of a mailbox establishes the owner of the address. What was set up before, by a person who only
    /// claimed the address, is removed: password, sessions, identities and a pending change of address (Sudhodanan &
    /// Paverd 2022: pre-hijacking).
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

    /// Takes the address from an account that never proved it, for the verified owner: the account also loses its
    /// password and its sessions, and is disabled when no identity is left to sign in with.
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
