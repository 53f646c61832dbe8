package import Accounts
import Postgres

/// What a correct code leads to, which is spent.
package enum MailboxEntry: Sendable {
    /// The account, whose address is proven by now.
    case entered(Account)
    /// The account's address is only stated: its person has to choose, having seen the account.
    case choose(Account)
}

/// The operations that a proven mailbox permits.
extension AccountStore {
    /// Opens a session of the account whose mailbox was proven; or keeps the ticket, if its person has to see first who is
    /// in the account.
    package func signIn(
        by code: EmailCode, newSession: NewSession, else ticket: MailboxTicket, hash: SecretHash, by call: Call
    ) async throws -> MailboxEntry {
        try await database.change(by: call) { change in
            let entry = try await change.accounts.enter(by: code, for: .mailedSignIn)
            switch entry {
            case .entered(let account): try await change.sessions.open(newSession, for: account.id)
            case .choose(let account):
                try await change.mailboxTickets.insert(
                    ticket, showing: ShownAccount(account), hash: hash,
                    recording: AuditEvent(.linkRequired, from: call.origin, accountID: account.id))
                // That a ticket is made is no act on the account, but this one's person reads its mailbox.
                _ = try await change.execute(AccountStore.touchingImport(of: "(\(account.id))"))
            }
            return entry
        }
    }

    /// Sets a new password and ends all sessions.
    ///
    /// - Returns: the account.
    package func resetPassword(
        to passwordHash: PasswordHash, proven code: EmailCode, by call: Call
    ) async throws -> AccountID {
        try await database.change(by: call) { change in
            try await change.accounts.resetPassword(to: passwordHash, proven: code)
        }
    }
}

extension Change.Accounts {
    /// Spends a code on the account that has its address, as ``AddressRule`` says for the operation. The account is
    /// locked.
    ///
    /// - Parameter shown: the account as the person has been shown it.
    func enter(
        by code: EmailCode, for operation: AddressOperation, shown: ShownAccount? = nil
    ) async throws -> MailboxEntry {
        let holders = try await change.query(
            "SELECT account_id FROM accounts WHERE email = \(code.email.text) FOR UPDATE", as: AccountID.self)
        guard let id = holders.first, let account = try await lock(id) else { throw Refusal.codeGone }
        guard account.status == .active else { throw Refusal.accountDisabled }
        guard try await change.emailCodes.consume(code) else { throw Refusal.codeGone }
        switch AddressRule.outcome(of: operation, .mailedCode, holder: AddressHolder(account)) {
        case .enter: return .entered(account)
        case .choose: return .choose(account)
        case .enterClearing:
            try await clear(account, provenBy: code)
        case .takeOverOnceShown:
            guard let shown, shown.covers(account) else { throw Refusal.holderNotShown(account) }
            try await takeOver(account, by: .mailedCode)
        default: throw Refusal.codeGone
        }
        guard let owned = try await AccountStore.account(id, in: change) else { throw Refusal.codeGone }
        return .entered(owned)
    }

    /// Makes an account of a person whose address the code proves, which is spent. One that only claims the address becomes
    /// theirs.
    ///
    /// - Returns: the account.
    func register(_ id: AccountID, _ registration: WebRegistration, proven code: EmailCode) async throws -> AccountID {
        let isNew = try await insert(
            id, by: .signUp, registration.email, .proven, .mailedCode, registration.passwordHash,
            registration.displayName)
        guard isNew else { return try await enter(registering: registration, by: code) }
        guard try await change.emailCodes.consume(code) else { throw Refusal.codeGone }
        try await change.record(.accountCreated, accountID: id)
        return id
    }

    /// Enters the account that only claims the address of a registration, with what was typed in it.
    private func enter(registering registration: WebRegistration, by code: EmailCode) async throws -> AccountID {
        guard case .entered(let account) = try await enter(by: code, for: .registerByCode) else {
            throw Refusal.codeGone
        }
        _ = try await change.execute(
            """
            UPDATE accounts
            SET password_hash = \(registration.passwordHash), password_is_unused = false,
                display_name = \(registration.displayName?.text)
            WHERE account_id = \(account.id)
            """)
        change.announce(.passwordChanged(by: .person), of: account.id)
        return account.id
    }

    /// Sets a new password and ends all sessions. A pending change or replacement of the address ends too: the reset may
    /// be meant to lock out the person who requested it.
    ///
    /// - Returns: the account.
    func resetPassword(to passwordHash: PasswordHash, proven code: EmailCode) async throws -> AccountID {
        guard case .entered(let account) = try await enter(by: code, for: .reset) else { throw Refusal.codeGone }
        _ = try await change.execute(
            """
            UPDATE accounts
            SET password_hash = \(passwordHash), password_is_unused = false, \(AccountStore.droppingPendingEmail)
            WHERE account_id = \(account.id)
            """)
        change.announce(.passwordChanged(by: .reset), of: account.id)
        try await endAccess(to: account.id, because: .passwordReset)
        try await change.emailReplacements.end(of: account.id, because: .passwordReset)
        try await change.record(.passwordReset, accountID: account.id)
        try await change.mail.notify([account.mailbox], of: .passwordChanged)
        return account.id
    }

    /// The first proof of a claimed address establishes its owner. What was set up before, by a person who only typed the
    /// address, is removed: password, sessions, identities, name and a pending change or replacement of the address
    /// (Sudhodanan & Paverd 2022: pre-hijacking). Nor do tokens of before lead to the account by its address.
    fileprivate func clear(_ account: Account, provenBy code: EmailCode) async throws {
        for identity in account.identities {
            try await unlink(
                identity, of: account.id, reason: .emailProven,
                event: AuditEvent(.identityUnlinked, from: origin), by: .policy)
        }
        try await endAccess(to: account.id, because: .emailProven)
        try await handOver(account, by: .mailedCode)
    }

    /// The reader of the mailbox of a stated address takes the account over, having seen which identities are in it. Those
    /// stay, but none of their earlier tokens counts, and the next sign-in by each of them is mailed. Sessions, the
    /// password, the name and a pending change or replacement of the address, which the person has not seen, go: a name is
    /// text that an attacker may have left for the next owner.
    ///
    /// - Parameter account: locked, and shown as it is.
    func takeOver(_ account: Account, by source: EmailProof.Source) async throws(PostgresError) {
        try await endAccess(to: account.id, because: .emailProven)
        _ = try await change.execute("UPDATE identities SET notify_sign_in = true WHERE account_id = \(account.id)")
        try await handOver(account, by: source, reason: "taken_over")
    }

    /// The reader of the mailbox is the owner. The password, the name and a pending change or replacement of the address go.
    private func handOver(
        _ account: Account, by source: EmailProof.Source, reason: String? = nil
    ) async throws(PostgresError) {
        _ = try await change.execute(
            """
            UPDATE accounts
            SET password_hash = NULL, display_name = NULL, \(AccountStore.droppingPendingEmail),
                \(AccountStore.grading(.proven, source))
            WHERE account_id = \(account.id)
            """)
        change.announce(.emailChanged(.proven, by: .person), of: account.id)
        if account.hasPassword { change.announce(.passwordChanged(by: .policy), of: account.id) }
        try await change.emailReplacements.end(of: account.id, because: .emailProven)
        try await change.record(.emailProven, accountID: account.id, reason: reason)
    }

    /// Takes the address from an account that has not proven it, for the reader of the mailbox. One that only claimed it
    /// loses its password, its sessions and its name besides. It is disabled when it has no identity to sign in with.
    ///
    /// - Parameter account: locked.
    func takeEmail(from account: Account) async throws(PostgresError) {
        let isClaimed = account.emailProof == .claimed
        let isDisabling = account.identities.isEmpty
        if isDisabling {
            // When it is enabled again, nothing of before counts.
            try await endAccess(to: account.id, because: .emailReclaimed)
        } else if isClaimed {
            try await endSessions(of: account.id, because: .emailReclaimed)
        }
        _ = try await change.execute(
            """
            UPDATE accounts
            SET email = NULL, email_verified = false, email_proof = \(EmailProof.stated.rawValue),
                email_proof_source = NULL, email_taken_at = \(now),
                password_hash = CASE WHEN \(isClaimed) THEN NULL ELSE password_hash END,
                display_name = CASE WHEN \(isClaimed) THEN NULL ELSE display_name END,
                \(AccountStore.droppingPendingEmail),
                status = CASE WHEN \(isDisabling) THEN 'disabled' ELSE status END,
                disabled_reason = CASE
                    WHEN \(isDisabling) AND status = 'active' THEN 'email_reclaimed' ELSE disabled_reason END
            WHERE account_id = \(account.id)
            """)
        change.announce(.emailChanged(nil, by: .policy), of: account.id)
        if isClaimed, account.hasPassword { change.announce(.passwordChanged(by: .policy), of: account.id) }
        if isDisabling, account.status == .active {
            change.announce(.accountDisabled(by: .policy, .emailReclaimed), of: account.id)
        }
        // Not to the address itself: it is the new reader's.
        try await change.mail.notify(account.identities.map(\.mailbox).filter { $0 != account.email }, of: .emailTaken)
        try await change.record(.emailReclaimed, accountID: account.id)
    }
}
