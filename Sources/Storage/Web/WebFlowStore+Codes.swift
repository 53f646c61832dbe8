package import Accounts
import Postgres

/// The outcome of a code that an app presents.
package enum WebCodeOutcome: Sendable {
    /// It was good, and is spent.
    case spent(WebFlowID, ProvenPerson)
    /// It was good, but not for the app that presented it. It is spent, and what came with it is ended.
    case notTheirs
    /// It was spent before. What the first had opened is ended.
    case reused
    case unknown
}

/// What the exchange of a code has opened.
package enum MadeByWebCode: Sendable {
    case session(SessionID, of: AccountID)
    /// The SHA-256 of a link ticket's secret.
    case ticket(SecretHash)
}

/// The codes that apps exchange, and what becomes of those that they don't.
extension WebFlowStore {
    /// Spends a code, right or wrong.
    ///
    /// - Parameter isRight: whether the presenter is the app that asked for it, by the challenge and the redirect URI of
    ///   its request.
    package func spend(
        _ codeHash: SecretHash, by call: Call,
        if isRight: @escaping @Sendable (_ challenge: String, _ redirectURI: String) throws -> Bool
    ) async throws -> WebCodeOutcome {
        try await database.change(by: call) { change in
            let rows = try await change.query(
                """
                UPDATE web_flows f
                SET status = 'spent'
                WHERE f.code_hash = \(codeHash) AND f.status = 'coded' AND f.code_expires_at > \(call.now)
                RETURNING f.flow_id, f.app_challenge, f.app_redirect_uri, f.sealed_person
                """, as: WebFlowID.self, String?.self, String?.self, [UInt8]?.self)
            guard let (id, challenge, redirectURI, sealed) = rows.first else {
                return try await change.webFlows.endMade(by: codeHash)
            }
            guard let challenge, let redirectURI, let sealed, try isRight(challenge, redirectURI) else {
                try await forget(id, sealed, because: "web_code_refused", in: change)
                return .notTheirs
            }
            return .spent(id, try seal.open(sealed, .person, of: id))
        }
    }

    /// Keeps what a spent code has opened, so that its second use ends it; at once if that has come already.
    package func note(_ made: MadeByWebCode, of id: WebFlowID, by call: Call) async throws {
        var session: SessionID?
        var account: AccountID?
        var ticket: SecretHash?
        switch made {
        case .session(let id, let accountID): (session, account) = (id, accountID)
        case .ticket(let hash): ticket = hash
        }
        let statuses = try await database.query(
            """
            UPDATE web_flows f
            SET made_session_id = \(session), made_account_id = \(account), made_ticket_hash = \(ticket),
                sealed_person = NULL
            WHERE f.flow_id = \(id) AND f.status IN ('spent', 'failed')
            RETURNING f.status
            """, as: WebFlowStatus.self)
        guard statuses.first == .failed else { return }
        try await database.change(by: call) { change in try await change.webFlows.end(made) }
    }

    // MARK: - Sweeping

    /// Forgets the persons of codes that expired unused, and deletes the flows that were over before `ended`.
    ///
    /// - Returns: the number of rows dealt with, at most twice `limit`.
    package func sweep(by call: Call, endedBefore ended: Timestamp, limit: Int) async throws -> Int {
        var forgotten = 0
        var unreadable: [WebFlowID] = []
        var failure: (any Error)?
        while forgotten < limit, let next = try await forgetNext(by: call, except: unreadable) {
            switch next {
            case .forgotten: forgotten += 1
            case .unreadable(let id, let error):
                unreadable.append(id)
                failure = failure ?? error
            }
        }
        let deleted = try await database.delete(
            from: "web_flows",
            where: "expires_at < \(ended) AND (sealed_person IS NULL OR flow_id = ANY (\(unreadable)))",
            limit: limit)
        if let failure { throw failure }
        return forgotten + deleted
    }

    private enum Forgetting: Sendable {
        case forgotten
        /// It stays until it is deleted with the others that are over: the next process may have the key.
        case unreadable(WebFlowID, any Error)
    }

    /// One transaction for each: it holds a lock on a person's tickets and must not wait for another person's meanwhile.
    ///
    /// A spent code whose person is still kept is one whose exchange has failed, or is under way.
    private func forgetNext(by call: Call, except ids: [WebFlowID]) async throws -> Forgetting? {
        let abandoned = call.now.advanced(bySeconds: -Lifetimes.linkTicketSeconds)
        return try await database.change(by: call) { change in
            let rows = try await change.query(
                """
                SELECT f.flow_id, f.sealed_person
                FROM web_flows f
                WHERE f.sealed_person IS NOT NULL AND f.flow_id <> ALL (\(ids))
                    AND (f.status = 'coded' AND f.code_expires_at <= \(call.now) OR f.code_expires_at <= \(abandoned))
                LIMIT 1
                FOR UPDATE SKIP LOCKED
                """, as: WebFlowID.self, [UInt8].self)
            guard let (id, sealed) = rows.first else { return nil }
            do {
                let _: ProvenPerson = try seal.open(sealed, .person, of: id)
            } catch {
                return .unreadable(id, error)
            }
            try await forget(id, sealed, because: "web_code_expired", in: change)
            return .forgotten
        }
    }

    /// Forgets a person whom no app has asked for. What the provider's code brought is ended like the grant of a ticket
    /// that ended unspent.
    private func forget(_ id: WebFlowID, _ sealed: [UInt8]?, because reason: String, in change: Change) async throws {
        let person: ProvenPerson? = try sealed.map { try seal.open($0, .person, of: id) }
        _ = try await change.execute(
            "UPDATE web_flows f SET status = 'failed', sealed_person = NULL WHERE f.flow_id = \(id)")
        guard case .identity(let identity, let grant?, _) = person else { return }
        try await change.revocations.end(
            try SealedGrant(grant, keyRing: keyRing), of: identity.key, isAttachable: false,
            recording: AuditEvent(.revocationRequested, by: .service, reason: reason))
    }
}

extension Change.WebFlows {
    /// Ends what a spent code has opened: its second use shows that the code has leaked (RFC 6749 §4.1.2).
    fileprivate func endMade(by codeHash: SecretHash) async throws -> WebCodeOutcome {
        let rows = try await change.query(
            """
            UPDATE web_flows f
            SET status = 'failed'
            WHERE f.code_hash = \(codeHash) AND f.status = 'spent'
            RETURNING f.made_session_id, f.made_account_id, f.made_ticket_hash
            """, as: SessionID?.self, AccountID?.self, SecretHash?.self)
        guard let (session, account, ticket) = rows.first else { return .unknown }
        if let session, let account {
            try await end(.session(session, of: account))
        } else if let ticket {
            try await end(.ticket(ticket))
        }
        // Nothing is noted yet of an exchange that is still under way: its note finds the flow failed.
        return .reused
    }

    fileprivate func end(_ made: MadeByWebCode) async throws {
        var event = AuditEvent(.webCodeReused, from: origin)
        switch made {
        case .session(let id, let accountID):
            event.accountID = accountID
            event.sessionID = id
            try await change.sessions.end(.session(id), because: .webCodeReused)
        case .ticket(let hash):
            event.provider = try await change.links.cancel(hash)
            _ = try await change.execute("DELETE FROM mailbox_tickets WHERE ticket_hash = \(hash)")
            if let (session, account) = try await session(openedBy: hash) {
                event.accountID = account
                event.sessionID = session
                try await change.sessions.end(.session(session), because: .webCodeReused)
            }
        }
        try await change.record(event)
    }

    /// The session that the spent ticket of a provider's person has opened: of their identity, at the moment at which the
    /// ticket was consumed. That of a mailbox's reader is deleted when it is spent, and leads nowhere.
    private func session(openedBy ticket: SecretHash) async throws(PostgresError) -> (SessionID, AccountID)? {
        let rows = try await change.query(
            """
            SELECT s.session_id, s.account_id
            FROM link_tickets t
            JOIN identities i ON (i.provider, i.realm, i.subject) = (t.provider, t.realm, t.subject)
            JOIN sessions s ON s.identity_id = i.identity_id AND s.created_at = t.consumed_at
            WHERE t.ticket_hash = \(ticket)
            """, as: SessionID.self, AccountID.self)
        return rows.first
    }
}
