package import Accounts
package import Postgres

/// `mailbox_tickets`, and the two transactions that spend one. A spent or cancelled ticket is deleted. A row under the
/// hash of a link ticket is part of that one (``LinkTicket/readMailbox``), and no ticket of its own.
package struct MailboxTicketStore: Sendable {
    let database: Database

    /// The ticket, if it can still be spent, and the account that its person has been shown.
    package func open(
        _ hash: SecretHash, by call: Call
    ) async throws(PostgresError) -> (ticket: MailboxTicket, shown: ShownAccount)? {
        try await database.query(
            """
            SELECT \(MailboxTicketStore.columns)
            FROM mailbox_tickets
            WHERE ticket_hash = \(hash) AND expires_at > \(call.now) AND \(MailboxTicketStore.isItsOwn)
            """, as: MailboxTicketStore.ticket
        ).first
    }

    /// Keeps which account the ticket's person has been shown, and with which identities.
    package func show(_ account: ShownAccount, to hash: SecretHash, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE mailbox_tickets
            SET shown_account_id = \(account.id), shown_identity_ids = \(account.identities)
            WHERE ticket_hash = \(hash) AND expires_at > \(call.now) AND \(MailboxTicketStore.isItsOwn)
            """)
    }

    /// Makes an account of the ticket's person, who takes the address from the account that has not proven it.
    package func create(
        _ hash: SecretHash, accountID: AccountID, passwordHash: PasswordHash?, displayName: DisplayName?,
        newSession: NewSession,
        by call: Call
    ) async throws -> Account {
        try await spend(hash, by: call) { ticket, _, change in
            let holder = try await change.accounts.lockHolder(of: ticket.email)
            switch Linking.decideCreate(ticket.email, .mailedCode, holder: holder) {
            case .refusedEmailTaken: throw Refusal.emailTaken
            case .create: break
            case .createTaking(_, let loser):
                try await change.accounts.takeEmail(from: loser)
            }
            let isNew = try await change.accounts.insert(
                accountID, by: .create, ticket.email, .proven, .mailedCode, passwordHash, displayName)
            guard isNew else { throw HolderChanged() }
            try await change.sessions.open(newSession, for: accountID)
            try await change.record(.accountCreated, accountID: accountID)
            guard let account = try await AccountStore.account(accountID, in: change) else {
                throw Refusal.codeGone
            }
            return account
        }
    }

    /// Takes over the account that the ticket's person has been shown.
    package func bind(_ hash: SecretHash, newSession: NewSession, by call: Call) async throws -> Account {
        try await spend(hash, by: call) { ticket, shown, change in
            guard let account = try await change.accounts.lock(shown.id),
                let outcome = ticket.outcome(ofShown: account),
                try await change.identities.isCurrent(ticket.authenticatedAt, for: shown.id)
            else { throw Refusal.codeGone }
            guard account.status == .active else { throw Refusal.accountDisabled }
            guard shown.covers(account) else { throw Refusal.codeGone }
            switch outcome {
            case .takeOverOnceShown: try await change.accounts.takeOver(account, by: .mailedCode)
            case .enter: break
            default: throw Refusal.codeGone
            }
            try await change.sessions.open(newSession, for: account.id)
            guard let entered = try await AccountStore.account(account.id, in: change) else {
                throw Refusal.codeGone
            }
            return entered
        }
    }

    /// Deletes the ticket without using it.
    ///
    /// - Returns: whether there was one.
    package func cancel(
        _ hash: SecretHash, by call: Call, recording event: AuditEvent
    ) async throws(PostgresError) -> Bool {
        try await database.execute(
            """
            WITH cancelled AS (
                DELETE FROM mailbox_tickets
                WHERE ticket_hash = \(hash) AND expires_at > \(call.now) AND \(MailboxTicketStore.isItsOwn)
                RETURNING ticket_hash
            )
            \(AuditTrail.insertion(event, by: call))
            WHERE EXISTS (SELECT FROM cancelled)
            """) == 1
    }

    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "mailbox_tickets", where: "expires_at < \(time)", limit: limit)
    }

    /// Consumes the ticket first; what refuses later leaves it as it was.
    private func spend(
        _ hash: SecretHash, by call: Call,
        _ body: @Sendable (MailboxTicket, ShownAccount, Change) async throws -> Account
    ) async throws -> Account {
        try await database.changeTakingAddress(by: call) { change in
            let tickets = try await change.query(
                """
                DELETE FROM mailbox_tickets
                WHERE ticket_hash = \(hash) AND expires_at > \(call.now) AND \(MailboxTicketStore.isItsOwn)
                RETURNING \(MailboxTicketStore.columns)
                """, as: MailboxTicketStore.ticket)
            guard let (ticket, shown) = tickets.first else { throw Refusal.ticketExpired }
            return try await body(ticket, shown, change)
        }
    }

    private static let isItsOwn: SQL =
        "NOT EXISTS (SELECT FROM link_tickets t WHERE t.ticket_hash = mailbox_tickets.ticket_hash)"

    private static let columns: SQL =
        "email, shown_account_id, shown_identity_ids, device_name, device_platform, auth_time, created_at, expires_at"

    private static func ticket(
        _ row: PostgresRow
    ) throws(PostgresError) -> (ticket: MailboxTicket, shown: ShownAccount) {
        let (email, account, identities, deviceName, devicePlatform, authTime, createdAt, expiresAt) = try row.decode(
            EmailAddress.self, AccountID.self, [IdentityID].self, String?.self, String?.self, Timestamp.self,
            Timestamp.self, Timestamp.self)
        return (
            MailboxTicket(
                email: email, device: Device(stated: deviceName, platform: devicePlatform), authenticatedAt: authTime,
                createdAt: createdAt, expiresAt: expiresAt),
            ShownAccount(id: account, identities: identities)
        )
    }
}

extension Change.MailboxTickets {
    func insert(
        _ ticket: MailboxTicket, showing shown: ShownAccount, hash: SecretHash, recording event: AuditEvent
    ) async throws(PostgresError) {
        _ = try await change.execute(
            """
            INSERT INTO mailbox_tickets (ticket_hash, email, shown_account_id, shown_identity_ids, device_name,
                device_platform, auth_time, created_at, expires_at)
            VALUES (\(hash), \(ticket.email.text), \(shown.id), \(shown.identities), \(ticket.device?.name),
                \(ticket.device?.platform), \(ticket.authenticatedAt), \(ticket.createdAt), \(ticket.expiresAt))
            """)
        try await change.record(event)
    }
}
