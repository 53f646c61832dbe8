import Postgres
import Storage
import TestSupport
import Testing

/// What is stored of hashes that came with imports, by cost.
@Suite struct ForeignPasswordInspectionTests {
    /// By kind and cost; two of each differ in salt and key alone.
    private static let costs: [[String]] = [
        ["$2b$10$aaaa", "$2b$10$bbbb"], ["$2b$12$aaaa", "$2b$12$bbbb"],
        ["bcrypt_sha256$$2b$12$aaaa", "bcrypt_sha256$$2b$12$bbbb"], ["$y$j9T$aa$bb", "$y$j9T$cc$dd"],
        ["$argon2id$v=19$m=65536,t=2,p=1$aa$bb", "$argon2id$v=19$m=65536,t=2,p=1$cc$dd"],
        ["argon2$argon2id$v=19$m=102400,t=2,p=8$aa$bb", "argon2$argon2id$v=19$m=102400,t=2,p=8$cc$dd"],
        ["pbkdf2_sha256$390000$aa$bb", "pbkdf2_sha256$390000$cc$dd"],
        ["pbkdf2_sha256$1000000$aa$bb", "pbkdf2_sha256$1000000$cc$dd"],
        ["scrypt$16384$aa$8$1$bb", "scrypt$16384$cc$8$1$dd"], ["scrypt$16384$aa$8$5$bb", "scrypt$16384$cc$8$5$dd"],
        ["$pbkdf2-sha256$29000$aa$bb", "$pbkdf2-sha256$29000$cc$dd"],
        ["scrypt$ln=17,r=8,p=1$aa$bb", "scrypt$ln=17,r=8,p=1$cc$dd"],
        ["keycloak$pbkdf2-sha512$210000$aa$bb", "keycloak$pbkdf2-sha512$210000$cc$dd"],
        ["keycloak$argon2id$v=19$m=7168,t=5,p=1$aa$bb", "keycloak$argon2id$v=19$m=7168,t=5,p=1$cc$dd"],
        ["firebase$aa$bb", "firebase$cc$dd"], ["00aa:bb", "00cc:dd"],
    ]

    @Test func `hashes that are not ours are counted by kind and cost, the most frequent first`() async throws {
        try await ScratchDatabase.withMigrated { scratch in
            try await scratch.withPool(.test(poolSize: 1)) { database in
                let inspection = DatabaseInspection(database: database)
                let hashes = Self.costs.flatMap(\.self) + ["$2b$10$cccc", "$scrypt$ln=17,r=8,p=1$aa$bb"]
                try await database.execute(
                    """
                    INSERT INTO accounts (account_id, password_hash, created_at)
                    SELECT gen_random_uuid(), h, now() FROM unnest(\(hashes)) AS h
                    """)
                let stored = try await inspection.foreignPasswords(limit: 100)
                #expect(stored.first?.count == 3 && stored.dropFirst().allSatisfy { $0.count == 2 })
                #expect(Set(stored.map(\.example)) == Set(Self.costs.compactMap { $0.min() }))
                #expect(try await inspection.foreignPasswords(limit: 3).count == 3)
            }
        }
    }
}
