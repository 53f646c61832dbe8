import Accounts
import KeyRing
import Postgres
import Storage
import TestSupport
import Testing

/// What the sweeper does with link tickets that were never spent.
@Suite(
    .fixture { try await ScratchDatabase.withMigratedPool(configure: { $0.poolSize = 1 }, $0) }, .timeLimit(.minutes(2))
)
struct TicketSweepTests {
    var database: Database { .current }

    @Test func `expired tickets are looked for once a batch, and the grant of each goes by itself`() async throws {
        let start = Timestamp(seconds: 1_800_000_000)
        let end = start.advanced(bySeconds: 600)
        try await database.execute(
            """
            INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email_verified,
                is_private_email, email_authoritative, auth_time, created_at, expires_at)
            SELECT sha256(number::text::bytea), 'apple', 'main', 'subject-' || number, 'com.example.lamp', false,
                false, false, \(start), \(start), CASE WHEN number <= 30 THEN \(end) ELSE \(end) + interval '1 day' END
            FROM generate_series(1, 35) number
            """)
        try await database.execute(
            """
            INSERT INTO provider_grants (grant_id, ticket_hash, provider, realm, subject, client_id,
                sealed_refresh_token, prefix_fingerprint, digest_fingerprint, created_at)
            SELECT gen_random_uuid(), ticket_hash, provider, realm, subject, client_id, ticket_hash, ticket_hash,
                ticket_hash, created_at
            FROM link_tickets
            """)
        let keyRing = try KeyRing(parsing: "k1 BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n")
        let links = LinkStore(database: database, keyRing: keyRing)
        var processed: [Int] = []
        for _ in 1...3 { processed.append(try await links.sweep(by: .at(end), endedBefore: start, limit: 20)) }
        #expect(processed == [20, 10, 0])
        let (waiting, revocations) = try await database.query(
            "SELECT count(ticket_hash), count(DISTINCT revocation_id) FROM provider_grants", as: Int64.self, Int64.self)[
                0]
        #expect(waiting == 5 && revocations == 30)
        // Without the first time, which is not prepared.
        let looks = try await database.query(
            """
            SELECT COALESCE(sum(generic_plans + custom_plans), 0)::bigint
            FROM pg_prepared_statements
            WHERE strpos(statement, 'JOIN link_tickets t ON') > 0 AND name <> ''
            """, as: Int64.self)
        #expect(looks == [2])
    }
}
