package import Accounts
import OpenSSL
import Postgres
import Primitives

/// The tokens that a chain gets.
package struct NewOAuthTokens: Sendable {
    package struct Refresh: Sendable {
        package let hash: SecretHash
        /// SHA-512 of the SHA-512 of the token (docs/account-linking.md, "What is not there").
        package let fingerprint: [UInt8]

        package init(hash: SecretHash, fingerprint: [UInt8]) {
            self.hash = hash
            self.fingerprint = fingerprint
        }
    }

    package let accessHash: SecretHash
    package let accessExpiresAt: Timestamp
    package let refresh: Refresh

    package init(accessHash: SecretHash, accessExpiresAt: Timestamp, refresh: Refresh) {
        self.accessHash = accessHash
        self.accessExpiresAt = accessExpiresAt
        self.refresh = refresh
    }
}

/// What a client shows with a code.
package struct OAuthCodeProof: Sendable {
    package let client: OAuthClient
    /// What may be granted to the client now.
    package let allowedScopes: OAuthScopes
    package let redirectURI: String?
    /// S256 of the verifier that came; nil for none.
    package let challenge: String?

    package init(client: OAuthClient, allowedScopes: OAuthScopes, redirectURI: String?, challenge: String?) {
        self.client = client
        self.allowedScopes = allowedScopes
        self.redirectURI = redirectURI
        self.challenge = challenge
    }
}

/// The outcome of redeeming a code.
package enum OAuthRedemption: Sendable {
    /// The code is spent, and the tokens are issued. `redirectURI` is where the code was sent to.
    case issued(OAuthScopes, OAuthOrigin, redirectURI: String)
    /// It came a second time: what had come of it is ended.
    case reused
    /// Nothing is issued: the reason is for the audit trail. Unless another client's, the code is spent.
    case rejected(String)
}

extension OAuthGrantStore {
    /// Spends a code and issues tokens for it, in one transaction. Of several tries at once one gets them; the others end
    /// them.
    package func redeem(
        _ hash: SecretHash, by proof: OAuthCodeProof, for tokens: NewOAuthTokens, by call: Call
    ) async throws -> OAuthRedemption {
        try await database.change(by: call) { change in
            guard let code = try await change.oauthGrants.lockCode(hash) else {
                return .rejected("unknown")
            }
            guard code.clientID == proof.client.id else { return .rejected("foreign_client") }
            guard code.usedAt == nil else {
                try await change.oauthGrants.end(code.chainID, because: .codeReused)
                return .reused
            }
            _ = try await change.execute("UPDATE oauth_codes SET used_at = \(call.now) WHERE code_hash = \(hash)")
            if let reason = code.reasonToReject(proof, by: call) { return .rejected(reason) }
            let scopes = code.scopes.intersection(proof.allowedScopes)
            guard !scopes.isEmpty else { return .rejected("scope") }
            try await change.oauthGrants.insert(tokens, scopes: scopes, into: code.chainID)
            _ = try await change.execute(
                "UPDATE oauth_grants SET last_used_at = \(call.now) WHERE grant_id = \(code.grantID)")
            return .issued(scopes, code.origin, redirectURI: code.redirectURI)
        }
    }

    static func insertion(
        ofAccess hash: SecretHash, expiringAt expiresAt: Timestamp, _ scopes: OAuthScopes, into chain: OAuthChainID,
        by call: Call
    ) -> SQL {
        """
        INSERT INTO oauth_access_tokens (token_hash, chain_id, scopes, created_at, expires_at)
        VALUES (\(hash), \(chain), \(scopes.texts), \(call.now), \(expiresAt))
        """
    }

    /// Why a chain ends by itself.
    enum ChainEndReason: String {
        case codeReused = "code_reused"
        case tokenReused = "token_reused"
        case tokenRevoked = "token_revoked"

        /// What is recorded of it, beside the end of the grant.
        var event: AuditEvent.Kind? {
            switch self {
            case .codeReused: .oauthCodeReused
            case .tokenReused: .oauthTokenReused
            case .tokenRevoked: nil
            }
        }
    }
}

private struct StoredOAuthCode: Sendable {
    let grantID: OAuthGrantID
    let chainID: OAuthChainID
    let clientID: OAuthClientID
    let origin: OAuthOrigin
    let scopes: OAuthScopes
    let redirectURI: String
    let challenge: String?
    let expiresAt: Timestamp
    let usedAt: Timestamp?
    let accountStatus: Account.Status

    init(_ row: PostgresRow) throws(PostgresError) {
        let texts: [String]
        (grantID, chainID, clientID, origin, texts, redirectURI, challenge, expiresAt, usedAt, accountStatus) =
            try row.decode(
                OAuthGrantID.self, OAuthChainID.self, OAuthClientID.self, OAuthOrigin.self, [String].self, String.self,
                String?.self, Timestamp.self, Timestamp?.self, Account.Status.self)
        scopes = try OAuthScopes(stored: texts)
    }

    /// Nil for a code that is good. A verifier for a code without a challenge is refused too: PKCE was stripped from
    /// the request (downgrade, RFC 9700 §4.8.2).
    func reasonToReject(_ proof: OAuthCodeProof, by call: Call) -> String? {
        if expiresAt <= call.now { return "expired" }
        if accountStatus != .active { return "account_disabled" }
        switch (challenge, proof.challenge) {
        case (nil, nil):
            // The client must use PKCE since then; a flip's code has none.
            if origin == .web, proof.client.requiresPKCE { return "verifier" }
        case (let asked?, let shown?) where constantTimeEquals(asked, shown): break
        default: return "verifier"
        }
        guard let presented = proof.redirectURI else { return "redirect_uri" }
        let isSame = presented.hasSameBytes(as: redirectURI)
        switch origin {
        case .flip: return isSame || proof.client.registers(presented) ? nil : "redirect_uri"
        case .web, .assertion: return isSame ? nil : "redirect_uri"
        }
    }
}

extension Change.OAuthGrants {
    /// The code with its grant locked, before which nothing that hangs on it is: whatever ends a grant takes them in this
    /// order too.
    fileprivate func lockCode(_ hash: SecretHash) async throws(PostgresError) -> StoredOAuthCode? {
        try await lockGrant(ofChain: "SELECT chain_id FROM oauth_codes WHERE code_hash = \(hash)")
        return try await change.query(
            """
            SELECT h.grant_id, h.chain_id, g.client_id, h.origin, h.scopes, k.redirect_uri, k.challenge, k.expires_at,
                k.used_at, a.status
            FROM oauth_codes k
            JOIN oauth_chains h ON h.chain_id = k.chain_id
            JOIN oauth_grants g ON g.grant_id = h.grant_id
            JOIN accounts a ON a.account_id = g.account_id
            WHERE k.code_hash = \(hash)
            """, as: StoredOAuthCode.init
        ).first
    }

    func insert(_ tokens: NewOAuthTokens, scopes: OAuthScopes, into chain: OAuthChainID) async throws(PostgresError) {
        _ = try await change.execute(
            """
            WITH refresh AS (
                INSERT INTO oauth_refresh_tokens (token_hash, chain_id, fingerprint, created_at)
                VALUES (\(tokens.refresh.hash), \(chain), \(tokens.refresh.fingerprint), \(now))
            )
            \(OAuthGrantStore.insertion(ofAccess: tokens.accessHash, expiringAt: tokens.accessExpiresAt, scopes, into: chain, by: call))
            """)
    }

    /// Ends a chain, and the grant with it when that was its last.
    func end(_ chain: OAuthChainID, because reason: OAuthGrantStore.ChainEndReason) async throws(PostgresError) {
        let ended = try await change.query(
            """
            DELETE FROM oauth_chains h
            USING oauth_grants g
            WHERE h.chain_id = \(chain) AND g.grant_id = h.grant_id
            RETURNING g.grant_id, g.account_id, g.client_id
            """, as: OAuthGrantID.self, AccountID.self, OAuthClientID.self)
        guard let (grant, account, client) = ended.first else { return }
        if let kind = reason.event {
            try await change.record(kind, accountID: account, reason: client.text)
        }
        let isLast =
            try await change.execute(
                """
                DELETE FROM oauth_grants g
                WHERE g.grant_id = \(grant) AND NOT EXISTS (SELECT FROM oauth_chains h WHERE h.grant_id = g.grant_id)
                """) == 1
        guard isLast else { return }
        change.announce(.clientUnlinked(client, by: reason == .tokenRevoked ? .client : .policy), of: account)
        try await noteUnlinking(of: client.text, from: account, because: reason)
    }

    /// Records that a client is linked no more because its last token is gone, and notifies the owner.
    fileprivate func noteUnlinking(
        of client: String, from id: AccountID, because reason: OAuthGrantStore.ChainEndReason
    ) async throws(PostgresError) {
        try await change.record(.clientUnlinked, accountID: id, reason: "\(client) \(reason.rawValue)")
        guard let account = try await AccountStore.account(id, in: change) else { return }
        let names = try await change.query(
            "SELECT name FROM oauth_clients WHERE client_id = \(client)", as: String.self)
        try await change.mail.notify([account.mailbox], of: .clientUnlinked, clientName: names.first)
    }
}
