package import Accounts
package import KeyRing
package import Postgres

/// The outcome of *create*.
package enum CreateOutcome: Sendable {
    case created(Account)
    case ticketExpired
    case emailTaken
    case identityAlreadyLinked
}

/// What a new account is made for.
package enum FirstAccess: Sendable {
    /// Its person is signed in.
    case session(NewSession)
    /// A client of the OAuth server has asked for it, and gets the tokens; nobody is signed in.
    case client(NewOAuthLink)
}

/// `link_tickets`, and the two transactions that spend one.
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
        _ hash: [UInt8], accountID: AccountID, identityID: IdentityID, name: NewAccountName,
        for access: FirstAccess, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> CreateOutcome {
        for _ in 0..<AccountStore.triesForAddress {
            let outcome = try await createOnce(
                hash, accountID: accountID, identityID: identityID, name: name, for: access, at: now,
                from: origin)
            if let outcome { return outcome }
        }
        return try await conflict(over: hash, at: now)
    }

    /// - Returns: `nil` when the address was taken after it was looked up; the next attempt finds its holder.
    private func createOnce(
        _ hash: [UInt8], accountID: AccountID, identityID: IdentityID, name: NewAccountName,
        for access: FirstAccess, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> CreateOutcome? {
        do {
            return try await database.transaction(retries: 2) { transaction in
                guard let ticket = try await consume(hash, at: now, in: transaction) else {
                    throw Refusal.ticketExpired
                }
                let identity = ticket.identity
                if try await isLinked(identity.key, in: transaction) { throw Refusal.identityAlreadyLinked }
                let address = identity.email?.address
                let evidence = ticket.evidence(of: address).evidence
                var holder: Account?
                if let address, evidence != .none {
                    let locked = try await AccountStore.lock("a.email = \(address.text)", in: transaction)
                    holder = try await AccountStore.holder(of: address, in: transaction)
                    // The address was taken after the accounts were locked, and the decision needs a locked holder.
                    if let holder, !locked.contains(holder.id) { throw Refusal.holderChanged }
                }
                let decision = Linking.decideCreate(address, evidence, holder: holder)
                let email = try await execute(decision, at: now, from: origin, in: transaction)
                _ = try await transaction.execute(
                    """
                    INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source,
                        display_name, created_at)
                    VALUES (\(accountID), \(email?.address.text), \(email.map { $0.proof >= .stated } ?? false),
                        \((email?.proof ?? .stated).rawValue), \(email?.source.rawValue),
                        \(name.chosen(over: ticket.displayName)?.text), \(now))
                    """)
                // Where the provider's word alone gave it the address, its reader may have another opinion.
                try await MailStore.notify(
                    [evidence == .mailedCode ? nil : email?.address], of: .accountCreated,
                    provider: identity.key.provider, from: origin, at: now,
                    in: transaction)
                try await link(ticket, hash, as: identityID, to: accountID, at: now, in: transaction)
                if case .session(let newSession) = access {
                    try await open(newSession, by: identityID, in: transaction)
                }
                try await AuditTrail.record(
                    AuditEvent(
                        .accountCreated, from: origin, accountID: accountID, identityID: identityID,
                        provider: identity.key.provider), at: now, in: transaction)
                guard let account = try await AccountStore.account(accountID, in: transaction) else {
                    throw Refusal.identityAlreadyLinked
                }
                if case .client(let link) = access {
                    try await OAuthGrantStore.issue(link, for: account, at: now, in: transaction)
                }
                return .created(account)
            }
        } catch Refusal.ticketExpired {
            return .ticketExpired
        } catch Refusal.identityAlreadyLinked {
            return .identityAlreadyLinked
        } catch Refusal.holderChanged {
            return nil
        } catch Refusal.emailTaken {
            return try await conflict(over: hash, at: now)
        } catch let error as PostgresError where error.isUniqueViolation(of: "identities_subject_key") {
            return .identityAlreadyLinked
        } catch let error as PostgresError where error.isUniqueViolation(of: "accounts_email_key") {
            return nil
        }
    }

    /// The outcome when the address was taken during *create*: by the same person on another device, or by another
    /// account.
    private func conflict(over hash: [UInt8], at now: Timestamp) async throws(PostgresError) -> CreateOutcome {
        guard let ticket = try await open(hash, at: now) else { return .ticketExpired }
        return try await isLinked(ticket.identity.key, in: database) ? .identityAlreadyLinked : .emailTaken
    }

    /// A refusal, which rolls the transaction back and with it the ticket's consumption.
    private enum Refusal: Error {
        case ticketExpired
        case emailTaken
        case holderChanged
        case identityAlreadyLinked
    }

    private func isLinked(
        _ key: IdentityKey, in session: some PostgresSession
    ) async throws(PostgresError) -> Bool {
        let rows = try await session.query(
            "SELECT EXISTS (SELECT FROM identities WHERE \(key.condition))"
        ) { row throws(PostgresError) in try row.decode(Bool.self) }
        return rows.first ?? false
    }

    private func execute(
        _ decision: CreateDecision, at now: Timestamp, from origin: ChangeOrigin, in transaction: Transaction
    ) async throws -> ProvenEmail? {
        switch decision {
        case .create(let email):
            return email
        case .refusedEmailTaken:
            throw Refusal.emailTaken
        case .createTaking(let email, let loser):
            try await AccountStore.takeEmail(from: loser, at: now, from: origin, in: transaction)
            return email
        }
    }

    /// Inserts the identity, and moves the person's grants to it.
    func link(
        _ ticket: LinkTicket, _ hash: [UInt8], as identityID: IdentityID, to accountID: AccountID, at now: Timestamp,
        in transaction: Transaction
    ) async throws {
        let identity = ticket.identity
        let email = identity.email
        _ = try await transaction.execute(
            """
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, email_verified,
                is_private_email, last_sign_in_at, proven_at, created_at)
            VALUES (\(identityID), \(accountID), \(identity.key.provider.rawValue), \(identity.key.realm.text),
                \(identity.key.subject.text), \(email?.address.text), \(email?.isVerified ?? false),
                \(email?.isPrivateRelay ?? false), \(now), \(identity.authenticatedAt), \(now))
            """)
        // Also the grants of the person's other tickets: Google issues a refresh token for the first code alone, and
        // its ticket need not be the one that is spent.
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
    }

    /// Opens a session of the account that the identity is linked to.
    func open(
        _ newSession: NewSession, by identityID: IdentityID, in transaction: Transaction
    ) async throws(PostgresError) {
        _ = try await transaction.execute(
            newSession.insertion(
                accountID: "i.account_id", identityID: "i.identity_id",
                from: """
                    identities i
                    WHERE i.identity_id = \(identityID)
                    """))
    }
}
