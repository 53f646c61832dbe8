package import Accounts
package import Postgres

/// A key that signs access tokens, as it is stored: sealed.
package struct StoredSigningKey: Sendable {
    package let keyID: String
    package let sealedPrivateKey: [UInt8]
    package let createdAt: Timestamp

    package init(keyID: String, sealedPrivateKey: [UInt8], createdAt: Timestamp) {
        self.keyID = keyID
        self.sealedPrivateKey = sealedPrivateKey
        self.createdAt = createdAt
    }

    package static func location(keyID: String) -> SealedLocation {
        SealedLocation(table: "signing_keys", row: keyID, column: "sealed_private_key")
    }
}

/// `signing_keys`.
package struct SigningKeyStore: Sendable {
    private let database: Database

    package init(database: Database) {
        self.database = database
    }

    /// Newest first.
    package func keys() async throws(PostgresError) -> [StoredSigningKey] {
        try await SigningKeyStore.keys(in: database)
    }

    /// The keys; the given one is stored first when there is none. Of several processes that start at once one stores
    /// its key and the others read it.
    package func keys(
        orFirst makeKey: @escaping @Sendable () throws -> StoredSigningKey
    ) async throws -> [StoredSigningKey] {
        let keys = try await self.keys()
        guard keys.isEmpty else { return keys }
        return try await database.transaction { transaction in
            _ = try await transaction.execute("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE")
            let keys = try await SigningKeyStore.keys(in: transaction)
            guard keys.isEmpty else { return keys }
            let key = try makeKey()
            _ = try await transaction.execute(
                """
                INSERT INTO signing_keys (key_id, sealed_private_key, created_at)
                VALUES (\(key.keyID), \(key.sealedPrivateKey), \(key.createdAt))
                """)
            return [key]
        }
    }

    private static func keys(in session: some PostgresSession) async throws(PostgresError) -> [StoredSigningKey] {
        try await session.query(
            """
            SELECT key_id, sealed_private_key, created_at
            FROM signing_keys
            ORDER BY created_at DESC, key_id
            """
        ) { row throws(PostgresError) in
            let (id, sealed, created) = try row.decode(String.self, [UInt8].self, Timestamp.self)
            return StoredSigningKey(keyID: id, sealedPrivateKey: sealed, createdAt: created)
        }
    }
}
