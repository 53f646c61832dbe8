package import Accounts
package import Postgres

/// A live session and the status of its account, as each authenticated call needs them.
package struct LiveSession: Sendable {
    package let session: Session
    package let accountStatus: Account.Status
    let lineage: RefreshLineage
}

/// The outcome of a refresh with an authentic refresh token.
package enum RefreshOutcome: Sendable {
    /// Answer with the token of `session.generation`.
    case renewed(Session)
    /// A superseded token was used again; the session has been ended.
    case reused(AccountID)
    case unknown
}

/// `sessions`: one row per signed-in device.
package struct SessionStore: Sendable {
    let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// The session, if it is live.
    package func live(_ id: SessionID, at now: Timestamp) async throws(PostgresError) -> LiveSession? {
        try await read(id, at: now)
    }

    /// Opens a session of an account that its password proved.
    ///
    /// - Parameter passwordHash: the hash that the password was compared with. Hashing takes long enough for the
    ///   password to change meanwhile; the lock makes this wait for a transaction that changes it.
    /// - Returns: `nil` when the account is no longer active or has another password by now.
    package func open(
        _ newSession: NewSession, for accountID: AccountID, passwordHash: String
    ) async throws(PostgresError) -> Account? {
        let opened = try await database.execute(
            newSession.insertion(
                accountID: "a.account_id", identityID: "NULL",
                from: """
                    accounts a
                    WHERE a.account_id = \(accountID) AND a.status = 'active' AND a.password_hash = \(passwordHash)
                    FOR SHARE OF a
                    """))
        guard opened == 1 else { return nil }
        return try await AccountStore.account(accountID, in: database)
    }

    /// Rotates, repeats, or ends on reuse, as ``RefreshLineage`` decides.
    ///
    /// The lineage is compared and swapped, so that a refresh holds no lock and no connection between its two
    /// statements; the loser of a race decides again on what the winner wrote.
    package func refresh(
        _ id: SessionID, generation presented: Int32, at now: Timestamp, expiresAt: Timestamp,
        from origin: ChangeOrigin
    ) async throws(PostgresError) -> RefreshOutcome {
        // Each lost race ages the presented token by one generation, so this ends after a few rounds.
        while let live = try await read(id, at: now), live.accountStatus == .active {
            switch live.lineage.presented(presented, at: now) {
            case .unknown:
                return .unknown
            case .reused:
                let accountID = live.session.accountID
                let event = AuditEvent(.refreshReused, from: origin, accountID: accountID, sessionID: id)
                try await SessionStore.end(
                    "s.session_id = \(id)", reason: .refreshReused, recording: event, at: now, in: database)
                return .reused(accountID)
            case .renewed(live.lineage):
                return .renewed(live.session)
            case .renewed(let renewed):
                let swapped = try await database.execute(
                    """
                    UPDATE sessions
                    SET generation = \(renewed.generation), parent_generation = \(renewed.parent),
                        rotated_at = \(renewed.rotatedAt), last_used_at = \(now), expires_at = \(expiresAt)
                    WHERE session_id = \(id) AND generation = \(live.lineage.generation)
                        AND parent_generation = \(live.lineage.parent) AND ended_at IS NULL
                    """)
                if swapped == 1 {
                    return .renewed(live.session.renewed(generation: renewed.generation, expiresAt: expiresAt))
                }
            }
        }
        return .unknown
    }

    /// Ends sessions of the account that `session` belongs to.
    package func end(
        _ scope: RevocationScope, of session: Session, at now: Timestamp, from origin: ChangeOrigin
    ) async throws {
        let event = AuditEvent(
            .signedOut, from: origin, accountID: session.accountID, sessionID: session.id, reason: scope.rawValue)
        let condition: SQL
        switch scope {
        case .current:
            try await SessionStore.end(
                "s.session_id = \(session.id)", reason: .signedOut, recording: event, at: now, in: database)
            return
        case .others: condition = "s.account_id = \(session.accountID) AND s.session_id <> \(session.id)"
        case .all: condition = "s.account_id = \(session.accountID)"
        }
        try await database.transaction(retries: 2) { transaction in
            // A transaction that changes the account holds a lock on one of its sessions and goes on to end others, so
            // this waits for it here. Sign-ins don't wait for this lock.
            _ = try await transaction.execute(
                "SELECT FROM accounts WHERE account_id = \(session.accountID) FOR NO KEY UPDATE")
            try await SessionStore.end(condition, reason: .signedOut, recording: event, at: now, in: transaction)
        }
    }

    /// Ends sessions and records it in one statement.
    ///
    /// - Returns: whether any was live.
    @discardableResult
    static func end(
        _ condition: SQL, reason: EndReason, recording event: AuditEvent, at now: Timestamp,
        in session: some PostgresSession
    ) async throws(PostgresError) -> Bool {
        try await session.execute(
            """
            WITH ended AS (
                \(SessionStore.ending(condition, reason: reason, at: now))
                RETURNING s.session_id
            )
            \(AuditTrail.insertion(event, at: now))
            WHERE EXISTS (SELECT FROM ended)
            """) == 1
    }

    /// The reason for which a session ended.
    package enum EndReason: String, CaseIterable {
        case signedOut = "signed_out"
        case refreshReused = "refresh_reused"
        case emailReclaimed = "email_reclaimed"
        case identityUnlinked = "identity_unlinked"
        case identityReplaced = "identity_replaced"
        case authorizationRevoked = "authorization_revoked"
        case providerEvent = "provider_event"
        case emailProven = "email_proven"
        case passwordChanged = "password_changed"
        case passwordReset = "password_reset"
        case accountMerged = "account_merged"
        case accountDisabled = "account_disabled"
        case administrator
    }

    static func end(
        _ condition: SQL, reason: EndReason, at now: Timestamp, in session: some PostgresSession
    ) async throws(PostgresError) {
        _ = try await session.execute(ending(condition, reason: reason, at: now))
    }

    private static func ending(_ condition: SQL, reason: EndReason, at now: Timestamp) -> SQL {
        """
        UPDATE sessions s
        SET ended_at = \(now), end_reason = \(reason.rawValue)
        WHERE \(condition) AND s.ended_at IS NULL
        """
    }

    /// Whether a session is still live; if so, it stays live until the transaction ends.
    static func isLive(
        _ id: SessionID, of accountID: AccountID, at now: Timestamp, in transaction: Transaction
    ) async throws(PostgresError) -> Bool {
        try await transaction.execute(
            """
            SELECT FROM sessions
            WHERE session_id = \(id) AND account_id = \(accountID) AND ended_at IS NULL AND expires_at > \(now)
            FOR SHARE
            """) == 1
    }

    private func read(_ id: SessionID, at now: Timestamp) async throws(PostgresError) -> LiveSession? {
        let rows = try await database.query(
            """
            SELECT s.account_id, s.identity_id, s.generation, s.parent_generation, s.rotated_at, s.auth_time, s.amr,
                s.created_at, s.expires_at, a.status
            FROM sessions s
            JOIN accounts a ON a.account_id = s.account_id
            WHERE s.session_id = \(id) AND s.ended_at IS NULL AND s.expires_at > \(now)
            """
        ) { row throws(PostgresError) in
            let (account, identity, generation, parent, rotated, authTime, amr, created, expires, status) =
                try row.decode(
                    AccountID.self, IdentityID?.self, Int32.self, Int32.self, Timestamp.self, Timestamp.self,
                    [String].self, Timestamp.self, Timestamp.self, Account.Status.self)
            let session = Session(
                id: id, accountID: account, identityID: identity, authenticatedAt: authTime,
                methods: amr.compactMap(AuthenticationMethod.init), createdAt: created, expiresAt: expires,
                generation: generation)
            return LiveSession(
                session: session, accountStatus: status,
                lineage: RefreshLineage(generation: generation, parent: parent, rotatedAt: rotated))
        }
        return rows.first
    }
}

extension NewSession {
    /// The statement that opens the session and records it, so no session exists without its audit record. It affects
    /// one row if it opened a session. The record has the session's own id, as there is one of each.
    ///
    /// - Parameter source: what follows `FROM`; the two expressions refer to it. One row, or none for no session.
    func insertion(accountID: SQL, identityID: SQL, from source: SQL) -> SQL {
        """
        WITH opened AS (
            INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, provider_auth_time, amr,
                device_name, device_platform, ip, created_at, last_used_at, expires_at)
            SELECT \(id), \(accountID), \(identityID), \(now), \(authenticatedAt), \(providerAuthenticatedAt),
                \(methods.map(\.rawValue)), \(device?.name), \(device?.platform), \(address), \(now), \(now),
                \(expiresAt)
            FROM \(source)
            RETURNING session_id, account_id, identity_id
        )
        INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, session_id, reason, request_id,
            network, created_at)
        SELECT session_id, 'signed_in', 'person', account_id, identity_id, session_id, \(amr), \(requestID),
            \(network), \(now)
        FROM opened
        """
    }
}
