package import Accounts
package import Postgres

/// The outcome of *create* or *bind* with a mailbox ticket.
package enum MailboxTicketOutcome: Sendable {
    case signedIn(Account)
    case ticketExpired
    /// The account that was shown has lost the address, has got another identity, or was signed out everywhere since.
    case holderChanged
    case emailTaken
    case accountDisabled
}

/// `mailbox_tickets`, and the two transactions that spend one. A spent or cancelled ticket is deleted. A row under the
/// hash of a link ticket is part of that one (``LinkTicket/readMailbox``), and no ticket of its own.
package struct MailboxTicketStore: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    static func insert(
        _ ticket: MailboxTicket, showing shown: ShownAccount, hash: [UInt8], recording event: AuditEvent,
        in transaction: Transaction
    ) async throws(PostgresError) {
        _ = try await transaction.execute(
            """
            INSERT INTO mailbox_tickets (ticket_hash, email, shown_account_id, shown_identity_ids, device_name,
                device_platform, auth_time, created_at, expires_at)
            VALUES (\(hash), \(ticket.email.text), \(shown.id), \(shown.identities), \(ticket.device?.name),
                \(ticket.device?.platform), \(ticket.authenticatedAt), \(ticket.createdAt), \(ticket.expiresAt))
            """)
        try await AuditTrail.record(event, at: ticket.createdAt, in: transaction)
    }

    /// The ticket, if it can still be spent.
    package func open(_ hash: [UInt8], at now: Timestamp) async throws(PostgresError) -> MailboxTicket? {
        let rows = try await database.query(
            """
            SELECT \(MailboxTicketStore.columns)
            FROM mailbox_tickets
            WHERE ticket_hash = \(hash) AND expires_at > \(now) AND \(MailboxTicketStore.isItsOwn)
            """
        ) { row throws(PostgresError) in try MailboxTicketStore.ticket(row).0 }
        return rows.first
    }

    /// Makes an account of the ticket's person, who takes the address from the account that has not proven it.
    package func create(
        _ hash: [UInt8], accountID: AccountID, passwordHash: String?, displayName: DisplayName?, newSession: NewSession,
        from origin: ChangeOrigin
    ) async throws -> MailboxTicketOutcome {
        for _ in 0..<AccountStore.triesForAddress {
            let outcome = try await createOnce(
                hash, accountID: accountID, passwordHash: passwordHash, displayName: displayName,
                newSession: newSession, from: origin)
            // The address was taken after it was looked up; the next attempt finds its holder.
            guard case .holderChanged = outcome else { return outcome }
        }
        return .emailTaken
    }

    private func createOnce(
        _ hash: [UInt8], accountID: AccountID, passwordHash: String?, displayName: DisplayName?, newSession: NewSession,
        from origin: ChangeOrigin
    ) async throws -> MailboxTicketOutcome {
        try await spending(hash, at: newSession.now) { ticket, _, transaction in
            let now = newSession.now
            let locked = try await AccountStore.lock("a.email = \(ticket.email.text)", in: transaction)
            let holder = try await AccountStore.holder(of: ticket.email, in: transaction)
            // The address was taken after the accounts were locked, and the decision needs a locked holder.
            if let holder, !locked.contains(holder.id) { throw Refusal.holderChanged }
            switch Linking.decideCreate(ticket.email, .mailedCode, holder: holder) {
            case .refusedEmailTaken: throw Refusal.emailTaken
            case .create: break
            case .createTaking(_, let loser):
                try await AccountStore.takeEmail(from: loser, at: now, from: origin, in: transaction)
            }
            _ = try await transaction.execute(
                """
                INSERT INTO accounts (account_id, email, email_verified, email_proof, email_proof_source, password_hash,
                    display_name, created_at)
                VALUES (\(accountID), \(ticket.email.text), true, \(EmailProof.proven.rawValue),
                    \(EmailProof.Source.mailedCode.rawValue), \(passwordHash), \(displayName?.text), \(now))
                """)
            try await newSession.open(for: accountID, in: transaction)
            try await AuditTrail.record(
                AuditEvent(.accountCreated, from: origin, accountID: accountID), at: now, in: transaction)
            guard let account = try await AccountStore.account(accountID, in: transaction) else {
                throw Refusal.holderChanged
            }
            return account
        }
    }

    /// Takes over the account that the ticket's person has been shown.
    package func bind(
        _ hash: [UInt8], newSession: NewSession, from origin: ChangeOrigin
    ) async throws -> MailboxTicketOutcome {
        try await spending(hash, at: newSession.now) { ticket, shown, transaction in
            guard let account = try await AccountStore.lock(shown.id, in: transaction), account.email == ticket.email,
                try await IdentityStore.isCurrent(ticket.authenticatedAt, for: shown.id, in: transaction)
            else { throw Refusal.holderChanged }
            guard account.status == .active else { throw Refusal.accountDisabled }
            switch AddressRule.outcome(of: .bindToShown, .mailedCode, holder: AddressHolder(account)) {
            case .takeOverOnceShown:
                guard shown.covers(account) else { throw Refusal.holderChanged }
                try await AccountStore.takeOver(
                    account, by: .mailedCode, at: newSession.now, from: origin, in: transaction)
            case .enter:
                guard shown.covers(account) else { throw Refusal.holderChanged }
            default: throw Refusal.holderChanged
            }
            try await newSession.open(for: account.id, in: transaction)
            guard let entered = try await AccountStore.account(account.id, in: transaction) else {
                throw Refusal.holderChanged
            }
            return entered
        }
    }

    /// Deletes the ticket without using it.
    ///
    /// - Returns: whether there was one.
    package func cancel(
        _ hash: [UInt8], at now: Timestamp, recording event: AuditEvent
    ) async throws(PostgresError) -> Bool {
        try await database.execute(
            """
            WITH cancelled AS (
                DELETE FROM mailbox_tickets
                WHERE ticket_hash = \(hash) AND expires_at > \(now) AND \(MailboxTicketStore.isItsOwn)
                RETURNING ticket_hash
            )
            \(AuditTrail.insertion(event, at: now))
            WHERE EXISTS (SELECT FROM cancelled)
            """) == 1
    }

    /// - Returns: the number of deleted tickets.
    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.execute(
            """
            DELETE FROM mailbox_tickets
            WHERE ticket_hash IN (
                SELECT ticket_hash
                FROM mailbox_tickets
                WHERE expires_at < \(time)
                LIMIT \(limit)
                FOR UPDATE SKIP LOCKED)
            """)
    }

    /// A refusal, which rolls the transaction back and with it the ticket's consumption.
    private enum Refusal: Error {
        case ticketExpired
        case holderChanged
        case emailTaken
        case accountDisabled
    }

    /// Consumes the ticket first; what refuses later leaves it as it was.
    private func spending(
        _ hash: [UInt8], at now: Timestamp,
        _ body: @Sendable (MailboxTicket, ShownAccount, Transaction) async throws -> Account
    ) async throws -> MailboxTicketOutcome {
        do {
            return try await database.transaction(retries: 2) { transaction in
                let tickets = try await transaction.query(
                    """
                    DELETE FROM mailbox_tickets
                    WHERE ticket_hash = \(hash) AND expires_at > \(now) AND \(MailboxTicketStore.isItsOwn)
                    RETURNING \(MailboxTicketStore.columns)
                    """
                ) { row throws(PostgresError) in try MailboxTicketStore.ticket(row) }
                guard let (ticket, shown) = tickets.first else { throw Refusal.ticketExpired }
                return .signedIn(try await body(ticket, shown, transaction))
            }
        } catch let refusal as Refusal {
            switch refusal {
            case .ticketExpired: return .ticketExpired
            case .holderChanged: return .holderChanged
            case .emailTaken: return .emailTaken
            case .accountDisabled: return .accountDisabled
            }
        } catch let error as PostgresError where error.isUniqueViolation(of: "accounts_email_key") {
            return .holderChanged
        }
    }

    private static let isItsOwn: SQL =
        "NOT EXISTS (SELECT FROM link_tickets t WHERE t.ticket_hash = mailbox_tickets.ticket_hash)"

    private static let columns: SQL = """
        email, shown_account_id, shown_identity_ids, device_name, device_platform, auth_time, created_at, expires_at
        """

    private static func ticket(_ row: PostgresRow) throws(PostgresError) -> (MailboxTicket, ShownAccount) {
        let (email, account, identities, deviceName, devicePlatform, authTime, createdAt, expiresAt) = try row.decode(
            EmailAddress.self, AccountID.self, [IdentityID].self, String?.self, String?.self, Timestamp.self,
            Timestamp.self, Timestamp.self)
        let device =
            deviceName == nil && devicePlatform == nil ? nil : Device(name: deviceName, platform: devicePlatform)
        return (
            MailboxTicket(
                email: email, device: device, authenticatedAt: authTime, createdAt: createdAt, expiresAt: expiresAt),
            ShownAccount(id: account, identities: identities)
        )
    }
}
