package import Accounts
package import Postgres

/// The outcome of a request for another address.
package enum EmailChangeRequest: Sendable {
    case done
    /// It was asked for before, and no code was made for it now. Nothing was changed; the code may have been mailed again.
    case repeated
    /// A code has to be made for it, and an allowance drawn before. Nothing was changed.
    case needsAllowance
}

/// The changes that an account's owner makes.
extension AccountStore {
    /// Deletes pending addresses that were never proven.
    package func deleteExpiredPendingEmails(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            UPDATE accounts
            SET \(AccountStore.droppingPendingEmail)
            WHERE account_id = ANY (ARRAY(
                SELECT account_id
                FROM accounts
                WHERE pending_email IS NOT NULL AND pending_email_expires_at < \(time)
                LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED))
            """)
    }

    /// Renames the account of a session, which has to be live still: a name of before may be what its end takes away.
    ///
    /// - Parameter event: recorded with the change.
    package func rename(
        accountOf session: Session, to name: DisplayName?, by call: Call, recording event: AuditEvent?
    ) async throws -> Account {
        try await database.change(by: call) { change in
            var account = try await change.accounts.lock(of: session)
            _ = try await change.execute(
                "UPDATE accounts SET display_name = \(name?.text) WHERE account_id = \(account.id)")
            if let event { try await change.record(event) }
            account.displayName = name
            return account
        }
    }

    /// - Parameter event: recorded with the change.
    /// - Returns: `nil` when there is no such account.
    package func rename(
        _ id: AccountID, to name: DisplayName?, by call: Call, recording event: AuditEvent?
    ) async throws -> Account? {
        try await database.change(by: call) { change in
            let renamed = try await change.execute(
                "UPDATE accounts SET display_name = \(name?.text) WHERE account_id = \(id)")
            guard renamed == 1 else { return nil }
            if let event { try await change.record(event) }
            return try await AccountStore.account(id, in: change)
        }
    }

    /// The stored hash of the account's password.
    package func passwordHash(of id: AccountID) async throws(PostgresError) -> PasswordHash? {
        try await database.query(
            "SELECT password_hash FROM accounts WHERE account_id = \(id)", as: PasswordHash?.self
        ).first ?? nil
    }

    /// Sets the password, and ends all sessions but this. A pending change or replacement of the address ends too, and what
    /// proved the account by its address until now: the person who requested or showed it may be the reason for the new
    /// password. The identities that are linked go on signing in.
    ///
    /// - Parameter old: the hash that the current password was compared with; `nil` if there was none.
    package func changePassword(
        to passwordHash: PasswordHash, from old: PasswordHash?, in session: Session, by call: Call
    ) async throws {
        let id = session.accountID
        try await database.change(by: call) { change in
            let account = try await change.accounts.lock(of: session)
            let changed = try await change.execute(
                """
                UPDATE accounts
                SET password_hash = \(passwordHash), password_is_unused = false, \(AccountStore.droppingPendingEmail)
                WHERE account_id = \(id) AND password_hash IS NOT DISTINCT FROM \(old)
                """)
            guard changed == 1 else { throw Refusal.proofNoLongerValid }
            change.announce(.passwordChanged(by: .person), of: id)
            try await change.emailCodes.end(mailedTo: id)
            // With the codes goes what they have made of tickets.
            try await change.identities.refuseProofs(issuedBefore: call.now, of: id)
            try await change.sessions.end(.ofAccount(id, except: session.id), because: .passwordChanged)
            try await change.emailReplacements.end(of: id, because: .passwordChanged)
            try await change.record(.passwordChanged, accountID: id, sessionID: session.id)
            try await change.mail.notify([account.mailbox], of: .passwordChanged)
        }
    }

    /// Whether a password of the account was set in the session, as the audit trail has it.
    package func hasChangedPassword(in session: Session, since: Timestamp) async throws(PostgresError) -> Bool {
        let rows = try await database.query(
            """
            SELECT EXISTS (
                SELECT FROM audit_events
                WHERE account_id = \(session.accountID) AND created_at >= \(since)
                    AND type = \(AuditEvent.Kind.passwordChanged.rawValue) AND session_id = \(session.id))
            """, as: Bool.self)
        return rows.first ?? false
    }

    /// Whether the account was deleted, as the audit trail has it: not one that was merged, or that is not known.
    package func isDeleted(_ id: AccountID) async throws(PostgresError) -> Bool {
        let rows = try await database.query(
            """
            SELECT EXISTS (
                SELECT FROM audit_events
                WHERE account_id = \(id) AND type = \(AuditEvent.Kind.accountDeleted.rawValue))
            """, as: Bool.self)
        return rows.first ?? false
    }

    /// Stores the address that is to become the account's, enqueues the mail with the code that proves it, and notifies
    /// the current address. Where the same is asked for again only the code is mailed again.
    ///
    /// - Parameter allowance: what was drawn for the request.
    package func requestEmail(
        _ request: EmailCodeRequest, allowance: EmailCodeAllowance?, in session: Session, by call: Call
    ) async throws -> EmailChangeRequest {
        let (id, email) = (session.accountID, request.code.email)
        return try await database.change(by: call) { change in
            let account = try await change.accounts.lock(of: session)
            let decision = try await change.emailCodes.request(request, allowance: allowance)
            guard decision != .needsAllowance else { return .needsAllowance }
            let pending = account.email == email ? nil : email
            // Without an allowance no code is made, nor mailed for the first time.
            if decision == .nothing || allowance == nil, try await change.accounts.pendingEmail(of: id) == pending {
                return .repeated
            }
            let expiresAt = call.now.advanced(bySeconds: Lifetimes.pendingEmailSeconds)
            _ = try await change.execute(
                """
                UPDATE accounts
                SET pending_email = \(pending?.text), pending_email_expires_at = \(pending == nil ? nil : expiresAt)
                WHERE account_id = \(id)
                """)
            guard pending != nil else { return .done }
            try await change.record(.emailChangeRequested, accountID: id, sessionID: session.id)
            try await change.mail.notify([account.mailbox], of: .emailChangeRequested)
            return .done
        }
    }

    /// The addresses that a code for *verify-email* is mailed to: the pending one, and the account's own if it is not proven.
    package func unprovenEmails(of id: AccountID, by call: Call) async throws(PostgresError) -> [EmailAddress] {
        try await AccountStore.unprovenEmails(of: id, by: call, in: database)
    }

    fileprivate static func unprovenEmails(
        of id: AccountID, by call: Call, in session: some PostgresSession
    ) async throws(PostgresError) -> [EmailAddress] {
        let rows = try await session.query(
            """
            SELECT CASE WHEN pending_email_expires_at > \(call.now) THEN pending_email END,
                CASE WHEN (\(AccountRow.proof)) <> \(EmailProof.proven.rawValue) THEN email END
            FROM accounts a
            WHERE account_id = \(id)
            """, as: EmailAddress?.self, EmailAddress?.self)
        guard let (pending, own) = rows.first else { return [] }
        return [pending, own].compactMap(\.self)
    }

    /// Marks the account's address as proven, or puts the pending one in its place, in a session of the account. The code's
    /// address says which; while the account's own is proven a change to another one goes on.
    ///
    /// Unlike a mailed code that signs in, it establishes no new owner: the holder of the session reads the mailbox
    /// too, so the password, the sessions and the identities stay. No other address is needed then, so a pending
    /// replacement ends.
    package func verifyEmail(by code: EmailCode, in session: Session, by call: Call) async throws {
        try await database.changeTakingAddress(by: call) { change in
            try await change.accounts.verifyEmail(by: code, in: session)
        }
    }
}

extension Change.Accounts {
    fileprivate func pendingEmail(of id: AccountID) async throws(PostgresError) -> EmailAddress? {
        let pending = try await change.query(
            "SELECT pending_email FROM accounts WHERE account_id = \(id) AND pending_email_expires_at > \(now)",
            as: EmailAddress?.self)
        return pending.first ?? nil
    }

    fileprivate func verifyEmail(by code: EmailCode, in session: Session) async throws {
        // Together with the account that holds the address.
        try await lock("a.account_id = \(session.accountID) OR a.email = \(code.email.text)")
        let account = try await lock(of: session)
        let unproven = try await AccountStore.unprovenEmails(of: account.id, by: call, in: change)
        guard unproven.contains(code.email), try await change.emailCodes.consume(code) else { throw Refusal.codeGone }
        let isOwn = account.email == code.email
        if isOwn, unproven.count > 1 {
            // When the change was asked for, the address had no proof, and so no notice.
            try await change.mail.notify([code.email], of: .emailChangeRequested)
        }
        if !isOwn {
            try await free(code.email)
            try await change.mail.notify([account.mailbox], of: .emailChanged)
        }
        let endingChange: SQL = isOwn ? "" : "\(AccountStore.droppingPendingEmail),"
        let kept = try await change.query(
            """
            UPDATE accounts
            SET email = \(code.email.text), \(endingChange)
                \(AccountStore.droppingUnusedPassword)
                \(AccountStore.grading(.proven, .mailedCode))
            WHERE account_id = \(account.id)
            RETURNING password_hash IS NOT NULL
            """, as: Bool.self)
        change.announce(.emailChanged(.proven, by: .person), of: account.id)
        if account.hasPassword, kept == [false] { change.announce(.passwordChanged(by: .policy), of: account.id) }
        try await change.emailReplacements.end(of: account.id, because: .emailProven)
        try await change.record(isOwn ? .emailVerified : .emailChanged, accountID: account.id, sessionID: session.id)
    }

    /// Takes the address, whose mailbox has just been proven, from an account that has it without a proof.
    fileprivate func free(_ email: EmailAddress) async throws {
        let holders = try await change.query(
            "SELECT account_id FROM accounts WHERE email = \(email.text) FOR UPDATE", as: AccountID.self)
        guard let holder = holders.first, let account = try await lock(holder) else { return }
        guard AddressRule.outcome(of: .changeEmail, .mailedCode, holder: AddressHolder(account)) == .proveTaking else {
            throw Refusal.emailTaken
        }
        try await takeEmail(from: account)
    }
}
