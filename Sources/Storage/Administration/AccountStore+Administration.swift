package import Accounts
package import Postgres

/// The outcome of enabling an account.
package enum EnablingOutcome: Sendable {
    case enabled
    case notFound
    /// It has no sign-in method left: it needs an address.
    case emailRequired
    /// It has a sign-in method, so only its owner may give it an address.
    case emailNotAllowed
    case emailTaken
}

/// The outcome of detaching an identity from its account.
package enum DetachOutcome: Sendable {
    case detached
    case notFound
    case lastSignInMethod
}

/// An administrator's changes of an account. Each is recorded with who made it and why.
extension AccountStore {
    /// Disables the account and ends its sessions. If it is disabled already, the administrator's reason is recorded
    /// too, and takes the place of the earlier one.
    ///
    /// - Returns: whether there is such an account.
    package func disable(
        _ id: AccountID, reason: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            guard try await AccountStore.lock(id, in: transaction) != nil else { return false }
            _ = try await transaction.execute(
                """
                UPDATE accounts
                SET status = 'disabled', disabled_reason = 'administrator'
                WHERE account_id = \(id)
                """)
            try await SessionStore.end("s.account_id = \(id)", reason: .accountDisabled, at: now, in: transaction)
            try await OAuthGrantStore.end(
                allOf: id, because: .accountDisabled, at: now, from: origin, in: transaction)
            try await AuditTrail.record(
                AuditEvent(.accountDisabled, from: origin, accountID: id, reason: reason), at: now, in: transaction)
            return true
        }
    }

    /// Enables a disabled account.
    ///
    /// - Parameter email: the new address of an account that has no sign-in method left, because the verified owner of
    ///   its address took that. It counts as proven, for the administrator vouches for it: a code that is mailed there
    ///   signs in.
    package func enable(
        _ id: AccountID, email: EmailAddress?, reason: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> EnablingOutcome {
        do {
            return try await database.transaction(retries: 2) { transaction in
                guard let account = try await AccountStore.lock(id, in: transaction) else { return .notFound }
                guard !account.hasSignInMethod || email == nil else { return .emailNotAllowed }
                guard account.status == .disabled else { return .enabled }
                guard account.hasSignInMethod || email != nil else { return .emailRequired }
                _ = try await transaction.execute(
                    """
                    UPDATE accounts
                    SET status = 'active', disabled_reason = NULL
                    WHERE account_id = \(id)
                    """)
                if let email {
                    _ = try await transaction.execute(
                        """
                        UPDATE accounts
                        SET email = \(email.text), \(AccountStore.grading(.proven, .administrator))
                        WHERE account_id = \(id)
                        """)
                    try await EmailReplacementStore.end(
                        of: id, because: .accountEnabled, at: now, from: origin, in: transaction)
                }
                try await AuditTrail.record(
                    AuditEvent(.accountEnabled, from: origin, accountID: id, reason: reason), at: now, in: transaction)
                return .enabled
            }
        } catch let error as PostgresError where error.isUniqueViolation(of: "accounts_email_key") {
            return .emailTaken
        }
    }

    /// Ends all sessions of the account, and what the tokens were good for that its identities' providers have issued until
    /// now.
    ///
    /// - Returns: whether there is such an account.
    package func signOut(
        _ id: AccountID, reason: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            guard try await AccountStore.lock(id, in: transaction) != nil else { return false }
            try await IdentityStore.refuseTokens(issuedBefore: now, of: id, in: transaction)
            try await SessionStore.end("s.account_id = \(id)", reason: .administrator, at: now, in: transaction)
            try await OAuthGrantStore.end(allOf: id, because: .administrator, at: now, from: origin, in: transaction)
            try await AuditTrail.record(
                AuditEvent(.sessionsEnded, from: origin, accountID: id, reason: reason), at: now, in: transaction)
            return true
        }
    }

    /// Detaches an identity from its account and leaves its authorization at the provider alone; its grants are deleted
    /// here. The last sign-in method of an active account stays.
    package func detach(
        _ id: IdentityID, reason: String?, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> DetachOutcome {
        try await database.transaction(retries: 2) { transaction in
            let owners = try await transaction.query(
                "SELECT account_id FROM identities WHERE identity_id = \(id)"
            ) { row throws(PostgresError) in try row.decode(AccountID.self) }
            guard let owner = owners.first, let account = try await AccountStore.lock(owner, in: transaction),
                let identity = account.identities.first(where: { $0.id == id })
            else { return .notFound }
            guard account.hasSignInMethod(besides: id) || account.status == .disabled else { return .lastSignInMethod }
            try await SessionStore.end("s.identity_id = \(id)", reason: .identityUnlinked, at: now, in: transaction)
            _ = try await transaction.execute("DELETE FROM provider_grants WHERE identity_id = \(id)")
            _ = try await transaction.execute("DELETE FROM identities WHERE identity_id = \(id)")
            try await AuditTrail.record(
                AuditEvent(
                    .identityDetached, from: origin, accountID: owner, identityID: id,
                    provider: identity.key.provider, reason: reason), at: now, in: transaction)
            return .detached
        }
    }

    /// Lets an identity sign in that a provider's event has blocked. A later event may block it again. One that is not
    /// blocked stays as it is.
    ///
    /// - Returns: whether there is such an identity.
    package func unblock(
        _ id: IdentityID, reason: String, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> Bool {
        try await database.transaction(retries: 2) { transaction in
            let unblocked = try await transaction.query(
                """
                UPDATE identities
                SET blocked_at = NULL, block_reason = NULL
                WHERE identity_id = \(id) AND blocked_at IS NOT NULL
                RETURNING account_id, provider
                """
            ) { row throws(PostgresError) in try row.decode(AccountID.self, Provider.self) }
            guard let (accountID, provider) = unblocked.first else {
                return try await transaction.execute("SELECT FROM identities WHERE identity_id = \(id)") == 1
            }
            try await AuditTrail.record(
                AuditEvent(
                    .identityUnblocked, from: origin, accountID: accountID, identityID: id, provider: provider,
                    reason: reason), at: now, in: transaction)
            return true
        }
    }
}

extension SessionStore {
    /// Ends one live session of any account.
    ///
    /// - Returns: whether there is one.
    package func end(
        _ id: SessionID, reason: String?, at now: Timestamp, from origin: ChangeOrigin
    ) async throws(PostgresError) -> Bool {
        let owners = try await database.query("SELECT account_id FROM sessions WHERE session_id = \(id)") {
            row throws(PostgresError) in try row.decode(AccountID.self)
        }
        guard let owner = owners.first else { return false }
        return try await SessionStore.end(
            "s.session_id = \(id) AND s.expires_at > \(now)", reason: .administrator,
            recording: AuditEvent(.sessionsEnded, from: origin, accountID: owner, sessionID: id, reason: reason),
            at: now, in: database)
    }
}
