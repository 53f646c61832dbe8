package import Accounts
package import Postgres

/// A token that opens something, and for what.
package struct LiveOAuthToken: Sendable {
    package let clientID: OAuthClientID
    package let accountID: AccountID
    package let scopes: OAuthScopes
    package let issuedAt: Timestamp
    /// Of an access token.
    package let expiresAt: Timestamp?
}

/// The outcome of a refresh.
package enum OAuthRefresh: Sendable {
    case issued(OAuthScopes)
    /// More was asked for than was granted and may still be, or nothing is left of that. Nothing is issued.
    case scopeExceeded
    /// The token is unknown, ended, or another client's.
    case rejected
    /// The token's successor has been used before, or another token was issued in its place long ago: all that belongs to
    /// it is ended.
    case reused
}

extension OAuthGrantStore {
    /// The interval, in seconds, at which the use of a grant is noted.
    private static let noteInterval: Int64 = 60

    /// For how long, in seconds, a refresh token that was replaced is refused without an end of its chain.
    private static let retrySeconds: Int64 = 60

    /// Issues an access token for a refresh token, which stays as it is: one statement.
    ///
    /// - Parameters:
    ///   - scopes: fewer than were granted; nil for all.
    ///   - allowed: what may be granted to the client now.
    package func refresh(
        _ hash: [UInt8], of clientID: OAuthClientID, scopes: OAuthScopes?, within allowed: OAuthScopes,
        accessHash: [UInt8], accessExpiresAt: Timestamp, at now: Timestamp
    ) async throws(PostgresError) -> OAuthRefresh {
        let noted = now.advanced(bySeconds: -OAuthGrantStore.noteInterval)
        let rows: [(granted: [String], isAllowed: Bool)]
        do {
            rows = try await database.query(
                """
                WITH found AS (
                    SELECT h.chain_id, k.scopes, g.grant_id, g.last_used_at,
                        COALESCE(\(scopes?.texts), k.scopes) AS requested
                    FROM oauth_refresh_tokens r
                    JOIN oauth_chains h ON h.chain_id = r.chain_id
                    JOIN oauth_grants g ON g.grant_id = h.grant_id
                    JOIN accounts a ON a.account_id = g.account_id
                    CROSS JOIN LATERAL (
                        SELECT ARRAY(
                            SELECT s FROM unnest(h.scopes) WITH ORDINALITY AS u (s, n)
                            WHERE s = ANY (\(allowed.texts)) ORDER BY n) AS scopes
                    ) k
                    WHERE r.token_hash = \(hash) AND r.superseded_at IS NULL AND g.client_id = \(clientID.text)
                        AND a.status = 'active'
                ), issued AS (
                    INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
                    SELECT \(accessHash), f.chain_id, f.requested, \(now), \(accessExpiresAt)
                    FROM found f
                    WHERE f.requested <@ f.scopes AND cardinality(f.requested) > 0
                ), noted AS (
                    UPDATE oauth_grants g
                    SET last_used_at = \(now)
                    FROM found f
                    WHERE g.grant_id = f.grant_id AND (f.last_used_at IS NULL OR f.last_used_at <= \(noted))
                )
                SELECT f.requested, f.requested <@ f.scopes AND cardinality(f.requested) > 0
                FROM found f
                """
            ) { row throws(PostgresError) in try row.decode([String].self, Bool.self) }
        } catch  where error.isForeignKeyViolation(of: "oauth_access_tokens_chain_id_fkey") {
            // The grant ended meanwhile.
            return .rejected
        }
        guard let (granted, isAllowed) = rows.first else { return .rejected }
        return isAllowed ? .issued(try OAuthScopes(stored: granted)) : .scopeExceeded
    }

    /// Issues an access token and a new refresh token. The one that came stays good until the new one is used; an unused
    /// successor of it is replaced. One whose successor was used ends the chain (RFC 9700 §4.14.2), and so does one that was
    /// replaced: its holder is not who replaced it. For a minute it is only refused, because a client that refreshes twice
    /// at once, or again after a lost answer, has both.
    package func rotate(
        _ hash: [UInt8], of clientID: OAuthClientID, scopes: OAuthScopes?, within allowed: OAuthScopes,
        to tokens: NewOAuthTokens, at now: Timestamp, from origin: ChangeOrigin
    ) async throws -> OAuthRefresh {
        try await database.transaction(retries: 2) { transaction in
            _ = try await transaction.execute(
                """
                SELECT FROM oauth_grants g
                WHERE g.grant_id = (
                    SELECT h.grant_id
                    FROM oauth_refresh_tokens r
                    JOIN oauth_chains h ON h.chain_id = r.chain_id
                    WHERE r.token_hash = \(hash))
                FOR UPDATE
                """)
            let rows = try await transaction.query(
                """
                SELECT h.chain_id, h.scopes, g.grant_id, r.predecessor_hash, r.superseded_at, EXISTS (
                    SELECT FROM oauth_refresh_tokens s
                    WHERE s.chain_id = r.chain_id AND s.predecessor_hash = r.token_hash)
                FROM oauth_refresh_tokens r
                JOIN oauth_chains h ON h.chain_id = r.chain_id
                JOIN oauth_grants g ON g.grant_id = h.grant_id
                JOIN accounts a ON a.account_id = g.account_id
                WHERE r.token_hash = \(hash) AND g.client_id = \(clientID.text) AND a.status = 'active'
                """
            ) { row throws(PostgresError) in
                try row.decode(
                    OAuthChainID.self, [String].self, OAuthGrantID.self, [UInt8]?.self, Timestamp?.self, Bool.self)
            }
            guard let (chain, texts, grant, predecessor, supersededAt, hasSuccessor) = rows.first else {
                return .rejected
            }
            if let supersededAt {
                // Without a successor it was never used, but replaced.
                if !hasSuccessor, now < supersededAt.advanced(bySeconds: OAuthGrantStore.retrySeconds) {
                    return .rejected
                }
                try await OAuthGrantStore.end(
                    chain, because: .tokenReused, at: now, from: origin, in: transaction)
                return .reused
            }
            let granted = try OAuthScopes(stored: texts).intersection(allowed)
            let requested = scopes ?? granted
            guard !requested.isEmpty, requested.isSubset(of: granted) else { return .scopeExceeded }
            if let predecessor {
                _ = try await transaction.execute(
                    """
                    UPDATE oauth_refresh_tokens
                    SET superseded_at = COALESCE(superseded_at, \(now))
                    WHERE token_hash = \(predecessor)
                    """)
            }
            _ = try await transaction.execute(
                """
                UPDATE oauth_refresh_tokens
                SET superseded_at = \(now)
                WHERE chain_id = \(chain) AND predecessor_hash = \(hash) AND superseded_at IS NULL
                """)
            try await OAuthGrantStore.insert(tokens, scopes: requested, into: chain, at: now, in: transaction)
            _ = try await transaction.execute(
                """
                UPDATE oauth_refresh_tokens
                SET predecessor_hash = \(hash)
                WHERE token_hash = \(tokens.refresh.hash)
                """)
            _ = try await transaction.execute(
                "UPDATE oauth_grants SET last_used_at = \(now) WHERE grant_id = \(grant)")
            return .issued(requested)
        }
    }

    /// An access token of any client, if it opens something now: the account and the client are active.
    package func accessToken(_ hash: [UInt8], at now: Timestamp) async throws(PostgresError) -> LiveOAuthToken? {
        try await token(
            """
            SELECT g.client_id, g.account_id, t.scopes, t.created_at, t.expires_at
            FROM oauth_access_tokens t
            JOIN oauth_chains h ON h.chain_id = t.chain_id
            JOIN oauth_grants g ON g.grant_id = h.grant_id
            JOIN oauth_clients c ON c.client_id = g.client_id AND c.status = 'active'
            JOIN accounts a ON a.account_id = g.account_id AND a.status = 'active'
            WHERE t.token_hash = \(hash) AND t.expires_at > \(now)
            """)
    }

    /// A refresh token likewise.
    package func refreshToken(_ hash: [UInt8]) async throws(PostgresError) -> LiveOAuthToken? {
        try await token(
            """
            SELECT g.client_id, g.account_id, h.scopes, r.created_at, NULL::timestamptz
            FROM oauth_refresh_tokens r
            JOIN oauth_chains h ON h.chain_id = r.chain_id
            JOIN oauth_grants g ON g.grant_id = h.grant_id
            JOIN oauth_clients c ON c.client_id = g.client_id AND c.status = 'active'
            JOIN accounts a ON a.account_id = g.account_id AND a.status = 'active'
            WHERE r.token_hash = \(hash) AND r.superseded_at IS NULL
            """)
    }

    private func token(_ statement: SQL) async throws(PostgresError) -> LiveOAuthToken? {
        let rows = try await database.query(statement) { row throws(PostgresError) in
            let (client, account, scopes, issuedAt, expiresAt) = try row.decode(
                OAuthClientID.self, AccountID.self, [String].self, Timestamp.self, Timestamp?.self)
            return LiveOAuthToken(
                clientID: client, accountID: account, scopes: try OAuthScopes(stored: scopes), issuedAt: issuedAt,
                expiresAt: expiresAt)
        }
        return rows.first
    }

    /// Revokes a token of a client (RFC 7009): a refresh token with all that belongs to it, an access token by itself.
    /// When nothing of the grant is left, it ends. The token of another client stays, which is recorded.
    package func revoke(
        _ hash: [UInt8], by clientID: OAuthClientID, at now: Timestamp, from origin: ChangeOrigin
    ) async throws {
        try await database.transaction(retries: 2) { transaction in
            let rows = try await transaction.query(
                """
                SELECT h.chain_id, g.client_id, g.account_id, t.is_refresh
                FROM (
                    SELECT chain_id, true AS is_refresh FROM oauth_refresh_tokens WHERE token_hash = \(hash)
                    UNION ALL
                    SELECT chain_id, false FROM oauth_access_tokens WHERE token_hash = \(hash)
                ) t
                JOIN oauth_chains h ON h.chain_id = t.chain_id
                JOIN oauth_grants g ON g.grant_id = h.grant_id
                """
            ) { row throws(PostgresError) in
                try row.decode(OAuthChainID.self, OAuthClientID.self, AccountID.self, Bool.self)
            }
            guard let (chain, owner, account, isRefresh) = rows.first else { return }
            guard owner == clientID else {
                try await AuditTrail.record(
                    AuditEvent(
                        .foreignTokenPresented, from: origin, accountID: account,
                        reason: "\(clientID.text) revoke"), at: now, in: transaction)
                return
            }
            if isRefresh {
                // Whatever ends a grant locks that first.
                _ = try await transaction.execute(
                    """
                    SELECT FROM oauth_grants
                    WHERE grant_id = (SELECT grant_id FROM oauth_chains WHERE chain_id = \(chain))
                    FOR UPDATE
                    """)
                try await OAuthGrantStore.end(
                    chain, because: .tokenRevoked, at: now, from: origin, in: transaction)
            } else {
                _ = try await transaction.execute("DELETE FROM oauth_access_tokens WHERE token_hash = \(hash)")
            }
        }
    }

    // MARK: - Sweeping

    /// Deletes what is over: access tokens and codes after their end, superseded refresh tokens, and the chains and grants
    /// that have nothing left.
    ///
    /// - Returns: the number of deleted rows of the kind with the most.
    package func sweep(at now: Timestamp, endedBefore ended: Timestamp, limit: Int) async throws -> Int {
        let superseded = now.advanced(bySeconds: -Lifetimes.supersededTokenSeconds)
        let access = try await database.execute(
            """
            DELETE FROM oauth_access_tokens
            WHERE token_hash = ANY (ARRAY(
                SELECT token_hash FROM oauth_access_tokens WHERE expires_at < \(now) LIMIT \(limit)
                FOR UPDATE SKIP LOCKED))
            """)
        let codes = try await sweepCodes(endedBefore: ended, limit: limit)
        let old = try await database.execute(
            """
            DELETE FROM oauth_refresh_tokens
            WHERE token_hash = ANY (ARRAY(
                SELECT token_hash FROM oauth_refresh_tokens WHERE superseded_at < \(superseded) LIMIT \(limit)
                FOR UPDATE SKIP LOCKED))
            """)
        return max(access, codes, old)
    }

    /// A code that nobody has redeemed takes its chain with it, and the grant that has no other.
    ///
    /// - Returns: the number of deleted codes.
    private func sweepCodes(endedBefore ended: Timestamp, limit: Int) async throws -> Int {
        try await database.transaction(retries: 2) { transaction in
            // Whatever ends a grant locks that first. Each statement after this one sees what was linked until the locks
            // were there.
            let grants = try await transaction.query(
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
                """
            ) { row throws(PostgresError) in try row.decode(OAuthGrantID.self) }
            let codes = try await transaction.execute(
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
            _ = try await transaction.execute(
                """
                DELETE FROM oauth_grants g
                WHERE g.grant_id = ANY (\(grants))
                    AND NOT EXISTS (SELECT FROM oauth_chains h WHERE h.grant_id = g.grant_id)
                """)
            return codes
        }
    }
}
