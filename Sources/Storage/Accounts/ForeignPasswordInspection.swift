package import Postgres

/// Hashes of one cost that came with an import and are checked until their owners sign in.
package struct StoredForeignPasswords: Sendable {
    package let count: Int
    /// One of them.
    package let example: String
}

extension DatabaseInspection {
    /// The hashes that are not ours, by what is the same in all of one kind and cost; the most frequent first.
    package func foreignPasswords(limit: Int) async throws(PostgresError) -> [StoredForeignPasswords] {
        try await database.query(
            """
            SELECT count(*), min(h.hash)
            FROM (
                SELECT password_hash AS hash, CASE
                        WHEN password_hash LIKE '$2%' THEN left(password_hash, 7)
                        WHEN password_hash LIKE 'bcrypt_sha256$%' THEN left(password_hash, 21)
                        WHEN password_hash LIKE '%argon2%' THEN left(password_hash, strpos(password_hash, ',p=') + 4)
                        WHEN password_hash LIKE 'scrypt$ln=%' THEN split_part(password_hash, '$', 2)
                        WHEN password_hash LIKE 'scrypt$%' THEN
                            concat_ws('$', 'scrypt', split_part(password_hash, '$', 2), split_part(password_hash, '$', 4),
                                split_part(password_hash, '$', 5))
                        WHEN password_hash LIKE 'pbkdf2%' THEN
                            split_part(password_hash, '$', 1) || '$' || split_part(password_hash, '$', 2)
                        WHEN password_hash LIKE '$y$%' OR password_hash LIKE '$pbkdf2%' OR password_hash LIKE 'keycloak$%' THEN
                            split_part(password_hash, '$', 2) || '$' || split_part(password_hash, '$', 3)
                        WHEN password_hash LIKE 'firebase$%' THEN 'firebase'
                    END AS cost
                FROM accounts
                WHERE password_hash NOT LIKE '$scrypt$ln=%'
            ) h
            GROUP BY h.cost
            ORDER BY count(*) DESC
            LIMIT \(limit)
            """, as: Int.self, String.self
        ).map(StoredForeignPasswords.init)
    }
}
