package import Accounts
package import Postgres

/// A live session and the status of its account, as each authenticated call needs them.
package struct LiveSession: Sendable {
    package let session: Session
    package let accountStatus: Account.Status
}

/// `sessions`: one row per signed-in device.
///
/// ```
///   open ──▶ live ──refresh──▶ live, a generation later            ``RefreshLineage``
///              ├──end: ``SessionSelection``──▶ ended, with why ──7 days──▶ no row
///              └──its absolute end──▶ expired ──────swept────────────────▲
/// ```
package struct SessionStore: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    /// The session, if it is live.
    package func live(_ id: SessionID, by call: Call) async throws(PostgresError) -> LiveSession? {
        try await database.query(
            """
            SELECT \(SessionStore.liveColumns)
            FROM sessions s
            JOIN accounts a ON a.account_id = s.account_id
            WHERE s.session_id = \(id) AND s.ended_at IS NULL AND s.expires_at > \(call.now)
            """
        ) { row throws(PostgresError) in try LiveSession(id, row) }.first
    }

    static let liveColumns: SQL = """
        s.account_id, a.status, a.external_id, s.identity_id, s.auth_time, s.amr, s.created_at, s.expires_at, s.generation
        """

    /// Opens a session of an account that its password proved.
    ///
    /// - Parameter passwordHash: the hash that the password was compared with. Hashing takes long enough for the
    ///   password to change meanwhile; the lock makes this wait for a transaction that changes it.
    /// - Returns: `nil` when the account is no longer active, has another password by now, or was signed out everywhere
    ///   since its password was typed on an earlier call.
    package func open(
        _ newSession: NewSession, for accountID: AccountID, passwordHash: PasswordHash
    ) async throws(PostgresError) -> Account? {
        // A password of this call is compared with no time: the sign-out before it has that of another process's clock.
        let isCurrent: SQL =
            newSession.authenticatedAt < newSession.now
            ? "COALESCE(date_trunc('second', a.tokens_not_before) <= \(newSession.authenticatedAt), true)" : "true"
        let opened = try await database.execute(
            newSession.insertion(
                accountID: "a.account_id", identityID: "NULL",
                from: """
                    accounts a
                    WHERE a.account_id = \(accountID) AND a.status = 'active' AND a.password_hash = \(passwordHash)
                        AND \(isCurrent)
                    FOR SHARE OF a
                    """))
        guard opened == 1 else { return nil }
        return try await AccountStore.account(accountID, in: database)
    }

    /// Ends sessions of the account that `session` belongs to. A sign-out everywhere also ends what tokens were good for
    /// that the providers of the account's identities have issued until now: a captured one would open the next session.
    ///
    /// - Parameter event: recorded if any session was live.
    /// - Returns: whether any was.
    /// - Throws: `Refusal.sessionGone` when `session` was to end others and has ended itself.
    package func end(
        _ scope: RevocationScope, of session: Session, recording event: AuditEvent?, by call: Call
    ) async throws -> Bool {
        if scope == .current {
            return try await database.change(by: call) { change in
                try await change.sessions.end(.session(session.id), because: .signedOut, recording: event)
            }
        }
        return try await database.change(by: call) { change in
            if scope == .all {
                // Waits for the sign-ins that are under way, and ends what they open; later ones wait for this.
                try await change.accounts.lock("a.account_id = \(session.accountID)")
            }
            try await change.sessions.beginEndingOthers(in: session)
            let isEnded = try await change.sessions.end(
                .ofAccount(session.accountID, except: scope == .others ? session.id : nil), because: .signedOut,
                recording: event)
            if scope == .all {
                try await change.oauthGrants.end(allOf: session.accountID, because: .signedOut)
                try await change.identities.refuseTokens(issuedBefore: call.now, of: session.accountID)
            }
            return isEnded
        }
    }
}

extension LiveSession {
    /// - Parameter first: the first column of ``SessionStore/liveColumns``, which end the row.
    init(_ id: SessionID, _ row: PostgresRow, from first: Int = 0) throws(PostgresError) {
        var columns = row.columns(from: first)
        let account: AccountID = try columns.next()
        accountStatus = try columns.next()
        session = Session(
            id: id, accountID: account, externalID: try columns.next(), identityID: try columns.next(),
            authenticatedAt: try columns.next(),
            methods: try columns.next([String].self).compactMap(AuthenticationMethod.init),
            createdAt: try columns.next(), expiresAt: try columns.next(), generation: try columns.next())
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

extension Change.Sessions {
    /// Ends sessions, and records it in the same statement.
    ///
    /// - Returns: whether any was live.
    @discardableResult
    func end(
        _ sessions: SessionSelection, because reason: SessionEndReason, recording event: AuditEvent? = nil
    ) async throws(PostgresError) -> Bool {
        try await end(sessions.condition(at: now), because: reason, recording: event) > 0
    }

    /// - Parameter condition: on `sessions`, named `s`; of those that meet it the live ones end. One that has expired and was
    ///   not swept yet is marked too, and is no event.
    /// - Returns: how many were live.
    func end(
        _ condition: SQL, because reason: SessionEndReason, recording event: AuditEvent? = nil
    ) async throws(PostgresError) -> Int {
        let recording: SQL =
            if let event {
                ", recorded AS (\(AuditTrail.insertion(event, by: call)) WHERE EXISTS (SELECT FROM ended))"
            } else {
                ""
            }
        let ended = try await change.query(
            """
            WITH ended AS (
                UPDATE sessions s
                SET ended_at = \(now), end_reason = \(reason.rawValue)
                WHERE \(condition) AND s.ended_at IS NULL
                RETURNING s.session_id, s.account_id, s.expires_at
            )\(recording)
            SELECT account_id, session_id FROM ended WHERE expires_at > \(now) ORDER BY account_id, session_id
            """, as: AccountID.self, SessionID.self)
        for (account, sessions) in Dictionary(grouping: ended, by: \.0) {
            change.announce(
                .sessionRevoked(
                    Array(sessions.map(\.1).prefix(AccountEvent.namedSessions)), count: sessions.count,
                    by: reason.cause ?? cause), of: account)
        }
        return ended.count
    }

    /// Opens a session of an account that this change has locked, or made, without an identity.
    func open(_ newSession: NewSession, for accountID: AccountID) async throws(PostgresError) {
        _ = try await change.execute(
            newSession.insertion(
                accountID: "a.account_id", identityID: "NULL",
                from: "accounts a WHERE a.account_id = \(accountID)"))
    }

    /// What a session begins with that is to end others of its account.
    ///
    /// - Throws: `Refusal.sessionGone` when it has ended, as by one of those.
    func beginEndingOthers(in session: Session) async throws {
        // A transaction that changes the account holds a lock on one of its sessions and goes on to end others, so this waits
        // for it here, and sees what it has ended by the next statement. Sign-ins don't wait for this lock.
        _ = try await change.execute("SELECT FROM accounts WHERE account_id = \(session.accountID) FOR NO KEY UPDATE")
        guard try await isLive(session.id, of: session.accountID) else { throw Refusal.sessionGone }
    }

    /// Whether a session is still live; if so, it stays live until the transaction ends.
    func isLive(_ id: SessionID, of accountID: AccountID) async throws(PostgresError) -> Bool {
        try await change.execute(
            """
            SELECT FROM sessions
            WHERE session_id = \(id) AND account_id = \(accountID) AND ended_at IS NULL AND expires_at > \(now)
            FOR SHARE
            """) == 1
    }

    /// Whether its person authenticated so recently that it authorizes what others don't.
    func isFresh(_ id: SessionID) async throws(PostgresError) -> Bool {
        let times = try await change.query(
            "SELECT auth_time FROM sessions WHERE session_id = \(id)", as: Timestamp.self)
        return times.first.map { now <= $0.advanced(bySeconds: Lifetimes.freshAuthenticationSeconds) } ?? false
    }
}
