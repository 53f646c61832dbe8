package import Accounts
package import Postgres

/// The outcome of a refresh.
package enum OAuthRefresh: Sendable {
    /// `successor` is nil where the client keeps the token that it has.
    case issued(OAuthScopes, successor: OAuthSuccessor? = nil)
    /// More was asked for than was granted and may still be, or nothing is left of that. Nothing is issued.
    case scopeExceeded
    /// The token is unknown, ended, or another client's.
    case rejected
    /// The token's successor has been used before, or another token was issued in its place: all that belongs to it is
    /// ended.
    case reused
}

/// A refresh token that is presented for an access token, and stays as it is.
package struct OAuthRefreshRequest: Sendable {
    package let hash: SecretHash
    package let clientID: OAuthClientID
    /// Fewer than were granted; nil for all.
    package let scopes: OAuthScopes?
    /// What may be granted to the client now.
    package let allowed: OAuthScopes
    package let accessHash: SecretHash
    package let accessExpiresAt: Timestamp
    package let now: Timestamp

    package init(
        hash: SecretHash, clientID: OAuthClientID, scopes: OAuthScopes?, within allowed: OAuthScopes,
        accessHash: SecretHash, accessExpiresAt: Timestamp, by call: Call
    ) {
        self.hash = hash
        self.clientID = clientID
        self.scopes = scopes
        self.allowed = allowed
        self.accessHash = accessHash
        self.accessExpiresAt = accessExpiresAt
        now = call.now
    }
}

/// The refreshes of clients that keep their refresh token, as Google does: those that come at once share a statement and
/// a commit.
package struct OAuthRefreshes: Sendable {
    private let refreshes: StatementBatcher<OAuthRefreshRequest, Result<OAuthRefresh, PostgresError>>

    package init(database: Database) {
        refreshes = StatementBatcher(timeout: database.configuration.acquireTimeout, endsWithTask: true) {
            (requests, lockWait) throws(PostgresError) in
            try await database.run(lockWait) { session throws(PostgresError) in
                try await OAuthRefreshes.refresh(requests, lockWait, in: session)
            }
        }
    }

    /// Issues an access token for a refresh token. The use of the grant is noted once a minute.
    package func refresh(_ request: OAuthRefreshRequest) async throws(PostgresError) -> OAuthRefresh {
        try await refreshes.answer(request).get()
    }

    /// One statement for all requests; `position` assigns its rows to their request. It is planned once, as
    /// ``IdentityStore``'s is. A grant that another transaction has locked is noted by the next refresh.
    private static func refresh(
        _ requests: [OAuthRefreshRequest], _ lockWait: LockWait, in session: any PostgresSession
    ) async throws(PostgresError) -> [Result<OAuthRefresh, PostgresError>] {
        let rows = try await session.query(
            """
            WITH posted AS MATERIALIZED (
                SELECT \(requests.map(\.hash)) AS token_hashes, \(requests.map(\.clientID.text)) AS client_ids,
                    \(requests.map { $0.scopes?.description }) AS scope_lists,
                    \(requests.map(\.allowed.description)) AS allowed_lists,
                    \(requests.map(\.accessHash)) AS access_hashes, \(requests.map(\.now)) AS nows,
                    \(requests.map(\.accessExpiresAt)) AS expiry_times
            ), found AS (
                SELECT p.position, p.access_hash, p.now, p.expires_at, f.chain_id, f.grant_id, f.last_used_at, f.requested,
                    f.requested <@ f.scopes AND cardinality(f.requested) > 0 AS is_allowed
                FROM posted
                CROSS JOIN LATERAL unnest(
                    token_hashes, client_ids, scope_lists, allowed_lists, access_hashes, nows, expiry_times
                ) WITH ORDINALITY AS p (token_hash, client_id, scopes, allowed, access_hash, now, expires_at, position)
                CROSS JOIN LATERAL (
                    SELECT h.chain_id, g.grant_id, g.last_used_at, k.scopes,
                        COALESCE(string_to_array(p.scopes, ' '), k.scopes) AS requested
                    FROM oauth_refresh_tokens r
                    JOIN oauth_chains h ON h.chain_id = r.chain_id
                    JOIN oauth_grants g ON g.grant_id = h.grant_id
                    CROSS JOIN LATERAL (
                        SELECT ARRAY(
                            SELECT s FROM unnest(h.scopes) WITH ORDINALITY AS u (s, n)
                            WHERE s = ANY (string_to_array(p.allowed, ' ')) ORDER BY n) AS scopes
                    ) k
                    WHERE r.token_hash = p.token_hash AND r.superseded_at IS NULL AND g.client_id = p.client_id
                        -- Looked up by its key; of a join, the planner begins with the accounts where they are few.
                        AND (SELECT a.status FROM accounts a WHERE a.account_id = g.account_id) = 'active'
                    LIMIT 1
                    -- What the access token's foreign key would lock later: a transaction that ends the chain comes before
                    -- or after this one.
                    FOR KEY SHARE OF h \(lockWait.clause)
                ) f
            ), issued AS (
                INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
                SELECT f.access_hash, f.chain_id, f.requested, f.now, f.expires_at
                FROM found f
                WHERE f.is_allowed
            ), noted AS (
                UPDATE oauth_grants g
                SET last_used_at = f.now
                FROM (
                    SELECT DISTINCT ON (grant_id) grant_id, now
                    FROM found
                    WHERE position BETWEEN 1 AND 1000
                        AND (last_used_at IS NULL OR last_used_at <= now - interval '1 minute')
                    ORDER BY grant_id, position
                ) f
                CROSS JOIN LATERAL (
                    SELECT free.grant_id
                    FROM oauth_grants free
                    WHERE free.grant_id = f.grant_id
                    FOR NO KEY UPDATE SKIP LOCKED
                ) free
                WHERE g.grant_id = free.grant_id
            )
            SELECT f.position, f.requested, f.is_allowed
            FROM found f
            """
        ) { row throws(PostgresError) in
            // A row that can't be read fails its own request: the others of the batch have their tokens by now.
            (
                try Int(from: row[0]),
                Result { () throws(PostgresError) in
                    let (_, requested, isAllowed) = try row.decode(Int.self, [String].self, Bool.self)
                    return isAllowed ? OAuthRefresh.issued(try OAuthScopes(stored: requested)) : .scopeExceeded
                }
            )
        }
        return await Array(rows, answering: requests.count, missing: .rejected, in: session)
    }
}
