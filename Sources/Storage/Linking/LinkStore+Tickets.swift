package import Accounts
package import Postgres

/// The life of a link ticket before it is spent: issued, cancelled or expired, and what becomes of its grant.
extension LinkStore {
    /// Stores a ticket, with the grant that its sign-in brought.
    ///
    /// - Parameters:
    ///   - isHeld: whether its person holds it, and so no more than ``LinkTicket/maximumHeld`` with it: the oldest ends.
    ///     False for a ticket that its own request spends.
    ///   - event: recorded with the ticket.
    package func insert(
        _ ticket: LinkTicket, hash: SecretHash, grant: NewGrant?, isHeld: Bool = false,
        recording event: AuditEvent? = nil,
        by call: Call
    ) async throws {
        guard grant != nil || isHeld else {
            _ = try await database.execute(
                LinkStore.insertion(of: ticket, hash, after: nil, recording: event, by: call))
            return
        }
        let key = ticket.identity.key
        let sealed = try grant.map { grant in try SealedGrant(grant, keyRing: keyRing) }
        let ending = isHeld ? LinkStore.ending(of: key, keeping: LinkTicket.maximumHeld - 1, by: call) : nil
        try await database.change(by: call) { change in
            // The tickets are counted by a statement of its own, which sees those that were made under the lock before.
            try await change.links.lock(key)
            _ = try await change.execute(
                LinkStore.insertion(of: ticket, hash, after: ending, recording: event, by: call))
            guard let sealed else { return }
            _ = try await change.execute(
                """
                INSERT INTO provider_grants (\(GrantStore.columns), ticket_hash)
                SELECT \(GrantStore.values(sealed, key)), \(hash)
                """)
        }
    }

    /// Ends the oldest tickets of a person who holds too many. For one that was to be spent at once, and was not.
    package func endOldest(of key: IdentityKey, by call: Call) async throws {
        try await database.change(by: call) { change in
            try await change.links.lock(key)
            _ = try await change.execute(
                "WITH \(LinkStore.ending(of: key, keeping: LinkTicket.maximumHeld, by: call)) SELECT")
        }
    }

    /// Ends the person's open tickets but for the `count` newest: they are deleted, or expire if they have a grant, which
    /// then goes as that of any expired ticket does. The clauses of a `WITH`, for a transaction that has locked the
    /// person's tickets.
    private static func ending(of key: IdentityKey, keeping count: Int, by call: Call) -> SQL {
        """
        surplus AS (
            SELECT t.ticket_hash,
                EXISTS (SELECT FROM provider_grants g WHERE g.ticket_hash = t.ticket_hash) AS has_grant
            FROM link_tickets t
            WHERE \(key.condition) AND t.consumed_at IS NULL AND t.expires_at > \(call.now)
            ORDER BY t.created_at DESC, t.ticket_hash
            OFFSET \(count)
        ), deleted AS (
            DELETE FROM link_tickets t
            USING surplus s
            WHERE t.ticket_hash = s.ticket_hash AND NOT s.has_grant
            RETURNING t.ticket_hash
        ), expired AS (
            UPDATE link_tickets t
            SET expires_at = \(call.now)
            FROM surplus s
            WHERE t.ticket_hash = s.ticket_hash AND s.has_grant
            RETURNING t.ticket_hash
        ), unread AS (
            -- Behind the tickets, as who shows one locks it first.
            DELETE FROM mailbox_tickets m
            USING (SELECT ticket_hash FROM deleted UNION ALL SELECT ticket_hash FROM expired) s
            WHERE m.ticket_hash = s.ticket_hash
        )
        """
    }

    /// - Parameter ending: clauses of a `WITH` that precede it.
    private static func insertion(
        of ticket: LinkTicket, _ hash: SecretHash, after ending: SQL?, recording event: AuditEvent?, by call: Call
    ) -> SQL {
        let identity = ticket.identity
        let email = identity.email
        let insertion: SQL = """
            INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email, email_verified,
                is_private_email, email_authoritative, display_name, device_name, device_platform, auth_time, issued_at,
                shown_account_id, shown_identity_ids, created_at, expires_at)
            VALUES (\(hash), \(identity.key.provider.rawValue), \(identity.key.realm.text),
                \(identity.key.subject.text), \(identity.clientID), \(email?.address.text),
                \(email?.isVerified ?? false), \(email?.isPrivateRelay ?? false),
                \(email?.isAuthoritative ?? false), \(ticket.displayName?.text), \(ticket.device?.name),
                \(ticket.device?.platform), \(identity.authenticatedAt), \(identity.issuedAt),
                \(ticket.shownHolder?.id), \(ticket.shownHolder?.identities), \(ticket.createdAt),
                \(ticket.expiresAt))
            """
        let record = event.map { AuditTrail.insertion($0, by: call) }
        return switch (ending, record) {
        case (nil, nil): insertion
        case (let ending?, nil): "WITH \(ending) \(insertion)"
        case (nil, let record?): "WITH ticket AS (\(insertion)) \(record)"
        case (let ending?, let record?): "WITH \(ending), ticket AS (\(insertion)) \(record)"
        }
    }

    /// The ticket, if it can still be spent. It is only read: a proof is checked before the transaction that spends it.
    package func open(_ hash: SecretHash, by call: Call) async throws(PostgresError) -> LinkTicket? {
        try await database.query(
            """
            SELECT \(LinkStore.columns)
            FROM link_tickets t
            LEFT JOIN mailbox_tickets m ON m.ticket_hash = t.ticket_hash
            WHERE t.ticket_hash = \(hash) AND t.consumed_at IS NULL AND t.expires_at > \(call.now)
            """, as: LinkStore.ticket
        ).first
    }

    /// Keeps that the ticket's person has typed a code that was mailed to the account's address, and has been shown the
    /// account. The mailbox ticket under the same hash says so, for as long as this one is open.
    package func show(_ account: Account, toReaderWith hash: SecretHash, by call: Call) async throws {
        let shown = ShownAccount(account)
        try await database.change(by: call) { change in
            // What ends or spends a ticket takes the mailbox away with it, and sees none that is not committed.
            try await change.links.lockTickets(of: "link_tickets WHERE ticket_hash = \(hash)")
            _ = try await change.execute(
                """
                WITH shown AS (
                    UPDATE link_tickets
                    SET shown_account_id = \(shown.id), shown_identity_ids = \(shown.identities)
                    WHERE ticket_hash = \(hash) AND consumed_at IS NULL AND expires_at > \(call.now)
                    RETURNING ticket_hash, expires_at
                ), touched AS (\(AccountStore.touchingImport(of: "(SELECT \(shown.id) FROM shown)")))
                INSERT INTO mailbox_tickets (ticket_hash, email, shown_account_id, shown_identity_ids, auth_time,
                    created_at, expires_at)
                SELECT ticket_hash, \(account.email?.text), \(shown.id), \(shown.identities), \(call.now), \(call.now),
                    expires_at
                FROM shown
                ON CONFLICT (ticket_hash) DO UPDATE
                SET email = EXCLUDED.email, shown_account_id = EXCLUDED.shown_account_id,
                    shown_identity_ids = EXCLUDED.shown_identity_ids, auth_time = EXCLUDED.auth_time
                """)
        }
    }

    /// Keeps which account the ticket's person has been shown, and with which identities.
    package func show(_ account: ShownAccount, to hash: SecretHash, by call: Call) async throws(PostgresError) {
        _ = try await database.execute(
            """
            UPDATE link_tickets
            SET shown_account_id = \(account.id), shown_identity_ids = \(account.identities)
            WHERE ticket_hash = \(hash) AND consumed_at IS NULL AND expires_at > \(call.now)
            """)
    }

    /// Deletes the ticket without using it.
    ///
    /// - Parameter event: recorded with the cancellation.
    /// - Returns: whether there was a ticket to cancel.
    package func cancel(_ hash: SecretHash, by call: Call, recording event: AuditEvent?) async throws -> Bool {
        try await database.change(by: call) { change in
            guard try await change.links.cancel(hash) != nil else { return false }
            if let event { try await change.record(event) }
            return true
        }
    }

    /// Releases the grants of tickets that ended unspent, and deletes the tickets that ended before `ended`.
    ///
    /// - Returns: the number of tickets processed, at most twice `limit`.
    package func sweep(by call: Call, endedBefore ended: Timestamp, limit: Int) async throws -> Int {
        var released = 0
        var unreadable: [SecretHash] = []
        var failure: PostgresError?
        while released < limit {
            let wanted = limit - released
            let expired = try await expired(by: call, except: unreadable, limit: wanted)
            for (hash, person) in expired {
                switch person {
                case .success(let key):
                    try await release(hash, of: key, by: call)
                    released += 1
                case .failure(let error):
                    // Its grant is kept for a release that can read the ticket.
                    unreadable.append(hash)
                    failure = failure ?? error
                }
            }
            if expired.count < wanted { break }
        }
        let deleted = try await database.delete(
            from: "link_tickets",
            where: """
                expires_at < \(ended)
                    AND NOT EXISTS (SELECT FROM provider_grants g WHERE g.ticket_hash = link_tickets.ticket_hash)
                """,
            limit: limit)
        if let failure { throw await database.namingTable(of: failure) }
        return released + deleted
    }

    /// Tickets that ended unspent and have a grant, and the person of each.
    ///
    /// - Parameter hashes: of tickets that can't be read.
    private func expired(
        by call: Call, except hashes: [SecretHash], limit: Int
    ) async throws(PostgresError) -> [(SecretHash, Result<IdentityKey, PostgresError>)] {
        try await database.query(
            """
            SELECT t.ticket_hash, t.provider, t.realm, t.subject
            FROM provider_grants g
            JOIN link_tickets t ON t.ticket_hash = g.ticket_hash
            WHERE t.expires_at <= \(call.now) AND t.ticket_hash <> ALL (\(hashes))
            LIMIT \(limit)
            """
        ) { row throws(PostgresError) in
            let hash = try SecretHash(from: row[0])
            let key = Result { () throws(PostgresError) in
                let (_, provider, realm, subject) = try row.decode(
                    SecretHash.self, Provider.self, Realm.self, ProviderSubject.self)
                return IdentityKey(provider: provider, realm: realm, subject: subject)
            }
            return (hash, key)
        }
    }

    /// Releases the grant of a ticket that ended unspent, if no other process has meanwhile. One transaction per ticket:
    /// it holds the lock on a person's tickets and must not wait for another person's meanwhile.
    private func release(_ hash: SecretHash, of key: IdentityKey, by call: Call) async throws {
        try await database.change(by: call) { change in
            try await change.links.lock(key)
            try await change.links.release(hash, of: key)
        }
    }

    fileprivate static func isOtherLiveTicket(than hash: SecretHash, of key: IdentityKey, by call: Call) -> SQL {
        """
        t.subject = \(key.subject.text) AND t.provider = \(key.provider.rawValue) AND t.realm = \(key.realm.text)
            AND t.ticket_hash <> \(hash) AND t.consumed_at IS NULL AND t.expires_at > \(call.now)
        """
    }

    /// Of `link_tickets t`, and of `mailbox_tickets m` under the same hash.
    static let columns: SQL = """
        t.provider, t.realm, t.subject, t.client_id, t.email, t.email_verified, t.is_private_email,
        t.email_authoritative, t.display_name, t.device_name, t.device_platform, t.auth_time, t.issued_at,
        t.shown_account_id, t.shown_identity_ids, t.created_at, t.expires_at, m.email, m.auth_time
        """

    static func ticket(_ row: PostgresRow) throws(PostgresError) -> LinkTicket {
        let (
            provider, realm, subject, clientID, email, isVerified, isPrivate, isAuthoritative, displayName, deviceName,
            devicePlatform, authTime, issuedAt, shownAccount, shownIdentities, createdAt, expiresAt,
            readEmail, readAt
        ) = try row.decode(
            Provider.self, Realm.self, ProviderSubject.self, ProviderClientID.self, EmailAddress?.self, Bool.self,
            Bool.self,
            Bool.self, String?.self, String?.self, String?.self, Timestamp.self, Timestamp.self, AccountID?.self,
            [IdentityID]?.self, Timestamp.self, Timestamp.self, EmailAddress?.self, Timestamp?.self)
        let providerEmail = email.map {
            ProviderEmail(
                address: $0, isVerified: isVerified, isPrivateRelay: isPrivate, isAuthoritative: isAuthoritative)
        }
        let key = IdentityKey(provider: provider, realm: realm, subject: subject)
        return LinkTicket(
            identity: VerifiedIdentity(
                key: key, email: providerEmail, clientID: clientID, authenticatedAt: authTime,
                issuedAt: issuedAt),
            displayName: displayName.flatMap(DisplayName.init),
            device: Device(stated: deviceName, platform: devicePlatform),
            shownHolder: shownAccount.map { ShownAccount(id: $0, identities: shownIdentities ?? []) },
            readMailbox: readEmail.flatMap { email in readAt.map { ReadMailbox(address: email, provenAt: $0) } },
            createdAt: createdAt, expiresAt: expiresAt)
    }
}

extension Change.Links {
    /// The same in a transaction. No row is left: who asks for a ticket and cancels it, again and again, makes none of those that
    /// follow slower.
    ///
    /// - Returns: the provider of the ticket's person; `nil` when there was no ticket to cancel.
    func cancel(_ hash: SecretHash) async throws -> Provider? {
        guard let ticket = try await consumeIfOpen(hash) else { return nil }
        try await release(hash, of: ticket.identity.key)
        // Also a mailbox that was read for it while this waited for its row, at a process of the release before, which
        // takes no lock: without the ticket it would be one of its own.
        _ = try await change.execute("DELETE FROM mailbox_tickets WHERE ticket_hash = \(hash)")
        _ = try await change.execute("DELETE FROM link_tickets WHERE ticket_hash = \(hash)")
        return ticket.identity.key.provider
    }

    /// Disposes of the grant of an unspent ticket. A revocation at the provider ends the person's whole authorization,
    /// so the grant is revoked only if the person has no identity and no other live ticket here. If there is one and it
    /// has no grant of the client, the grant moves to it; otherwise the grant is deleted.
    ///
    /// - Parameter key: the person, whose tickets are locked.
    func release(_ hash: SecretHash, of key: IdentityKey) async throws {
        // `GrantStore.keep` locks the same row, so that the identity gets no second grant of the client.
        _ = try await change.execute("SELECT FROM identities WHERE \(key.condition) FOR NO KEY UPDATE")
        let toIdentity = try await change.execute(
            """
            UPDATE provider_grants g
            SET identity_id = i.identity_id, ticket_hash = NULL
            FROM identities i
            WHERE g.ticket_hash = \(hash) AND i.subject = \(key.subject.text) AND i.provider = \(key.provider.rawValue)
                AND i.realm = \(key.realm.text)
                AND NOT EXISTS (
                    SELECT FROM provider_grants o
                    WHERE o.identity_id = i.identity_id AND o.client_id = g.client_id)
            """)
        guard toIdentity == 0 else {
            _ = try await change.execute("UPDATE identities SET authorization_status = 'active' WHERE \(key.condition)")
            return
        }
        let toTicket = try await change.execute(
            """
            UPDATE provider_grants
            SET ticket_hash = (
                SELECT t.ticket_hash
                FROM link_tickets t
                WHERE \(LinkStore.isOtherLiveTicket(than: hash, of: key, by: call))
                    AND NOT EXISTS (SELECT FROM provider_grants o WHERE o.ticket_hash = t.ticket_hash)
                ORDER BY t.expires_at DESC
                LIMIT 1)
            WHERE ticket_hash = \(hash)
                AND NOT EXISTS (SELECT FROM identities WHERE \(key.condition))
                AND EXISTS (
                    SELECT FROM link_tickets t
                    WHERE \(LinkStore.isOtherLiveTicket(than: hash, of: key, by: call))
                        AND NOT EXISTS (SELECT FROM provider_grants o WHERE o.ticket_hash = t.ticket_hash))
            """)
        guard toTicket == 0 else { return }
        let erased = try await change.execute(
            """
            DELETE FROM provider_grants
            WHERE ticket_hash = \(hash) AND (
                EXISTS (SELECT FROM identities WHERE \(key.condition))
                OR EXISTS (
                    SELECT FROM link_tickets t WHERE \(LinkStore.isOtherLiveTicket(than: hash, of: key, by: call))))
            """)
        guard erased == 0 else { return }
        let held = try await change.query(
            "SELECT EXISTS (SELECT FROM provider_grants WHERE ticket_hash = \(hash))", as: Bool.self)
        if held == [true] { try await change.revocations.begin(key) }
    }

    /// Locks a person's tickets and their grants until the transaction ends: two transactions that each see the other's
    /// ticket alive would both delete their own grant.
    func lock(_ key: IdentityKey) async throws(PostgresError) {
        try await lockTickets(
            of:
                "(VALUES (\(key.provider.rawValue), \(key.realm.text), \(key.subject.text))) p (provider, realm, subject)"
        )
    }

    /// - Parameter person: a `FROM` item with the columns provider, realm and subject.
    fileprivate func lockTickets(of person: SQL) async throws(PostgresError) {
        _ = try await change.query(
            """
            SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'tickets', provider, realm, subject), 0))::text
            FROM \(person)
            """, as: String?.self)
    }

    /// Locks the tickets of the person that this one is for, and consumes it.
    func consume(_ hash: SecretHash) async throws -> LinkTicket {
        guard let ticket = try await consumeIfOpen(hash) else { throw Refusal.ticketExpired }
        return ticket
    }

    /// A ticket of a token from before the provider's event on sessions is not open, whenever the token was posted, nor is one
    /// of a token that was refused. Where the identity is linked, ``Change/Links/owner(of:)`` asks.
    private func consumeIfOpen(_ hash: SecretHash) async throws(PostgresError) -> LinkTicket? {
        try await lockTickets(of: "link_tickets WHERE ticket_hash = \(hash)")
        let rows = try await change.query(
            """
            WITH t AS (
                UPDATE link_tickets l
                SET consumed_at = \(now)
                WHERE ticket_hash = \(hash) AND consumed_at IS NULL AND expires_at > \(now)
                    AND NOT EXISTS (
                        SELECT FROM \(IdentityStore.remembered(of: "l.provider", "l.realm", "l.subject")) i
                        WHERE \(IdentityStore.isOutdated(issuedAt: "l.issued_at", authenticatedAt: "l.auth_time")))
                RETURNING *
            ), m AS (
                DELETE FROM mailbox_tickets m
                USING t
                WHERE m.ticket_hash = t.ticket_hash
                RETURNING m.*
            )
            SELECT \(LinkStore.columns)
            FROM t
            LEFT JOIN m ON m.ticket_hash = t.ticket_hash
            """, as: LinkStore.ticket)
        return rows.first
    }
}
