import Accounts
import Postgres
import SignIn
import Storage

/// The check of the passwords that came with an import.
extension Doctor {
    @Sendable func passwords() async -> [Finding] {
        await withSchema(.passwords, "imported ones couldn't be looked at") { database in
            let hasher = try PasswordHasher(
                foreign: configuration.passwords.foreign, memoryLimit: configuration.passwords.memoryLimit)
            let refusalTime = await hasher.refusalTime()
            return try await passwords(in: database) { await hasher.exceeds(refusalTime, $0) }
        }
    }

    /// - Parameter exceedsRefusal: whether a check takes longer than a refusal is held back.
    func passwords(
        in database: Database, exceedsRefusal: (ForeignPasswordHash) async -> Bool
    ) async throws -> [Finding] {
        let stored = try await DatabaseInspection(database: database).foreignPasswords(limit: 16)
        guard !stored.isEmpty else { return .ok(.passwords, "all are hashed by this service") }
        let findings = missing(of: stored) + (await costly(of: stored, exceedsRefusal))
        guard findings.isEmpty else { return findings }
        // No hash shows whether it is of the project whose key is configured.
        let isOfFirebase = stored.contains { ForeignPasswordHash.kind(of: $0.example) == .firebase }
        let doubt = isOfFirebase ? "; Firebase's by the key of one project: try a password that you know" : ""
        return .ok(.passwords, "\(Self.counted(stored)) imported, of kinds that can be checked here\(doubt)")
    }

    private static func counted(_ stored: [StoredForeignPasswords]) -> String {
        countersign.counted(stored.reduce(0) { $0 + $1.count }, "password")
    }

    /// What can't be checked here, by what lacks.
    private func missing(of stored: [StoredForeignPasswords]) -> [Finding] {
        let kinds = configuration.passwords.foreign.kinds
        let unfit = stored.filter { ForeignPasswordHash($0.example)?.isCheckable(by: kinds) != true }
        let byLack = Dictionary(grouping: unfit) { stored -> String in
            switch ForeignPasswordHash(stored.example)?.scheme {
            case .argon2: "install libargon2.so.1 (Debian: libargon2-1) where the service runs"
            case .firebase: "set passwords.firebase.signerKeyPath"
            default: "let their owners reset them: no release can check them"
            }
        }
        return byLack.sorted { $0.key < $1.key }.map { advice, stored in
            .failure(
                .passwords, "\(Self.counted(stored)) imported, which can't be checked here: their owners are refused",
                advice: advice)
        }
    }

    /// What takes longer to check than a refusal is held back. The most frequent costs are tried, for two seconds.
    private func costly(
        of stored: [StoredForeignPasswords], _ exceedsRefusal: (ForeignPasswordHash) async -> Bool
    ) async -> [Finding] {
        let end = ContinuousClock.now + .seconds(2)
        var costly: [StoredForeignPasswords] = []
        for stored in stored where ContinuousClock.now < end {
            if let hash = ForeignPasswordHash(stored.example), await exceedsRefusal(hash) { costly.append(stored) }
        }
        guard !costly.isEmpty else { return [] }
        let kinds = Set(costly.map { ForeignPasswordHash.kind(of: $0.example).rawValue }).sorted()
            .joined(separator: ", ")
        return .warning(
            .passwords,
            """
            \(Self.counted(costly)) imported (\(kinds)), which take longer to check than any other refusal: that shows \
            who was imported
            """,
            advice: "they go as their owners sign in; a faster machine checks them in time")
    }
}
