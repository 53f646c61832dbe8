package import Accounts
package import Postgres

/// A code about to be handed to a client.
package struct NewOAuthCode: Sendable {
    package let hash: SecretHash
    package let clientID: OAuthClientID
    package let clientName: String
    package let redirectURI: String
    package let scopes: OAuthScopes
    package let challenge: String?
    package let origin: OAuthOrigin
    package let expiresAt: Timestamp

    package init(
        hash: SecretHash, clientID: OAuthClientID, clientName: String, redirectURI: String, scopes: OAuthScopes,
        challenge: String?, origin: OAuthOrigin, expiresAt: Timestamp
    ) {
        self.hash = hash
        self.clientID = clientID
        self.clientName = clientName
        self.redirectURI = redirectURI
        self.scopes = scopes
        self.challenge = challenge
        self.origin = origin
        self.expiresAt = expiresAt
    }
}

/// A link that a client has asked for by an assertion, and its tokens.
package struct NewOAuthLink: Sendable {
    package let client: OAuthClient
    package let scopes: OAuthScopes
    package let tokens: NewOAuthTokens
    /// The client itself, also where its request makes the person's account.
    package let origin: ChangeOrigin

    package init(client: OAuthClient, scopes: OAuthScopes, tokens: NewOAuthTokens, origin: ChangeOrigin) {
        self.client = client
        self.scopes = scopes
        self.tokens = tokens
        self.origin = origin
    }
}

/// `oauth_grants` and what hangs on them: chains, codes and tokens.
///
/// ```
///   account ──▶ grant to a client ──▶ chain: from one code or assertion ──▶ code
///                                       ├─▶ refresh token
///                                       └─▶ access tokens
/// ```
/// Whatever is deleted takes with it what is to its right.
package struct OAuthGrantStore: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    // MARK: Linking

    /// Links a client to the account of a session and issues its code. The owner is mailed when the client was not linked.
    package func issue(_ code: NewOAuthCode, in session: Session, by call: Call) async throws {
        try await database.change(by: call) { change in try await change.oauthGrants.issue(code, in: session) }
    }

    /// Links a client to an account by an assertion of one of its identities, and issues its tokens.
    package func issue(
        _ link: NewOAuthLink, for id: AccountID, assertedBy identity: VerifiedIdentity, by call: Call
    ) async throws {
        try await database.change(by: call) { change in
            // Since the assertion was looked at, a sign-out may have ended what it is good for.
            guard let account = try await change.accounts.lock(id), account.status == .active,
                let decision = try await AccountStore.decision(on: identity, in: change),
                decision.accountID == id, decision.decision == .active
            else { throw Refusal.accountNotFound }
            try await change.oauthGrants.issue(link, for: account)
        }
    }

    /// How many chains a grant has: a client that is linked once more than that loses the oldest.
    fileprivate static let chainsPerGrant = 10
    /// How many codes of a grant wait for their client at once: one more ends the oldest.
    fileprivate static let codesPerGrant = 3

    // MARK: Looking

    /// The condition on `oauth_grants`, named `g`, that something of the link is good: a refresh token, or a code that may
    /// still be redeemed. The rows of any other wait for the sweep, so that a code is recognised that comes a second time.
    static func isLinked(at now: Timestamp) -> SQL {
        """
        EXISTS (
            SELECT FROM oauth_chains h
            WHERE h.grant_id = g.grant_id AND (
                EXISTS (SELECT FROM oauth_refresh_tokens r WHERE r.chain_id = h.chain_id)
                OR EXISTS (
                    SELECT FROM oauth_codes k
                    WHERE k.chain_id = h.chain_id AND k.used_at IS NULL AND k.expires_at > \(now))))
        """
    }

    /// The codes of consents that wait for a client, to which they link an account.
    package func waitingCodes(
        of clientID: OAuthClientID, for id: AccountID, by call: Call
    ) async throws(PostgresError) -> [SecretHash] {
        try await database.query(
            """
            SELECT k.code_hash
            FROM oauth_grants g
            JOIN oauth_chains h ON h.grant_id = g.grant_id
            JOIN oauth_codes k ON k.chain_id = h.chain_id
            WHERE g.account_id = \(id) AND g.client_id = \(clientID.text) AND h.origin = \(OAuthOrigin.web.rawValue)
                AND k.used_at IS NULL AND k.expires_at > \(call.now)
            """, as: SecretHash.self)
    }

    /// The clients that are linked to an account, the oldest link first.
    package func linkedClients(of id: AccountID, by call: Call) async throws(PostgresError) -> [LinkedClient] {
        try await linkedClients(of: id, after: nil, atMost: nil, by: call)
    }

    package func linkedClients(
        of id: AccountID, after cursor: LinkedClientCursor?, limit: Int, by call: Call
    ) async throws(PostgresError) -> Page<LinkedClient, LinkedClientCursor> {
        let clients = try await linkedClients(of: id, after: cursor, atMost: limit + 1, by: call)
        return Page(clients, limit: limit) { LinkedClientCursor(linkedAt: $0.linkedAt, clientID: $0.clientID) }
    }

    private func linkedClients(
        of id: AccountID, after cursor: LinkedClientCursor?, atMost maximum: Int?, by call: Call
    ) async throws(PostgresError) -> [LinkedClient] {
        let isAfter: SQL =
            if let cursor {
                "(g.linked_at, g.client_id) > (\(cursor.linkedAt), \(cursor.clientID.text))"
            } else {
                "true"
            }
        return try await database.query(
            """
            SELECT g.client_id, c.name, g.scopes, g.linked_at, g.last_used_at, c.status
            FROM oauth_grants g
            JOIN oauth_clients c ON c.client_id = g.client_id
            WHERE g.account_id = \(id) AND \(OAuthGrantStore.isLinked(at: call.now)) AND \(isAfter)
            ORDER BY g.linked_at, g.client_id
            LIMIT \(maximum)
            """
        ) { row throws(PostgresError) in
            let (client, name, scopes, linkedAt, lastUsedAt, status) = try row.decode(
                OAuthClientID.self, String.self, [String].self, Timestamp.self, Timestamp?.self,
                OAuthClient.Status.self)
            return LinkedClient(
                clientID: client, name: name, scopes: try OAuthScopes(stored: scopes), linkedAt: linkedAt,
                lastUsedAt: lastUsedAt, isDisabled: status == .disabled)
        }
    }

    // MARK: Ending

    /// Unlinks a client from the account of a session. Browser sessions of the account end, but for this one.
    ///
    /// - Returns: whether the client was linked.
    package func end(_ clientID: OAuthClientID, in session: Session, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            let account = try await change.accounts.lock(of: session)
            return try await change.oauthGrants.end(clientID, of: account, except: session.id)
        }
    }

    /// Unlinks a client from an account, for an administrator.
    ///
    /// - Returns: whether it was linked.
    package func end(_ clientID: OAuthClientID, of id: AccountID, reason: String?, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            guard let account = try await change.accounts.lock(id) else { return false }
            return try await change.oauthGrants.end(clientID, of: account, except: nil, reason: reason)
        }
    }
}

extension Change.OAuthGrants {
    /// Links a client to the account of a session and issues its code.
    func issue(_ code: NewOAuthCode, in session: Session) async throws {
        let account = try await change.accounts.lock(of: session)
        let chain = try await link(
            account, to: code.clientID, named: code.clientName, scopes: code.scopes, from: code.origin)
        _ = try await change.execute(
            """
            INSERT INTO oauth_codes (code_hash, chain_id, redirect_uri, challenge, expires_at)
            VALUES (\(code.hash), \(chain), \(code.redirectURI), \(code.challenge), \(code.expiresAt))
            """)
    }

    /// - Parameter account: locked, or made in this transaction.
    func issue(_ link: NewOAuthLink, for account: Account) async throws(PostgresError) {
        let chain = try await change.onBehalf(of: link.origin).oauthGrants.link(
            account, to: link.client.id, named: link.client.name, scopes: link.scopes, from: .assertion)
        try await insert(link.tokens, scopes: link.scopes, into: chain)
    }

    /// Begins a chain. It is recorded unless a live code waits already, of which the trail knows.
    ///
    /// - Parameter account: locked.
    /// - Returns: the chain.
    fileprivate func link(
        _ account: Account, to clientID: OAuthClientID, named name: String, scopes: OAuthScopes,
        from source: OAuthOrigin
    ) async throws(PostgresError) -> OAuthChainID {
        let grants = try await change.query(
            """
            INSERT INTO oauth_grants AS g (grant_id, account_id, client_id, scopes, linked_at)
            VALUES (\(OAuthGrantID(now: now)), \(account.id), \(clientID.text), \(scopes.texts), \(now))
            ON CONFLICT (account_id, client_id) DO UPDATE
            SET scopes = g.scopes || ARRAY(
                SELECT s FROM unnest(EXCLUDED.scopes) AS s WHERE s <> ALL (g.scopes))
            RETURNING g.grant_id, g.xmax = 0
            """, as: OAuthGrantID.self, Bool.self)
        guard let (grant, isNew) = grants.first else { throw PostgresValue.mismatch("no grant") }
        // Two browsers of a person may be on their way at once. However often one asks again, tokens lose one place.
        let waiting = try await change.query(
            """
            WITH waiting AS (
                SELECT h.chain_id, k.expires_at > \(now) AS is_good,
                    row_number() OVER (ORDER BY h.created_at DESC, h.chain_id DESC) AS place
                FROM oauth_chains h
                JOIN oauth_codes k ON k.chain_id = h.chain_id
                WHERE h.grant_id = \(grant) AND h.origin = \(source.rawValue) AND k.used_at IS NULL
            ), ended AS (
                DELETE FROM oauth_chains h
                USING waiting w
                WHERE h.chain_id = w.chain_id AND NOT (w.is_good AND w.place < \(OAuthGrantStore.codesPerGrant))
            )
            SELECT count(*) FILTER (WHERE is_good) FROM waiting
            """, as: Int64.self)
        let chain = OAuthChainID(now: now)
        _ = try await change.execute(
            """
            INSERT INTO oauth_chains (chain_id, grant_id, origin, scopes, created_at)
            VALUES (\(chain), \(grant), \(source.rawValue), \(scopes.texts), \(now))
            """)
        _ = try await change.execute(
            """
            DELETE FROM oauth_chains
            WHERE chain_id IN (
                SELECT h.chain_id
                FROM oauth_chains h
                WHERE h.grant_id = \(grant) AND h.chain_id <> \(chain)
                    AND NOT EXISTS (SELECT FROM oauth_codes k WHERE k.chain_id = h.chain_id AND k.used_at IS NULL)
                ORDER BY h.created_at DESC, h.chain_id DESC
                OFFSET \(OAuthGrantStore.chainsPerGrant - 1))
            """)
        if waiting == [0] {
            try await change.record(.clientLinked, accountID: account.id, reason: "\(clientID.text) \(source.rawValue)")
        }
        if isNew {
            change.announce(.clientLinked(clientID, by: cause), of: account.id)
            try await change.mail.notify([account.mailbox], of: .clientLinked, clientName: name)
        }
        return chain
    }

    /// Ends a link. The rows of one of which nothing is good wait for the sweep.
    ///
    /// - Parameter account: locked.
    /// - Returns: whether the client was linked.
    func end(
        _ clientID: OAuthClientID, of account: Account, except session: SessionID?, reason: String? = nil
    ) async throws(PostgresError) -> Bool {
        let names = try await change.query(
            """
            DELETE FROM oauth_grants g
            USING oauth_clients c
            WHERE g.account_id = \(account.id) AND g.client_id = \(clientID.text) AND c.client_id = g.client_id
                AND \(OAuthGrantStore.isLinked(at: now))
            RETURNING c.name
            """, as: String.self)
        guard let name = names.first else { return false }
        change.announce(.clientUnlinked(clientID, by: cause), of: account.id)
        try await change.sessions.end(.inBrowsers(of: account.id, except: session), because: .clientUnlinked)
        try await change.record(
            .clientUnlinked, accountID: account.id, reason: AuditEvent.reason(of: clientID.text, reason))
        try await change.mail.notify([account.mailbox], of: .clientUnlinked, clientName: name)
        return true
    }

    /// Locks the grant of a chain: whatever ends a grant takes that first.
    ///
    /// - Parameter chain: the query of its id.
    func lockGrant(ofChain chain: SQL) async throws(PostgresError) {
        _ = try await change.execute(
            """
            SELECT FROM oauth_grants
            WHERE grant_id = (SELECT grant_id FROM oauth_chains WHERE chain_id = (\(chain)))
            FOR UPDATE
            """)
    }

    /// Unlinks every client from an account whose sessions all end.
    ///
    /// - Parameters:
    ///   - id: of an account that is locked.
    ///   - reason: a code, which the audit trail keeps.
    func end(allOf id: AccountID, because reason: SessionEndReason) async throws(PostgresError) {
        let clients = try await change.query(
            "DELETE FROM oauth_grants WHERE account_id = \(id) RETURNING client_id", as: OAuthClientID.self)
        for client in clients { change.announce(.clientUnlinked(client, by: reason.cause ?? cause), of: id) }
        let events = clients.map { client in
            AuditEvent(.clientUnlinked, from: origin, accountID: id, reason: "\(client.text) \(reason.rawValue)")
        }
        try await AuditTrail.record(events.map { ($0, now) }, in: change)
    }
}
