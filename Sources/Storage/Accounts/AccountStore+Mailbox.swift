package import Accounts
import Postgres

/// The outcome of a use of a correct code.
package enum MailboxOutcome<Value: Sendable>: Sendable {
    case done(Value)
    /// No account has the address any more, or another request has used the code.
    case codeGone
    case accountDisabled
}

/// The outcome of a sign-in by a correct code.
package enum MailedSignIn: Sendable {
    case signedIn(Account)
    /// The account's address is only stated. The code is spent on the ticket; its person sees this account and chooses.
    case choose(Account)
}

/// The operations that a proven mailbox permits.
extension AccountStore {
    /// Opens a session of the account whose mailbox was proven; or keeps the ticket, if its person has to see first who is
    /// in the account.
    package func signIn(
        by code: EmailCode, newSession: NewSession, else ticket: MailboxTicket, hash: [UInt8], from origin: ChangeOrigin
    ) async throws -> MailboxOutcome<MailedSignIn> {
        let now = newSession.now
        return try await withMailbox(proven: code, for: .mailedSignIn, at: now, from: origin) { entry, transaction in
            switch entry {
            case .entered(let account):
                try await newSession.open(for: account.id, in: transaction)
                return .signedIn(account)
            case .choose(let account):
                try await MailboxTicketStore.insert(
                    ticket, showing: ShownAccount(account), hash: hash,
                    recording: AuditEvent(.linkRequired, from: origin, accountID: account.id), in: transaction)
                return .choose(account)
            }
        }
    }

    /// Sets a new password and ends all sessions. A pending change or replacement of the address ends too: the reset may
    /// be meant to lock out the person who requested it.
    package func resetPassword(
        by code: EmailCode, passwordHash: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> MailboxOutcome<Void> {
        try await withMailbox(proven: code, for: .reset, at: now, from: origin) { entry, transaction in
            guard case .entered(let account) = entry else { throw MailboxRefusal.codeGone }
            _ = try await transaction.execute(
                """
                UPDATE accounts
                SET password_hash = \(passwordHash), pending_email = NULL, pending_email_expires_at = NULL
                WHERE account_id = \(account.id)
                """)
            try await SessionStore.end(
                "s.account_id = \(account.id)", reason: .passwordReset, at: now, in: transaction)
            try await OAuthGrantStore.end(
                allOf: account.id, because: .passwordReset, at: now, from: origin, in: transaction)
            try await IdentityStore.refuseTokens(issuedBefore: now, of: account.id, in: transaction)
            try await EmailReplacementStore.end(
                of: account.id, because: .passwordReset, at: now, from: origin, in: transaction)
            try await AuditTrail.record(
                AuditEvent(.passwordReset, from: origin, accountID: account.id), at: now, in: transaction)
            try await MailStore.notify([account.mailbox], of: .passwordChanged, from: origin, at: now, in: transaction)
        }
    }

    private func withMailbox<Value: Sendable>(
        proven code: EmailCode, for operation: AddressOperation, at now: Timestamp, from origin: ChangeOrigin,
        _ body: @Sendable (MailboxEntry, Transaction) async throws -> Value
    ) async throws -> MailboxOutcome<Value> {
        do {
            return try await database.transaction(retries: 2) { transaction in
                let entry = try await AccountStore.enter(
                    by: code, for: operation, at: now, from: origin, in: transaction)
                return .done(try await body(entry, transaction))
            }
        } catch let refusal as MailboxRefusal {
            switch refusal {
            case .codeGone, .notShown: return .codeGone
            case .accountDisabled: return .accountDisabled
            }
        }
    }

    /// A refusal, which rolls back and so leaves the code valid.
    enum MailboxRefusal: Error {
        case codeGone
        case accountDisabled
        /// The code leads into an account that its person has yet to be shown.
        case notShown(Account)
    }

    /// What a code leads to, which is spent.
    enum MailboxEntry: Sendable {
        /// The account, whose address is proven by now.
        case entered(Account)
        /// The person has to choose, having seen the account.
        case choose(Account)
    }

    /// Spends a code on the account that has its address, as ``AddressRule`` says for the operation. The account is
    /// locked.
    ///
    /// - Parameter shown: the account as the person has been shown it.
    static func enter(
        by code: EmailCode, for operation: AddressOperation, shown: ShownAccount? = nil, at now: Timestamp,
        from origin: ChangeOrigin, in transaction: Transaction
    ) async throws -> MailboxEntry {
        let holders = try await transaction.query(
            "SELECT account_id FROM accounts WHERE email = \(code.email.text) FOR UPDATE"
        ) { row throws(PostgresError) in try row.decode(AccountID.self) }
        guard let id = holders.first, let account = try await lock(id, in: transaction) else {
            throw MailboxRefusal.codeGone
        }
        guard account.status == .active else { throw MailboxRefusal.accountDisabled }
        guard try await EmailCodeStore.consume(code, at: now, in: transaction) else { throw MailboxRefusal.codeGone }
        switch AddressRule.outcome(of: operation, .mailedCode, holder: AddressHolder(account)) {
        case .enter: return .entered(account)
        case .choose: return .choose(account)
        case .enterClearing:
            try await clear(account, provenBy: code, at: now, from: origin, in: transaction)
        case .takeOverOnceShown:
            guard let shown, shown.covers(account) else { throw MailboxRefusal.notShown(account) }
            try await takeOver(account, by: .mailedCode, at: now, from: origin, in: transaction)
        default: throw MailboxRefusal.codeGone
        }
        guard let owned = try await self.account(id, in: transaction) else { throw MailboxRefusal.codeGone }
        return .entered(owned)
    }

    /// The first proof of a claimed address establishes its owner. What was set up before, by a person who only typed the
    /// address, is removed: password, sessions, identities, name and a pending change or replacement of the address
    /// (Sudhodanan & Paverd 2022: pre-hijacking). Nor do tokens of before lead to the account by its address.
    private static func clear(
        _ account: Account, provenBy code: EmailCode, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws {
        for identity in account.identities {
            try await unlink(
                identity, reason: .emailProven, event: AuditEvent(.identityUnlinked, from: origin), at: now,
                in: transaction)
        }
        try await SessionStore.end("s.account_id = \(account.id)", reason: .emailProven, at: now, in: transaction)
        try await OAuthGrantStore.end(
            allOf: account.id, because: .emailProven, at: now, from: origin, in: transaction)
        try await IdentityStore.refuseTokens(issuedBefore: now, of: account.id, in: transaction)
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET password_hash = NULL, display_name = NULL, pending_email = NULL, pending_email_expires_at = NULL,
                \(grading(.proven, .mailedCode))
            WHERE account_id = \(account.id)
            """)
        try await EmailReplacementStore.end(
            of: account.id, because: .emailProven, at: now, from: origin, in: transaction)
        try await AuditTrail.record(
            AuditEvent(.emailProven, from: origin, accountID: account.id), at: now, in: transaction)
    }

    /// The reader of the mailbox of a stated address takes the account over, having seen which identities are in it. Those
    /// stay, but none of their earlier tokens counts, and the next sign-in by each of them is mailed. Sessions, the
    /// password, the name and a pending change or replacement of the address, which the person has not seen, go: a name is
    /// text that somebody may have chosen for who comes next.
    ///
    /// - Parameter account: locked, and shown as it is.
    static func takeOver(
        _ account: Account, by source: EmailProof.Source, at now: Timestamp, from origin: ChangeOrigin,
        in transaction: Transaction
    ) async throws(PostgresError) {
        try await SessionStore.end("s.account_id = \(account.id)", reason: .emailProven, at: now, in: transaction)
        try await OAuthGrantStore.end(
            allOf: account.id, because: .emailProven, at: now, from: origin, in: transaction)
        try await IdentityStore.refuseTokens(issuedBefore: now, of: account.id, in: transaction)
        _ = try await transaction.execute(
            "UPDATE identities SET notify_sign_in = true WHERE account_id = \(account.id)")
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET password_hash = NULL, display_name = NULL, pending_email = NULL, pending_email_expires_at = NULL,
                \(grading(.proven, source))
            WHERE account_id = \(account.id)
            """)
        try await EmailReplacementStore.end(
            of: account.id, because: .emailProven, at: now, from: origin, in: transaction)
        try await AuditTrail.record(
            AuditEvent(.emailProven, from: origin, accountID: account.id, reason: "taken_over"), at: now,
            in: transaction)
    }

    /// Takes the address from an account that has not proven it, for the reader of the mailbox. One that only claimed it
    /// loses its password, its sessions and its name besides. It is disabled when it has no identity to sign in with.
    ///
    /// - Parameter account: locked.
    static func takeEmail(
        from account: Account, at now: Timestamp, from origin: ChangeOrigin, in transaction: Transaction
    ) async throws(PostgresError) {
        let isClaimed = account.emailProof == .claimed
        let isDisabling = account.identities.isEmpty
        if isClaimed || isDisabling {
            try await SessionStore.end(
                "s.account_id = \(account.id)", reason: .emailReclaimed, at: now, in: transaction)
            try await OAuthGrantStore.end(
                allOf: account.id, because: .emailReclaimed, at: now, from: origin, in: transaction)
        }
        _ = try await transaction.execute(
            """
            UPDATE accounts
            SET email = NULL, email_verified = false, email_proof = \(EmailProof.stated.rawValue),
                email_proof_source = NULL, email_taken_at = \(now),
                password_hash = CASE WHEN \(isClaimed) THEN NULL ELSE password_hash END,
                display_name = CASE WHEN \(isClaimed) THEN NULL ELSE display_name END,
                pending_email = NULL, pending_email_expires_at = NULL,
                status = CASE WHEN \(isDisabling) THEN 'disabled' ELSE status END,
                disabled_reason = CASE
                    WHEN \(isDisabling) AND status = 'active' THEN 'email_reclaimed' ELSE disabled_reason END
            WHERE account_id = \(account.id)
            """)
        // Not to the address itself: it is the new reader's.
        try await MailStore.notify(
            account.identities.map(\.mailbox).filter { $0 != account.email }, of: .emailTaken, from: origin, at: now,
            in: transaction)
        try await AuditTrail.record(
            AuditEvent(.emailReclaimed, from: origin, accountID: account.id), at: now, in: transaction)
    }
}
