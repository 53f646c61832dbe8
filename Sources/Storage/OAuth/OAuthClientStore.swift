package import Accounts
package import OpenSSL
package import Postgres

/// A client, and what its secret is compared with.
package struct StoredOAuthClient: Sendable {
    package let client: OAuthClient
    /// SHA-256.
    package let secretHash: SecretBytes
    /// That of the secret before, which may count no more.
    package let previousSecretHash: SecretBytes?
}

/// `oauth_clients`: the clients of the OAuth server. One is disabled and enabled, never deleted: grants and trail name it.
package struct OAuthClientStore: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    package func create(_ client: OAuthClient, secretHash: SecretHash, by call: Call) async throws {
        try await database.change(by: call) { change in
            _ = try await change.execute(
                """
                INSERT INTO oauth_clients (client_id, name, redirect_uris, scopes, assertion_audiences, require_pkce,
                    rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
                VALUES (\(client.id.text), \(client.name), \(client.redirectURIs.map(\.text)), \(client.scopes?.texts),
                    \(client.assertionAudiences), \(client.requiresPKCE), \(client.rotatesRefresh),
                    \(client.createsAccounts), \(client.introspects), \(client.status.rawValue), \(secretHash),
                    \(client.createdAt))
                """)
            try await change.record(.oauthClientCreated, reason: client.id.text)
        }
    }

    package func client(_ id: OAuthClientID) async throws(PostgresError) -> StoredOAuthClient? {
        try await database.query(
            "SELECT \(OAuthClientStore.columns) FROM oauth_clients WHERE client_id = \(id.text)",
            as: OAuthClientStore.client
        ).first
    }

    /// A page of all clients, in the order of their ids.
    package func list(
        after cursor: OAuthClientID?, limit: Int
    ) async throws(PostgresError) -> Page<OAuthClient, OAuthClientID> {
        let clients = try await database.query(
            """
            SELECT \(OAuthClientStore.columns)
            FROM oauth_clients
            WHERE client_id > \(cursor?.text ?? "")
            ORDER BY client_id
            LIMIT \(limit + 1)
            """, as: OAuthClientStore.client)
        return Page(clients.map(\.client), limit: limit, cursor: \.id)
    }

    /// Whether any client is Google: then what is announced holds for all.
    package func hasGoogles() async throws(PostgresError) -> Bool {
        try await database.query(
            """
            SELECT EXISTS (
                SELECT FROM oauth_clients, unnest(redirect_uris) AS uri
                WHERE uri LIKE ANY (\(OAuthClientStore.googlesPatterns)))
            """, as: Bool.self
        ).first ?? false
    }

    /// Changes a client, except for its secrets and its status, under the lock of its row. It is recorded where anything
    /// differs.
    ///
    /// - Parameter edit: what becomes of the client as it is stored.
    /// - Returns: the client as it is now; `nil` when there is none.
    package func change(
        _ id: OAuthClientID, by call: Call, _ edit: @Sendable (inout OAuthClient) -> Void
    ) async throws -> OAuthClient? {
        try await database.change(by: call) { change in
            guard var client = try await change.oauthClients.lock(id) else { return nil }
            edit(&client)
            let columns: SQL = """
                (name, redirect_uris, scopes, assertion_audiences, require_pkce, rotate_refresh, streamlined_create,
                    introspect)
                """
            let values: SQL = """
                (\(client.name), \(client.redirectURIs.map(\.text)), \(client.scopes?.texts),
                    \(client.assertionAudiences), \(client.requiresPKCE), \(client.rotatesRefresh),
                    \(client.createsAccounts), \(client.introspects))
                """
            // By the database: names that are equal here may have other octets.
            try await change.oauthClients.update(
                id, "\(columns) = \(values)", where: "\(columns) IS DISTINCT FROM \(values)", "changed")
            return client
        }
    }

    /// A secret that an earlier rotation has kept counts no more.
    ///
    /// - Parameter keptUntil: until when the secret before counts beside the new one; nil for not at all.
    /// - Returns: the client as it was before; `nil` when there is none.
    package func rotateSecret(
        of id: OAuthClientID, to hash: SecretHash, keepingOldUntil keptUntil: Timestamp?, by call: Call
    ) async throws -> OAuthClient? {
        try await database.change(by: call) { change in
            guard let client = try await change.oauthClients.lock(id) else { return nil }
            try await change.oauthClients.update(
                id,
                """
                previous_secret_hash = CASE WHEN \(keptUntil)::timestamptz IS NULL THEN NULL ELSE secret_hash END,
                previous_secret_expires_at = \(keptUntil), secret_hash = \(hash)
                """, "secret_rotated")
            return client
        }
    }

    /// Disables or enables a client, and records it unless it is so already.
    ///
    /// - Returns: whether there is such a client.
    package func setStatus(of id: OAuthClientID, to status: OAuthClient.Status, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            guard try await change.oauthClients.lock(id) != nil else { return false }
            try await change.oauthClients.update(
                id, "status = \(status.rawValue)", where: "status <> \(status.rawValue)",
                status == .active ? "enabled" : "disabled")
            return true
        }
    }

    private static let googlesPatterns =
        ["https://oauth-redirect.googleusercontent.com/%"] + [
            "https://oauth-redirect-sandbox.googleusercontent.com/%"
        ]

    fileprivate static let columns: SQL = """
        client_id, name, redirect_uris, scopes, assertion_audiences, require_pkce, rotate_refresh, streamlined_create,
        introspect, status, created_at, secret_hash, previous_secret_hash, previous_secret_expires_at
        """

    fileprivate static func client(_ row: PostgresRow) throws(PostgresError) -> StoredOAuthClient {
        let (
            id, name, uris, scopes, audiences, pkce, rotates, creates, introspects, status, created, hash, previous,
            until
        ) = try row.decode(
            OAuthClientID.self, String.self, [String].self, [String]?.self, [String].self, Bool.self, Bool.self,
            Bool.self, Bool.self, OAuthClient.Status.self, Timestamp.self, [UInt8].self, [UInt8]?.self, Timestamp?.self)
        let client = OAuthClient(
            id: id, name: name, redirectURIs: uris.compactMap(OAuthRedirectURI.init(registering:)),
            scopes: try scopes.map(OAuthScopes.init(stored:)), assertionAudiences: audiences, requiresPKCE: pkce,
            rotatesRefresh: rotates, createsAccounts: creates, introspects: introspects, status: status,
            createdAt: created, previousSecretExpiresAt: until)
        return StoredOAuthClient(
            client: client, secretHash: SecretBytes(hash), previousSecretHash: previous.map { SecretBytes($0) })
    }
}

extension OAuthClient.Status: PostgresDecodable {}
extension OAuthOrigin: PostgresDecodable {}

extension OAuthClientID: PostgresDecodable {
    package init(from value: PostgresValue) throws(PostgresError) {
        guard let id = OAuthClientID(try String(from: value)) else {
            throw PostgresValue.mismatch("a text that is no client id")
        }
        self = id
    }
}

extension OAuthScopes {
    /// Of an array in the database.
    init(stored texts: [String]) throws(PostgresError) {
        let scopes = texts.compactMap(OAuthScope.init)
        guard scopes.count == texts.count else { throw PostgresValue.mismatch("a text that is no scope") }
        self.init(scopes)
    }
}

extension Change.OAuthClients {
    fileprivate func lock(_ id: OAuthClientID) async throws(PostgresError) -> OAuthClient? {
        // What refers to a client need not wait.
        try await change.query(
            """
            SELECT \(OAuthClientStore.columns)
            FROM oauth_clients
            WHERE client_id = \(id.text)
            FOR NO KEY UPDATE
            """, as: OAuthClientStore.client
        ).first?.client
    }

    /// Updates the row and records it, where the condition holds.
    fileprivate func update(
        _ id: OAuthClientID, _ assignments: SQL, where condition: SQL = "TRUE", _ what: String
    ) async throws(PostgresError) {
        let updated = try await change.execute(
            "UPDATE oauth_clients SET \(assignments) WHERE client_id = \(id.text) AND \(condition)")
        guard updated == 1 else { return }
        try await change.record(.oauthClientChanged, reason: "\(id.text) \(what)")
    }
}
