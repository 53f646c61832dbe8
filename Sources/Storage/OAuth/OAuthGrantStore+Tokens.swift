package import Accounts
import OpenSSL
package import Postgres

/// A token that opens something, and for what.
package struct LiveOAuthToken: Sendable {
    package let clientID: OAuthClientID
    package let accountID: AccountID
    private let granted: OAuthScopes
    /// What may be granted to the client now; nil for all that are configured.
    private let clientScopes: OAuthScopes?
    package let issuedAt: Timestamp
    /// Of an access token.
    package let expiresAt: Timestamp?

    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        let texts: [String]
        let clientTexts: [String]?
        (clientID, accountID, texts, clientTexts, issuedAt, expiresAt) = try row.decode(
            OAuthClientID.self, AccountID.self, [String].self, [String]?.self, Timestamp.self, Timestamp?.self)
        granted = try OAuthScopes(stored: texts)
        clientScopes = try clientTexts.map(OAuthScopes.init(stored:))
    }

    /// What was granted and may still be.
    ///
    /// - Parameter configured: the scopes of the server.
    package func scopes(of configured: OAuthScopes) -> OAuthScopes {
        granted.intersection(clientScopes.map(configured.intersection) ?? configured)
    }
}

/// A refresh token that takes the place of another.
package struct OAuthSuccessor: Sendable {
    package let text: String
    package let stored: NewOAuthTokens.Refresh

    package init(text: String, stored: NewOAuthTokens.Refresh) {
        self.text = text
        self.stored = stored
    }
}

extension OAuthGrantStore {
    /// Issues an access token and the refresh token's successor, as `OAuthTokenLineage` decides. The one that came stays
    /// good until its successor is used.
    ///
    /// - Parameter successors: what takes the token's place if it is issued at a time: that of each line of the key ring,
    ///   first of the line that writes.
    package func rotate(
        _ hash: SecretHash, of clientID: OAuthClientID, scopes: OAuthScopes?, within allowed: OAuthScopes,
        accessHash: SecretHash, accessExpiresAt: Timestamp, by call: Call,
        successors: @Sendable (_ time: Timestamp) throws -> [OAuthSuccessor]
    ) async throws -> OAuthRefresh {
        try await database.change(by: call) { change in
            guard let token = try await change.oauthGrants.lockToken(hash, of: clientID) else {
                return .rejected
            }
            let decision = token.lineage.presented(at: call.now)
            guard decision != .reused else {
                try await change.oauthGrants.end(token.chainID, because: .tokenReused)
                return .reused
            }
            let granted = token.scopes.intersection(allowed)
            let requested = scopes ?? granted
            guard !requested.isEmpty, requested.isSubset(of: granted) else { return .scopeExceeded }
            let successor: OAuthSuccessor
            // The line of the key ring may have gone that the same one was derived from.
            if case .repeated(let time) = decision, let same = token.successor(among: try successors(time)) {
                successor = same
            } else if let next = try successors(call.now).first {
                successor = next
                try await change.oauthGrants.replace(token, hash, by: next)
            } else {
                return .rejected
            }
            _ = try await change.execute(
                OAuthGrantStore.insertion(
                    ofAccess: accessHash, expiringAt: accessExpiresAt, requested, into: token.chainID, by: call))
            _ = try await change.execute(
                "UPDATE oauth_grants SET last_used_at = \(call.now) WHERE grant_id = \(token.grantID)")
            return .issued(requested, successor: successor)
        }
    }

    /// An access token of any client, if it opens something now: the account and the client are active.
    package func accessToken(_ hash: SecretHash, by call: Call) async throws(PostgresError) -> LiveOAuthToken? {
        try await token(
            """
            SELECT g.client_id, g.account_id, t.scopes, c.scopes, t.created_at, t.expires_at
            FROM oauth_access_tokens t
            JOIN oauth_chains h ON h.chain_id = t.chain_id
            JOIN oauth_grants g ON g.grant_id = h.grant_id
            JOIN oauth_clients c ON c.client_id = g.client_id AND c.status = 'active'
            JOIN accounts a ON a.account_id = g.account_id AND a.status = 'active'
            WHERE t.token_hash = \(hash) AND t.expires_at > \(call.now)
            """)
    }

    /// A refresh token likewise.
    package func refreshToken(_ hash: SecretHash) async throws(PostgresError) -> LiveOAuthToken? {
        try await token(
            """
            SELECT g.client_id, g.account_id, h.scopes, c.scopes, r.created_at, NULL::timestamptz
            FROM oauth_refresh_tokens r
            JOIN oauth_chains h ON h.chain_id = r.chain_id
            JOIN oauth_grants g ON g.grant_id = h.grant_id
            JOIN oauth_clients c ON c.client_id = g.client_id AND c.status = 'active'
            JOIN accounts a ON a.account_id = g.account_id AND a.status = 'active'
            WHERE r.token_hash = \(hash) AND r.superseded_at IS NULL
            """)
    }

    private func token(_ statement: SQL) async throws(PostgresError) -> LiveOAuthToken? {
        try await database.query(statement, as: LiveOAuthToken.init).first
    }

    /// Revokes a token of a client (RFC 7009): a refresh token with all that belongs to it, an access token by itself.
    /// When nothing of the grant is left, it ends. The token of another client stays, which is recorded.
    package func revoke(_ hash: SecretHash, of clientID: OAuthClientID, by call: Call) async throws {
        try await database.change(by: call) { change in
            let rows = try await change.query(
                """
                SELECT h.chain_id, g.client_id, g.account_id, t.is_refresh
                FROM (
                    SELECT chain_id, true AS is_refresh FROM oauth_refresh_tokens WHERE token_hash = \(hash)
                    UNION ALL
                    SELECT chain_id, false FROM oauth_access_tokens WHERE token_hash = \(hash)
                ) t
                JOIN oauth_chains h ON h.chain_id = t.chain_id
                JOIN oauth_grants g ON g.grant_id = h.grant_id
                """, as: OAuthChainID.self, OAuthClientID.self, AccountID.self, Bool.self)
            guard let (chain, owner, account, isRefresh) = rows.first else { return }
            guard owner == clientID else {
                try await change.record(.foreignTokenPresented, accountID: account, reason: "\(clientID.text) revoke")
                return
            }
            if isRefresh {
                try await change.oauthGrants.lockGrant(ofChain: "SELECT \(chain)")
                try await change.oauthGrants.end(chain, because: .tokenRevoked)
            } else {
                _ = try await change.execute("DELETE FROM oauth_access_tokens WHERE token_hash = \(hash)")
            }
        }
    }

    // MARK: - Sweeping

    /// Deletes what is over: access tokens and codes after their end, superseded refresh tokens, and the chains and grants
    /// that have nothing left.
    ///
    /// - Returns: the number of deleted rows of the kind with the most.
    package func sweep(by call: Call, endedBefore ended: Timestamp, limit: Int) async throws -> Int {
        let superseded = call.now.advanced(bySeconds: -Lifetimes.supersededTokenSeconds)
        let access = try await database.delete(
            from: "oauth_access_tokens", where: "expires_at < \(call.now)", limit: limit)
        let codes = try await sweepCodes(endedBefore: ended, limit: limit, by: call)
        let old = try await database.delete(
            from: "oauth_refresh_tokens", where: "superseded_at < \(superseded)", limit: limit)
        return max(access, codes, old)
    }

    /// Deleting an unredeemed code deletes its chain too, and a grant that is left without one.
    ///
    /// - Returns: the number of deleted codes.
    private func sweepCodes(endedBefore ended: Timestamp, limit: Int, by call: Call) async throws -> Int {
        try await database.change(by: call) { change in
            // Whatever ends a grant locks that first. Each statement after this one sees what was linked until the locks
            // were there.
            let grants = try await change.query(
                """
                SELECT g.grant_id
                FROM oauth_grants g
                WHERE g.grant_id IN (
                    SELECT h.grant_id
                    FROM oauth_codes k
                    JOIN oauth_chains h ON h.chain_id = k.chain_id
                    WHERE k.expires_at < \(ended)
                    LIMIT \(limit))
                FOR UPDATE SKIP LOCKED
                """, as: OAuthGrantID.self)
            let codes = try await change.execute(
                """
                WITH over AS (
                    DELETE FROM oauth_codes k
                    USING oauth_chains h
                    WHERE h.chain_id = k.chain_id AND h.grant_id = ANY (\(grants)) AND k.expires_at < \(ended)
                    RETURNING k.chain_id
                ), chains AS (
                    DELETE FROM oauth_chains h
                    USING over
                    WHERE h.chain_id = over.chain_id
                        AND NOT EXISTS (SELECT FROM oauth_refresh_tokens r WHERE r.chain_id = h.chain_id)
                )
                SELECT FROM over
                """)
            let unlinked = try await change.query(
                """
                DELETE FROM oauth_grants g
                WHERE g.grant_id = ANY (\(grants))
                    AND NOT EXISTS (SELECT FROM oauth_chains h WHERE h.grant_id = g.grant_id)
                RETURNING g.account_id, g.client_id
                """, as: AccountID.self, OAuthClientID.self)
            for (account, client) in unlinked { change.announce(.clientUnlinked(client, by: .policy), of: account) }
            return codes
        }
    }
}

/// A refresh token of a client that rotates them.
private struct RotatingToken: Sendable {
    let chainID: OAuthChainID
    let scopes: OAuthScopes
    let grantID: OAuthGrantID
    /// The hash of the token that it was issued for.
    let predecessor: SecretHash?
    let lineage: OAuthTokenLineage
    /// The hash of the unused token that was issued for it.
    private let successor: SecretHash?

    init(_ row: PostgresRow) throws(PostgresError) {
        let (chain, texts, grant, predecessor, isSuperseded, successor, issuedAt) = try row.decode(
            OAuthChainID.self, [String].self, OAuthGrantID.self, SecretHash?.self, Bool.self, SecretHash?.self,
            Timestamp?.self)
        chainID = chain
        scopes = try OAuthScopes(stored: texts)
        grantID = grant
        self.predecessor = predecessor
        lineage = OAuthTokenLineage(isSuperseded: isSuperseded, successorIssuedAt: issuedAt)
        self.successor = successor
    }

    /// The one of those that is its successor.
    func successor(among candidates: [OAuthSuccessor]) -> OAuthSuccessor? {
        successor.flatMap { hash in candidates.first { constantTimeEquals($0.stored.hash.bytes, hash.bytes) } }
    }
}

extension Change.OAuthGrants {
    /// The refresh token of a client, with its grant locked.
    fileprivate func lockToken(
        _ hash: SecretHash, of clientID: OAuthClientID
    ) async throws(PostgresError) -> RotatingToken? {
        try await lockGrant(ofChain: "SELECT chain_id FROM oauth_refresh_tokens WHERE token_hash = \(hash)")
        return try await change.query(
            """
            SELECT h.chain_id, h.scopes, g.grant_id, r.predecessor_hash, r.superseded_at IS NOT NULL, s.token_hash,
                s.created_at
            FROM oauth_refresh_tokens r
            JOIN oauth_chains h ON h.chain_id = r.chain_id
            JOIN oauth_grants g ON g.grant_id = h.grant_id
            JOIN accounts a ON a.account_id = g.account_id
            LEFT JOIN oauth_refresh_tokens s
                ON s.chain_id = r.chain_id AND s.predecessor_hash = r.token_hash AND s.superseded_at IS NULL
            WHERE r.token_hash = \(hash) AND g.client_id = \(clientID.text) AND a.status = 'active'
            """, as: RotatingToken.init
        ).first
    }

    /// Supersedes what the token has replaced, whose holder has the token then, and an unused successor of it.
    fileprivate func replace(
        _ token: RotatingToken, _ hash: SecretHash, by successor: OAuthSuccessor
    ) async throws(PostgresError) {
        _ = try await change.execute(
            """
            UPDATE oauth_refresh_tokens
            SET superseded_at = \(now)
            WHERE chain_id = \(token.chainID) AND superseded_at IS NULL
                AND (token_hash = \(token.predecessor) OR predecessor_hash = \(hash))
            """)
        _ = try await change.execute(
            """
            INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, predecessor_hash, created_at)
            VALUES (\(successor.stored.hash), \(token.chainID), \(successor.stored.fingerprint), \(hash), \(now))
            """)
    }
}
