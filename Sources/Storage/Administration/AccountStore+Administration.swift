package import Accounts
import Postgres

/// An administrator's changes of an account. Each is recorded with who made it and why.
extension AccountStore {
    /// Disables the account and ends its sessions. If it is disabled already, the administrator's reason is recorded
    /// too, and takes the place of the earlier one.
    package func disable(_ id: AccountID, reason: String, by call: Call) async throws {
        try await database.change(by: call) { change in
            guard let account = try await change.accounts.lock(id) else { throw Refusal.accountNotFound }
            try await change.accounts.disable(account, reason: reason)
        }
    }

    /// Enables a disabled account. One that is active, and has the address if one is given, stays as it is.
    ///
    /// - Parameter email: the new address of an account that has no sign-in method left, because the verified owner of
    ///   its address took that. It counts as proven, for the administrator vouches for it: a code that is mailed there
    ///   signs in.
    /// - Returns: whether it was disabled.
    package func enable(_ id: AccountID, email: EmailAddress?, reason: String, by call: Call) async throws -> Bool {
        do {
            return try await database.change(by: call) { change in
                guard let account = try await change.accounts.lock(id) else { throw Refusal.accountNotFound }
                // A request that is sent again brings the address that the account has by now.
                let isRepeated = account.status == .active && email == account.email
                guard !account.hasSignInMethod || email == nil || isRepeated else { throw Refusal.emailNotAllowed }
                guard account.status == .disabled else { return false }
                guard account.hasSignInMethod || email != nil else { throw Refusal.emailRequired }
                _ = try await change.execute(
                    "UPDATE accounts SET status = 'active', disabled_reason = NULL WHERE account_id = \(id)")
                change.announce(.accountEnabled(by: .admin), of: id)
                if let email {
                    _ = try await change.execute(
                        """
                        UPDATE accounts
                        SET email = \(email.text), \(AccountStore.grading(.proven, .administrator))
                        WHERE account_id = \(id)
                        """)
                    change.announce(.emailChanged(.proven, by: .admin), of: id)
                    try await change.emailReplacements.end(of: id, because: .accountEnabled)
                }
                try await change.record(.accountEnabled, accountID: id, reason: reason)
                return true
            }
        } catch let error as PostgresError where error.isUniqueViolation(of: "accounts_email_key") {
            throw Refusal.emailTaken
        }
    }

    /// Ends all sessions of the account, and what the tokens were good for that its identities' providers have issued until
    /// now.
    package func signOut(_ id: AccountID, reason: String, by call: Call) async throws {
        try await database.change(by: call) { change in
            guard try await change.accounts.lock(id) != nil else { throw Refusal.accountNotFound }
            try await change.accounts.endAccess(to: id, because: .administrator)
            try await change.record(.sessionsEnded, accountID: id, reason: reason)
        }
    }

    /// Detaches an identity from its account and leaves its authorization at the provider alone; its grants are deleted
    /// here. The last sign-in method of an active account stays.
    package func detach(_ id: IdentityID, reason: String?, by call: Call) async throws {
        try await database.change(by: call) { change in
            let (account, identity) = try await change.accounts.lock(ownerOf: id)
            guard account.hasSignInMethod(besides: id) || account.status == .disabled else {
                throw Refusal.lastSignInMethod
            }
            try await change.sessions.end(.openedBy(id), because: .identityUnlinked)
            _ = try await change.execute("DELETE FROM provider_grants WHERE identity_id = \(id)")
            try await change.accounts.deleteLink(
                of: identity, in: account.id, refusingTokensUntil: call.now, by: .admin)
            try await change.record(
                .identityDetached, accountID: account.id, identityID: id, provider: identity.key.provider,
                reason: reason)
        }
    }

    /// Lets an identity sign in that a provider's event has blocked. A later event may block it again. One that is not
    /// blocked stays as it is.
    package func unblock(_ id: IdentityID, reason: String, by call: Call) async throws {
        try await database.change(by: call) { change in
            let unblocked = try await change.query(
                """
                UPDATE identities
                SET blocked_at = NULL, block_reason = NULL
                WHERE identity_id = \(id) AND blocked_at IS NOT NULL
                RETURNING account_id, provider
                """, as: AccountID.self, Provider.self)
            guard let (accountID, provider) = unblocked.first else {
                guard try await change.execute("SELECT FROM identities WHERE identity_id = \(id)") == 1 else {
                    throw Refusal.identityNotFound
                }
                return
            }
            try await change.record(
                .identityUnblocked, accountID: accountID, identityID: id, provider: provider, reason: reason)
        }
    }
}

extension SessionStore {
    /// Ends one live session of any account.
    ///
    /// - Returns: whether there is one.
    package func end(_ id: SessionID, reason: String?, by call: Call) async throws -> Bool {
        let owners = try await database.query(
            "SELECT account_id FROM sessions WHERE session_id = \(id)", as: AccountID.self)
        guard let owner = owners.first else { return false }
        let event = AuditEvent(.sessionsEnded, from: call.origin, accountID: owner, sessionID: id, reason: reason)
        return try await database.change(by: call) { change in
            try await change.sessions.end(.live(id), because: .administrator, recording: event)
        }
    }
}

extension Change.Accounts {
    /// - Parameters:
    ///   - account: locked.
    ///   - reason: for the audit trail.
    func disable(_ account: Account, reason: String) async throws {
        _ = try await change.execute(
            """
            UPDATE accounts
            SET status = 'disabled', disabled_reason = 'administrator'
            WHERE account_id = \(account.id)
            """)
        if account.status == .active { change.announce(.accountDisabled(by: .admin), of: account.id) }
        // When it is enabled again, nothing of before counts.
        try await endAccess(to: account.id, because: .accountDisabled)
        try await change.record(.accountDisabled, accountID: account.id, reason: reason)
    }
}
