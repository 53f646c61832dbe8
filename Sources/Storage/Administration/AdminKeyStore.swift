package import Accounts
package import Postgres

/// `admin_keys`: the keys of administrators, stored as digests. A key is revoked, never deleted: the trail names it.
package struct AdminKeyStore: Sendable {
    /// The interval, in seconds, at which the use of a key is noted.
    private static let noteInterval: Int64 = 60

    private let database: Database

    package init(database: Database) { self.database = database }

    package func insert(_ key: AdminKey, hash: SecretHash, by call: Call) async throws {
        try await database.change(by: call) { change in
            let scopes = key.scopes.map(\.rawValue).sorted()
            _ = try await change.execute(
                """
                INSERT INTO admin_keys (key_id, name, key_hash, scopes, created_at)
                VALUES (\(key.id), \(key.name), \(hash), \(scopes), \(key.createdAt))
                """)
            var event = AuditEvent(
                .adminKeyCreated, by: .operator, reason: "\(key.id) \(scopes.joined(separator: ","))")
            event.actorName = key.name
            try await change.record(event)
        }
    }

    /// The key with this hash, if it has not been revoked. An unknown key and a revoked one are looked up alike, and a
    /// digest of the key is compared: how long it takes reveals nothing of any key.
    package func key(hash: SecretHash, by call: Call) async throws(PostgresError) -> AdminKey? {
        let keys = try await database.query(
            """
            SELECT \(AdminKeyStore.columns)
            FROM admin_keys k
            WHERE key_hash = \(hash) AND revoked_at IS NULL
            """, as: AdminKeyStore.key)
        guard let key = keys.first else { return nil }
        let noted = call.now.advanced(bySeconds: -AdminKeyStore.noteInterval)
        if key.lastUsedAt.map({ $0 <= noted }) ?? true {
            try await database.touching(
                { () async throws(PostgresError) in
                    _ = try await database.execute(
                        """
                        UPDATE admin_keys
                        SET last_used_at = \(call.now)
                        WHERE key_id = \(key.id) AND (last_used_at IS NULL OR last_used_at <= \(noted))
                        """)
                }, orReading: {})
        }
        return key
    }

    /// The name of the key with this hash, if it has been revoked.
    package func nameOfRevoked(hash: SecretHash) async throws(PostgresError) -> String? {
        try await database.query(
            "SELECT name FROM admin_keys WHERE key_hash = \(hash) AND revoked_at IS NOT NULL", as: String.self
        ).first
    }

    /// All keys, revoked ones too, the oldest first.
    package func list() async throws(PostgresError) -> [AdminKey] {
        try await database.query(
            "SELECT \(AdminKeyStore.columns) FROM admin_keys k ORDER BY key_id", as: AdminKeyStore.key)
    }

    /// - Parameter call: an administrator's, whose key the audit row then names, or the operator's.
    /// - Returns: whether there is such a key; one that was revoked before stays as it is.
    package func revoke(_ id: AdminKeyID, by call: Call) async throws -> Bool {
        try await database.change(by: call) { change in
            let revoked = try await change.query(
                """
                UPDATE admin_keys
                SET revoked_at = \(call.now)
                WHERE key_id = \(id) AND revoked_at IS NULL
                RETURNING name
                """, as: String.self)
            guard let name = revoked.first else {
                return try await change.execute("SELECT FROM admin_keys WHERE key_id = \(id)") == 1
            }
            var event = AuditEvent(.adminKeyRevoked, from: call.origin, reason: "\(id)")
            if event.actorName == nil { event.actorName = name } else { event.reason = "\(id) \(name)" }
            try await change.record(event)
            return true
        }
    }

    /// Of `admin_keys`, named `k`.
    static let columns: SQL = "k.key_id, k.name, k.scopes, k.created_at, k.last_used_at, k.revoked_at"

    static func key(_ row: PostgresRow) throws(PostgresError) -> AdminKey {
        let (id, name, scopes, createdAt, lastUsedAt, revokedAt) = try row.decode(
            AdminKeyID.self, String.self, [String].self, Timestamp.self, Timestamp?.self, Timestamp?.self)
        return AdminKey(
            id: id, name: name, scopes: Set(scopes.compactMap(AdminKey.Scope.init)), createdAt: createdAt,
            lastUsedAt: lastUsedAt, revokedAt: revokedAt)
    }
}
