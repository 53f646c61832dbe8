import Accounts
import Foundation
import Postgres
import Storage
import TestSupport

/// As many accounts as an old service has, created by SQL alone: each with an identity, a session and the record of a
/// sign-in, some without an address or disabled; and for every tenth of them a revocation or a mail, and a provider
/// event.
///
/// The account `n`, from 0: its address is `usern@example.com`, unless `n` ends in 9; its name is one of a thousand;
/// its subject is `subject-n` and the address of its identity `relayn@example.com`, at Apple when `n` is even; each hundredth is disabled.
struct AccountCrowd: Sendable {
    let database: Database
    let count: Int

    private static let chunk = 1_000_000

    /// Fills an empty database.
    static func create(_ count: Int, in database: Database) async throws -> AccountCrowd {
        let population = try DataFile("AccountCrowd.sql").text.replacing(":start", with: "\(start)")
        for first in stride(from: 0, to: count, by: chunk) {
            let last = min(first + chunk, count) - 1
            let numbered = population.replacing(":first", with: "\(first)").replacing(":last", with: "\(last)")
            try await database.execute(SQL(unsafeSQL: numbered))
        }
        // As autovacuum does after a while.
        try await database.execute("ANALYZE accounts, identities, sessions, audit_events, outbox, provider_events")
        return AccountCrowd(database: database, count: count)
    }

    /// The time of the first account, in milliseconds since 1970: in November 2026. The others follow at intervals of
    /// 100 ms.
    private static let start: Int64 = 1_793_491_200_000

    func time(_ number: Int) -> Timestamp { Timestamp(microseconds: (Self.start + Int64(number) * 100) * 1000) }

    /// The id of the account, and that of its identity and its session.
    func id<Entity>(_ number: Int) -> Identifier<Entity> {
        // The number stands where others have what is random.
        let octets = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        return Identifier(now: time(number), random: [0, 0] + octets)
    }
}
