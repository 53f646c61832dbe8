package import Accounts
package import KeyRing
package import Postgres

/// What a new account is made for.
package enum FirstAccess: Sendable {
    /// Its person is signed in.
    case session(NewSession)
    /// A client of the OAuth server has asked for it and gets the tokens; no session is opened.
    case client(NewOAuthLink)

    fileprivate var birth: AccountEvent.Birth {
        switch self {
        case .session: .create
        case .client: .streamlined
        }
    }
}

/// `link_tickets`, and the two transactions that spend one.
///
/// ```
///   issue ──▶ open ──create, bind────────▶ consumed ──swept, unlinked──▶ no row
///              ├──10 minutes, newer ones──▶ expired ──swept──────────────▲
///              └──cancel─────────────────────────────────────────────────┘
///   An unspent grant of it goes to the person's identity, to a revocation, or is deleted.
/// ```
///
/// The transaction that spends a ticket consumes it first; a later refusal rolls that back, so a refused *create* or
/// *bind* leaves the ticket usable, with its grant.
package struct LinkStore: Sendable {
    let database: Database
    let keyRing: KeyRing

    package init(database: Database, keyRing: KeyRing) {
        self.database = database
        self.keyRing = keyRing
    }

    /// Creates an account for the ticket's identity, with what it is made for.
    package func create(
        _ hash: SecretHash, accountID: AccountID, identityID: IdentityID, name: NewAccountName, for access: FirstAccess,
        by call: Call
    ) async throws -> Account {
        do {
            return try await database.changeTakingAddress(by: call) { change in
                let ticket = try await change.links.consume(hash)
                let identity = ticket.identity
                let address = identity.email?.address
                let evidence = ticket.evidence(of: address).evidence
                var holder: Account?
                if let address, evidence != .none { holder = try await change.accounts.lockHolder(of: address) }
                let decision = Linking.decideCreate(address, evidence, holder: holder)
                let email = try await change.links.execute(decision)
                _ = try await change.execute(
                    """
                    INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source,
                        display_name, created_at)
                    VALUES (\(accountID), \(email?.address.text), \(email.map { $0.proof >= .stated } ?? false),
                        \((email?.proof ?? .stated).rawValue), \(email?.source.rawValue),
                        \(name.chosen(over: ticket.displayName)?.text), \(call.now))
                    """)
                change.announce(.accountCreated(by: access.birth), of: accountID)
                // Unless a mailed code proved the address, the owner of the mailbox is notified and can contest it.
                try await change.mail.notify(
                    [evidence == .mailedCode ? nil : email?.address], of: .accountCreated,
                    provider: identity.key.provider)
                let account = try await change.links.link(ticket, hash, as: identityID, to: accountID)
                if case .session(let newSession) = access {
                    try await change.links.open(newSession, by: identityID)
                }
                try await change.record(
                    .accountCreated, accountID: accountID, identityID: identityID, provider: identity.key.provider)
                if case .client(let link) = access {
                    try await change.oauthGrants.issue(link, for: account)
                }
                return account
            }
        } catch Refusal.emailTaken {
            // By the same person on another device, or by another account.
            guard let ticket = try await open(hash, by: call) else { throw Refusal.ticketExpired }
            throw try await isLinked(ticket.identity.key) ? Refusal.identityAlreadyLinked : .emailTaken
        }
    }

    private func isLinked(_ key: IdentityKey) async throws(PostgresError) -> Bool {
        let rows = try await database.query(
            "SELECT EXISTS (SELECT FROM identities WHERE \(key.condition))", as: Bool.self)
        return rows.first ?? false
    }
}

extension Change {
    var links: Links { Links(change: self) }
    struct Links: ChangeView { let change: Change }
}

extension Change.Links {
    fileprivate func execute(_ decision: CreateDecision) async throws -> ProvenEmail? {
        switch decision {
        case .create(let email):
            return email
        case .refusedEmailTaken:
            throw Refusal.emailTaken
        case .createTaking(let email, let loser):
            try await change.accounts.takeEmail(from: loser)
            return email
        }
    }

    /// Inserts the identity, and moves the person's grants to it.
    ///
    /// - Returns: the account, with this identity alone.
    /// - Throws: `Refusal.identityAlreadyLinked`; `Refusal.ticketExpired` when its token was refused and the identity was
    ///   unlinked just now.
    @discardableResult
    func link(
        _ ticket: LinkTicket, _ hash: SecretHash, as identityID: IdentityID, to accountID: AccountID
    ) async throws -> Account {
        let identity = ticket.identity
        let email = identity.email
        // Also the grants of the person's other tickets: Google issues a refresh token for the first code alone, and
        // its ticket need not be the one that is spent.
        let grants: SQL = "provider_grants WHERE \(identity.key.condition) AND ticket_hash IS NOT NULL"
        let rows = try await change.query(
            """
            WITH i AS (
                INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                    is_private_email, last_sign_in_at, proven_at, created_at, authorization_status)
                SELECT \(identityID), \(accountID), \(identity.key.provider.rawValue), \(identity.key.realm.text),
                    \(identity.key.subject.text), \(email?.address.text), \(email?.isVerified ?? false),
                    \(email?.isPrivateRelay ?? false), \(now), \(identity.authenticatedAt), \(now),
                    CASE WHEN EXISTS (SELECT FROM \(grants)) THEN 'active' ELSE 'none' END
                ON CONFLICT (provider, realm, subject) DO NOTHING
                RETURNING *
            )
            SELECT \(AccountRow.columns)
            FROM accounts a, i
            WHERE a.account_id = \(accountID)
            """
        ) { row throws(PostgresError) in try AccountRow(row) }
        guard let account = AccountRow.account(rows) else { throw Refusal.identityAlreadyLinked }
        try await remember(identity, as: identityID)
        change.announce(.identityLinked(identityID, identity.key.provider, by: cause), of: accountID)
        if account.identities.first?.authorization == .active {
            _ = try await change.execute(
                """
                UPDATE provider_grants
                SET identity_id = \(identityID), ticket_hash = NULL
                WHERE grant_id IN (
                    SELECT DISTINCT ON (client_id) grant_id
                    FROM \(grants)
                    ORDER BY client_id, (ticket_hash = \(hash)) DESC, created_at DESC)
                """)
        }
        return account
    }

    /// Writes what is remembered of an identity that was just inserted. The insert may have waited for a transaction that
    /// unlinked it, and has seen nothing of what that kept; this is a statement of its own.
    ///
    /// - Throws: `Refusal.ticketExpired` when that refuses the token.
    private func remember(_ identity: VerifiedIdentity, as id: IdentityID) async throws {
        let isOutdated = IdentityStore.isOutdated(
            issuedAt: "\(identity.issuedAt)", authenticatedAt: "\(identity.authenticatedAt)")
        let refusals = try await change.query(
            """
            UPDATE identities i
            SET not_before = m.not_before, auth_not_before = m.auth_not_before
            FROM \(IdentityStore.remembered(of: identity.key)) m
            WHERE i.identity_id = \(id) AND m.not_before IS NOT NULL
            RETURNING COALESCE(\(isOutdated), false)
            """, as: Bool.self)
        guard refusals.first != true else { throw Refusal.ticketExpired }
    }

    /// Opens a session of the account that the identity is linked to.
    func open(_ newSession: NewSession, by identityID: IdentityID) async throws(PostgresError) {
        _ = try await change.execute(
            newSession.insertion(
                accountID: "i.account_id", identityID: "i.identity_id",
                from: """
                    identities i
                    WHERE i.identity_id = \(identityID)
                    """))
    }
}
