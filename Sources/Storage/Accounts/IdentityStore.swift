package import Accounts
package import Postgres

/// The outcome of a sign-in with a known or unknown identity.
package enum IdentitySignIn: Sendable {
    case unknown
    case disabled(AccountID, IdentityID)
    /// The provider has disabled the identity's account there. The account here may be open by other ways.
    case blocked(AccountID, IdentityID)
    /// What was issued before some moment counts no more for the identity, and the token was.
    case outdated(AccountID, IdentityID)
    /// The new session has been inserted.
    case signedIn(Account, IdentityID)

    /// What the trail has of it; `nil` where the identity is unknown.
    ///
    /// - Parameter newSession: the session that was to be opened.
    package func event(at provider: Provider, _ newSession: NewSession) -> AuditEvent? {
        var event: AuditEvent
        switch self {
        case .unknown: return nil
        case .disabled(let accountID, let identityID), .blocked(let accountID, let identityID):
            event = AuditEvent(.credentialRejected, by: .person, accountID: accountID, identityID: identityID)
            event.reason = "account_disabled"
        case .outdated(let accountID, let identityID):
            event = AuditEvent(.credentialRejected, by: .person, accountID: accountID, identityID: identityID)
            event.reason = "expired"
        case .signedIn(let account, let identityID):
            event = AuditEvent(.signedIn, by: .person, accountID: account.id, identityID: identityID)
            event.sessionID = newSession.id
            event.reason = newSession.amr
        }
        event.provider = provider
        event.requestID = newSession.requestID
        event.network = newSession.network
        return event
    }
}

/// `identities`: the account of each provider subject.
///
/// ```
///   authorization_status:  none ──code exchanged──▶ active ──unlink, revoke──▶ revoking ──done──▶ revoked
///                                                     └──the provider says so───────────────────────▲
///   row:  link, create ──▶ linked ──move──▶ another account's       unlink, delete, a provider's event ──▶ no row
/// ```
package struct IdentityStore: Sendable {
    private let signIns: StatementBatcher<SignInAttempt, Result<IdentitySignIn, PostgresError>>

    package init(database: Database) {
        signIns = StatementBatcher(timeout: database.configuration.acquireTimeout) {
            (attempts, lockWait) throws(PostgresError) in
            @Sendable func signIn() async throws(PostgresError) -> [Result<IdentitySignIn, PostgresError>] {
                try await database.run(lockWait) { session throws(PostgresError) in
                    try await IdentityStore.signIn(attempts, lockWait, in: session)
                }
            }
            do throws(PostgresError) {
                let answers = try await signIn()
                // An identity that was moved to another account while this waited for it, alone, is not in the row that was
                // found before: the next look-up finds it there.
                guard lockWait == .waited, case .success(.unknown)? = answers.first else { return answers }
            } catch {
                // An identity was unlinked between the look-up and the reference to it: the next look-up misses it. Or
                // two statements waited for each other, because locking a row also locks its newer versions, one after
                // the other.
                guard error.isForeignKeyViolation || error.isSerializationFailure else { throw error }
            }
            return try await signIn()
        }
    }

    /// Looks the identity up, updates it and opens its session, together with concurrent sign-ins.
    ///
    /// `last_sign_in_at` is written when it is an hour old, and the provider's email when it changed, so that the usual
    /// sign-in writes nothing but its session and the record of it. A token without an email changes nothing.
    ///
    /// - Parameter isRecorded: whether the outcome's event is written with it; else the caller counts it.
    package func signIn(
        _ identity: VerifiedIdentity, newSession: NewSession, isRecorded: Bool = true
    ) async throws(PostgresError) -> IdentitySignIn {
        try await signIns.answer(
            SignInAttempt(identity: identity, newSession: newSession, isRecorded: isRecorded)
        ).get()
    }

    private struct SignInAttempt: Sendable {
        let identity: VerifiedIdentity
        let newSession: NewSession
        let isRecorded: Bool
    }

    /// One statement for all attempts; `position` assigns its rows to their attempt.
    ///
    /// One plan serves all batches: materialized, the arrays hide their length from the planner, which would otherwise
    /// plan each batch separately; and a subquery with a limit is an index look-up for each attempt, whatever the
    /// planner estimates of the tables' sizes. An identity that another transaction is updating is skipped, not waited
    /// for: the next sign-in updates it, and so two statements can't deadlock.
    ///
    /// What becomes of each attempt is ``KnownIdentityDecision``, decided by the statement because it opens the sessions.
    private static func signIn(
        _ attempts: [SignInAttempt], _ lockWait: LockWait, in session: any PostgresSession
    ) async throws(PostgresError) -> [Result<IdentitySignIn, PostgresError>] {
        let keys = attempts.map(\.identity.key)
        let emails = attempts.map(\.identity.email)
        let newSessions = attempts.map(\.newSession)
        let rows = try await session.query(
            """
            WITH posted AS MATERIALIZED (
                SELECT \(keys.map(\.provider.rawValue)) AS providers, \(keys.map(\.realm.text)) AS realms,
                    \(keys.map(\.subject.text)) AS subjects, \(emails.map { $0?.address.text }) AS emails,
                    \(emails.map { $0?.isVerified ?? false }) AS verified_flags,
                    \(emails.map { $0?.isPrivateRelay ?? false }) AS private_flags,
                    \(newSessions.map(\.id)) AS session_ids, \(newSessions.map(\.now)) AS nows,
                    \(newSessions.map(\.authenticatedAt)) AS auth_times,
                    \(attempts.map(\.identity.issuedAt)) AS issue_times, \(newSessions.map(\.amr)) AS amrs,
                    \(newSessions.map(\.device?.name)) AS device_names,
                    \(newSessions.map(\.device?.platform)) AS device_platforms,
                    \(newSessions.map(\.address)) AS ips, \(newSessions.map(\.expiresAt)) AS expiry_times,
                    \(newSessions.map(\.requestID)) AS request_ids, \(newSessions.map(\.network)) AS networks,
                    \(attempts.map(\.isRecorded)) AS recorded_flags
            ), found AS (
                SELECT p.*, a.*
                FROM posted
                CROSS JOIN LATERAL unnest(providers, realms, subjects, emails, verified_flags, private_flags,
                    session_ids, nows, auth_times, issue_times, amrs, device_names, device_platforms, ips,
                    expiry_times, request_ids, networks, recorded_flags
                ) WITH ORDINALITY AS p (provider, realm, subject, stated_email, stated_email_verified,
                    stated_is_private_email, session_id, now, auth_time, issued_at, amr, device_name, device_platform,
                    ip, expires_at, request_id, network, is_recorded, position)
                CROSS JOIN LATERAL (
                    SELECT a.account_id, a.email, a.email_verified, a.email_proof, a.email_proof_source,
                        a.email_taken_at, a.display_name, a.status, a.created_at, a.password_hash, a.external_id,
                        CASE WHEN \(isOutdated(issuedAt: "p.issued_at", authenticatedAt: "p.auth_time")) THEN 'outdated'
                            WHEN i.blocked_at IS NOT NULL THEN 'blocked' ELSE a.status END AS outcome,
                        i.identity_id,
                        i.last_sign_in_at IS NULL OR i.last_sign_in_at <= p.now - interval '1 hour'
                            OR (p.stated_email IS NOT NULL
                                AND (i.email, i.email_verified, i.is_private_email) IS DISTINCT FROM
                                    (p.stated_email, p.stated_email_verified, p.stated_is_private_email))
                            OR i.credential_change_required_at <= p.auth_time AS is_due
                    FROM identities i
                    JOIN accounts a ON a.account_id = i.account_id
                    WHERE i.provider = p.provider AND i.realm = p.realm AND i.subject = p.subject
                    LIMIT 1
                    -- A transaction that ends the identity's sessions comes before this one, which sees what it wrote then,
                    -- or after. The session's foreign keys would take the same locks later. The account is locked first, as
                    -- everywhere.
                    FOR KEY SHARE OF a, i \(lockWait.clause)
                ) a
            ), touched AS (
                UPDATE identities i
                SET last_sign_in_at = f.now, proven_at = GREATEST(i.proven_at, f.auth_time),
                    email = COALESCE(f.stated_email, i.email),
                    email_verified =
                        CASE WHEN f.stated_email IS NULL THEN i.email_verified ELSE f.stated_email_verified END,
                    is_private_email =
                        CASE WHEN f.stated_email IS NULL THEN i.is_private_email ELSE f.stated_is_private_email END,
                    credential_change_required_at = CASE WHEN i.credential_change_required_at > f.auth_time
                        THEN i.credential_change_required_at END
                -- Sorted, so that all are found before the first is updated: a row that this statement has updated can't
                -- be locked any more, and a second attempt of the same person would find no row.
                FROM (SELECT * FROM found ORDER BY position) f
                CROSS JOIN LATERAL (
                    SELECT free.identity_id
                    FROM identities free
                    WHERE free.identity_id = f.identity_id
                    FOR NO KEY UPDATE SKIP LOCKED
                ) free
                WHERE f.is_due AND f.outcome = 'active' AND i.identity_id = free.identity_id
                RETURNING i.identity_id, i.email, i.email_verified, i.is_private_email, i.last_sign_in_at,
                    i.credential_change_required_at
            ), opened AS (
                INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, provider_auth_time, amr,
                    device_name, device_platform, ip, created_at, last_used_at, expires_at)
                SELECT f.session_id, f.account_id, f.identity_id, f.now, f.auth_time, f.auth_time,
                    string_to_array(f.amr, ' '), f.device_name, f.device_platform, f.ip, f.now, f.now, f.expires_at
                FROM found f
                WHERE f.outcome = 'active'
            ), recorded AS (
                INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, session_id, provider, reason,
                    request_id, network, created_at)
                SELECT f.session_id, CASE f.outcome WHEN 'active' THEN 'signed_in' ELSE 'credential_rejected' END,
                    'person', f.account_id, f.identity_id, CASE f.outcome WHEN 'active' THEN f.session_id END, f.provider,
                    CASE f.outcome WHEN 'active' THEN f.amr WHEN 'outdated' THEN 'expired' ELSE 'account_disabled' END,
                    f.request_id, f.network, f.now
                FROM found f
                WHERE f.is_recorded
            )
            SELECT a.position, a.outcome, \(AccountRow.columns)
            FROM found a
            CROSS JOIN LATERAL (
                SELECT i.identity_id, i.provider, i.realm, i.subject, i.created_at, i.authorization_status,
                    i.email_deliverable, i.blocked_at, i.block_reason, i.notify_sign_in,
                    CASE WHEN t.identity_id IS NULL THEN i.email ELSE t.email END AS email,
                    COALESCE(t.email_verified, i.email_verified) AS email_verified,
                    COALESCE(t.is_private_email, i.is_private_email) AS is_private_email,
                    COALESCE(t.last_sign_in_at, i.last_sign_in_at) AS last_sign_in_at,
                    CASE WHEN t.identity_id IS NULL THEN i.credential_change_required_at
                        ELSE t.credential_change_required_at END AS credential_change_required_at
                FROM identities i
                LEFT JOIN touched t ON t.identity_id = i.identity_id
                WHERE i.account_id = a.account_id
                OFFSET 0
            ) i
            ORDER BY a.position, i.created_at, i.identity_id
            """
        ) { row throws(PostgresError) in
            let position = try Int(from: row[0])
            // A row that can't be read fails its own attempt: the others of the batch are signed in by now.
            return (position, Result { () throws(PostgresError) in try FoundAccount(row) })
        }
        let found = Dictionary(grouping: rows, by: \.0)
        var answers: [Result<IdentitySignIn, PostgresError>] = []
        for (index, attempt) in attempts.enumerated() {
            do throws(PostgresError) {
                var own: [FoundAccount] = []
                // PostgreSQL counts from 1.
                for (_, row) in found[index + 1] ?? [] { own.append(try row.get()) }
                answers.append(.success(answer(to: attempt, rows: own)))
            } catch {
                answers.append(.failure(await session.namingTable(of: error)))
            }
        }
        return answers
    }

    /// One row of the statement.
    private struct FoundAccount: Sendable {
        let outcome: KnownIdentityDecision
        let account: AccountRow

        init(_ row: PostgresRow) throws(PostgresError) {
            outcome = try KnownIdentityDecision(from: row[1])
            account = try AccountRow(row, from: 2)
        }
    }

    private static func answer(to attempt: SignInAttempt, rows: [FoundAccount]) -> IdentitySignIn {
        guard let outcome = rows.first?.outcome, let account = AccountRow.account(rows.map(\.account)),
            let linked = account.identities.first(where: { $0.key == attempt.identity.key })
        else { return .unknown }
        switch outcome {
        case .active: return .signedIn(account, linked.id)
        case .outdated: return .outdated(account.id, linked.id)
        case .disabled: return .disabled(account.id, linked.id)
        case .blocked: return .blocked(account.id, linked.id)
        }
    }
}

extension PostgresError {
    fileprivate var isForeignKeyViolation: Bool { code == .server(sqlState: "23503") }
}
