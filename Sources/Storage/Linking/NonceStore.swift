package import Accounts
package import Postgres

/// `nonces`: the nonces of ours that have been spent. An unspent one is not stored.
/// A row is kept until no process can still take the nonce for fresh.
package struct NonceStore: Sendable {
    let database: Database

    /// - Parameter hash: the nonce's SHA-256.
    /// - Returns: whether it was unspent. A concurrent call with the same nonce waits for the outcome of this one.
    package func spend(_ hash: SecretHash, expiresAt: Timestamp, by call: Call) async throws(PostgresError) -> Bool {
        try await database.execute(
            """
            INSERT INTO nonces (nonce_hash, expires_at, created_at)
            VALUES (\(hash), \(expiresAt), \(call.now))
            ON CONFLICT (nonce_hash) DO NOTHING
            """) == 1
    }

    package func isSpent(_ hash: SecretHash) async throws(PostgresError) -> Bool {
        try await database.query("SELECT EXISTS (SELECT FROM nonces WHERE nonce_hash = \(hash))", as: Bool.self)
            == [true]
    }

    /// Deletes spent nonces. To be called long after they have expired, by every process's clock.
    package func deleteExpired(before time: Timestamp, limit: Int) async throws(PostgresError) -> Int {
        try await database.delete(from: "nonces", where: "expires_at < \(time)", limit: limit)
    }
}
