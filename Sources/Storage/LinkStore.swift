package import Accounts
package import Postgres

/// What *create* came to.
package enum CreateOutcome: Sendable {
    case created(Account)
    case ticketExpired
    case emailTaken
    case identityAlreadyLinked
}

/// Why an identity may be bound to an account. Looked at again by the transaction that binds: between a proof and its use
/// the account may have changed hands.
package enum BindGround: Sendable {
    /// A session of the account.
    case session(SessionID, of: AccountID)
    /// The account's password, known by what it was compared with.
    case password(hash: String, of: AccountID)
    /// No proof: the policy binds to the account that holds the identity's address.
    case verifiedEmail
}

/// What *bind* came to.
package enum BindOutcome: Sendable {
    case bound(Account)
    case ticketExpired
    /// The session has ended, the password has changed, or the policy no longer binds by the address.
    case groundGone
    case accountDisabled
    case identityAlreadyLinked
    /// The account has another identity of this provider and realm.
    case providerAlreadyLinked(Identity)
}

/// `link_tickets`, and the two transactions that spend one.
///
/// A ticket is consumed by the first statement of the transaction that uses it up; whatever refuses later rolls that
/// back, so a refused create or bind leaves the ticket good, and what its sign-in was granted with it.
package struct LinkStore: Sendable {
    let database: Database
    let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// Makes an account for the ticket's identity and signs it in.
    package func create(
        _ hash: [UInt8], accountID: AccountID, identityID: IdentityID, displayName: DisplayName?,
        opening: SessionOpening
    ) async throws -> CreateOutcome {
        try await create(
            hash, accountID: accountID, identityID: identityID, displayName: displayName, opening: opening,
            remainingTries: 2)
    }

    private func create(
        _ hash: [UInt8], accountID: AccountID, identityID: IdentityID, displayName: DisplayName?,
        opening: SessionOpening, remainingTries: Int
    ) async throws -> CreateOutcome {
        let now = opening.now
        do {
            return try await database.transaction(retries: 2) { transaction in
                guard let ticket = try await consume(hash, at: now, in: transaction) else {
                    throw Refusal.ticketExpired
                }
                let identity = ticket.identity
                if try await isLinked(identity.key, in: transaction) { throw Refusal.identityAlreadyLinked }
                var holder: EmailHolder?
                if let email = identity.email, email.isVerified {
                    holder = try await AccountStore.holder(
                        of: email.address, provider: identity.key.provider, realm: identity.key.realm,
                        in: transaction, locked: true)
                }
                let decision = Linking.decideCreate(identity.email, holder: holder)
                let (email, isVerified) = try await execute(decision, at: now, in: transaction)
                _ = try await transaction.execute(
                    """
                    INSERT INTO accounts (account_id, email, email_verified, display_name, created_at)
                    VALUES (\(accountID), \(email?.text), \(isVerified), \((displayName ?? ticket.displayName)?.text),
                        \(now))
                    """)
                return .created(
                    try await link(ticket, hash, as: identityID, to: accountID, opening: opening, in: transaction))
            }
        } catch Refusal.ticketExpired {
            return .ticketExpired
        } catch Refusal.identityAlreadyLinked {
            return .identityAlreadyLinked
        } catch Refusal.emailTaken {
            return try await conflict(over: hash, at: now)
        } catch let error as PostgresError where error.isUniqueViolation(of: "identities_subject_key") {
            return .identityAlreadyLinked
        } catch let error as PostgresError
            where error.isUniqueViolation(of: "accounts_email_key") && remainingTries > 0
        {
            // Somebody took the address after it was looked up. The next look finds them.
            return try await create(
                hash, accountID: accountID, identityID: identityID, displayName: displayName, opening: opening,
                remainingTries: remainingTries - 1)
        }
    }

    /// Who took the address while the create was under way: the same person on another device, or somebody else.
    private func conflict(over hash: [UInt8], at now: Timestamp) async throws(PostgresError) -> CreateOutcome {
        guard let ticket = try await open(hash, at: now) else { return .ticketExpired }
        return try await isLinked(ticket.identity.key, in: database) ? .identityAlreadyLinked : .emailTaken
    }

    /// Links the ticket's identity to an account and signs its owner in.
    ///
    /// - Parameter replacing: whether another identity of the provider gives way. By whom, for the audit trail.
    package func bind(
        _ hash: [UInt8], on ground: BindGround, identityID: IdentityID, replacing event: AuditEvent?,
        opening: SessionOpening
    ) async throws -> BindOutcome {
        let now = opening.now
        do {
            return try await database.transaction(retries: 2) { transaction in
                guard let ticket = try await consume(hash, at: now, in: transaction) else {
                    throw Refusal.ticketExpired
                }
                let identity = ticket.identity
                let accountID = try await account(on: ground, for: identity, at: now, in: transaction)
                guard let account = try await AccountStore.account(accountID, in: transaction),
                    account.status == .active
                else { throw Refusal.accountDisabled }
                if account.identities.contains(where: { $0.key == identity.key }) {
                    throw Refusal.identityAlreadyLinked
                }
                if let existing = account.identities.first(where: {
                    $0.key.provider == identity.key.provider && $0.key.realm == identity.key.realm
                }) {
                    guard let event else { throw Refusal.providerAlreadyLinked(existing) }
                    // A statement of its own: what a sign-in under way opens has to be seen by what ends it.
                    _ = try await transaction.execute(
                        "SELECT FROM identities WHERE identity_id = \(existing.id) FOR UPDATE")
                    try await AccountStore.unlink(
                        existing, reason: .identityReplaced, event: event, at: now, in: transaction)
                }
                if let name = ticket.displayName {
                    try await AccountStore.fillDisplayName(name, of: accountID, in: transaction)
                }
                return .bound(
                    try await link(ticket, hash, as: identityID, to: accountID, opening: opening, in: transaction))
            }
        } catch let refusal as Refusal {
            switch refusal {
            case .ticketExpired: return .ticketExpired
            case .groundGone: return .groundGone
            case .accountDisabled: return .accountDisabled
            case .providerAlreadyLinked(let existing): return .providerAlreadyLinked(existing)
            case .identityAlreadyLinked, .emailTaken: return .identityAlreadyLinked
            }
        } catch let error as PostgresError where error.isUniqueViolation(of: "identities_subject_key") {
            return .identityAlreadyLinked
        }
    }

    /// The account that the ground leads to, locked, if the ground still holds.
    private func account(
        on ground: BindGround, for identity: VerifiedIdentity, at now: Timestamp, in transaction: Transaction
    ) async throws -> AccountID {
        switch ground {
        case .password(let hash, let accountID):
            let holds = try await transaction.execute(
                """
                SELECT FROM accounts
                WHERE account_id = \(accountID) AND password_hash = \(hash)
                FOR NO KEY UPDATE
                """)
            guard holds == 1 else { throw Refusal.groundGone }
            return accountID
        case .session(let sessionID, let accountID):
            _ = try await transaction.execute(
                "SELECT FROM accounts WHERE account_id = \(accountID) FOR NO KEY UPDATE")
            let holds = try await transaction.execute(
                """
                SELECT FROM sessions
                WHERE session_id = \(sessionID) AND account_id = \(accountID) AND ended_at IS NULL
                    AND expires_at > \(now)
                FOR SHARE
                """)
            guard holds == 1 else { throw Refusal.groundGone }
            return accountID
        case .verifiedEmail:
            guard let candidate = identity.email?.candidate else { throw Refusal.groundGone }
            let holder = try await AccountStore.holder(
                of: candidate, provider: identity.key.provider, realm: identity.key.realm, in: transaction,
                locked: true)
            guard case .bindAutomatically(let accountID) = Linking.decide(identity, holder: holder, policy: .automatic)
            else { throw Refusal.groundGone }
            return accountID
        }
    }

    /// Rolls the transaction back, and with it the ticket's consumption.
    private enum Refusal: Error {
        case ticketExpired
        case emailTaken
        case groundGone
        case accountDisabled
        case identityAlreadyLinked
        case providerAlreadyLinked(Identity)
    }

    private func isLinked(
        _ key: IdentityKey, in session: some PostgresSession
    ) async throws(PostgresError) -> Bool {
        let rows = try await session.query(
            """
            SELECT EXISTS (
                SELECT FROM identities
                WHERE provider = \(key.provider.rawValue) AND realm = \(key.realm.text)
                    AND subject = \(key.subject.text))
            """
        ) { row throws(PostgresError) in try row.decode(Bool.self) }
        return rows.first ?? false
    }

    private func execute(
        _ decision: CreateDecision, at now: Timestamp, in transaction: Transaction
    ) async throws -> (EmailAddress?, Bool) {
        switch decision {
        case .create(let email, let isVerified):
            return (email, isVerified)
        case .refusedEmailTaken:
            throw Refusal.emailTaken
        case .createAndReclaim(let email, let loser, let disable):
            try await SessionStore.end(
                "s.account_id = \(loser)", reason: .emailReclaimed, at: now, in: transaction)
            _ = try await transaction.execute(
                """
                UPDATE accounts
                SET email = NULL, password_hash = NULL,
                    status = CASE WHEN \(disable) THEN 'disabled' ELSE status END,
                    disabled_reason = CASE
                        WHEN \(disable) AND status = 'active' THEN 'email_reclaimed' ELSE disabled_reason END
                WHERE account_id = \(loser)
                """)
            return (email, true)
        }
    }

    private func link(
        _ ticket: LinkTicket, _ hash: [UInt8], as identityID: IdentityID, to accountID: AccountID,
        opening: SessionOpening, in transaction: Transaction
    ) async throws -> Account {
        let identity = ticket.identity
        let email = identity.email
        _ = try await transaction.execute(
            """
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                is_private_email, last_sign_in_at, created_at)
            VALUES (\(identityID), \(accountID), \(identity.key.provider.rawValue), \(identity.key.realm.text),
                \(identity.key.subject.text), \(email?.address.text), \(email?.isVerified ?? false),
                \(email?.isPrivateRelay ?? false), \(opening.now), \(opening.now))
            """)
        try await LinkStore.lock(identity.key, in: transaction)
        // Also what other tickets of the person hold: Google gives a refresh token for the first code alone, and its
        // ticket need not be the one that is spent.
        let granted = try await transaction.execute(
            """
            UPDATE provider_grants
            SET identity_id = \(identityID), ticket_hash = NULL
            WHERE grant_id IN (
                SELECT DISTINCT ON (client_id) grant_id
                FROM provider_grants
                WHERE \(identity.key.condition) AND ticket_hash IS NOT NULL
                ORDER BY client_id, (ticket_hash = \(hash)) DESC, created_at DESC)
            """)
        if granted > 0 {
            _ = try await transaction.execute(
                "UPDATE identities SET authorization_status = 'active' WHERE identity_id = \(identityID)")
        }
        _ = try await transaction.execute(
            """
            \(opening.insertion(accountID: "i.account_id", identityID: "i.identity_id"))
            FROM identities i
            WHERE i.identity_id = \(identityID)
            """)
        guard let account = try await AccountStore.account(accountID, in: transaction) else {
            throw Refusal.accountDisabled
        }
        return account
    }
}
