import Foundation
import Postgres
import TestSupport
import Testing

/// `countersign keyring rewrap`, as a process.
@Suite(.timeLimit(.minutes(5))) struct KeyRingCommandTests {
    @Test(.fixture { try await AuditTrailFixture.runEmpty($0) })
    func `what an old line is still needed for is printed`() async throws {
        let trail = AuditTrailFixture.current
        try trail.write(keys: ("k2", 2), ("k1", 1))
        try await trail.scratch.execute(
            """
            INSERT INTO keyring_lines (key_id, written_at, created_at)
            VALUES ('k1', '2026-11-21T08:20:14Z', '2026-11-01Z')
            """,
            """
            INSERT INTO guessed_addresses (address_key, latest_wrong, wrong_since_success, short_full_at, long_full_at,
                forget_at, created_at)
            SELECT sha256(key), ARRAY[wrong_at], 1, forget_at, wrong_at, forget_at, wrong_at
            FROM (VALUES ('\\x01'::bytea), ('\\x02')) AS k (key),
                (VALUES ('2026-11-21Z'::timestamptz, '2099-01-01Z'::timestamptz)) AS t (wrong_at, forget_at)
            """)
        let run = try await CountersignProcess.run(
            ["keyring", "rewrap"],
            environment: [
                "COUNTERSIGN_POSTGRES_URL": trail.scratch.url, "COUNTERSIGN_KEYRING_PATH": trail.keyRing.path,
            ]
        ).ended()
        #expect(
            run.lines == [
                "grants: 0 resealed, 0 under other lines", "signing keys: 0 resealed, 0 under other lines",
                "imports: 0 resealed, 0 under other lines",
                "line k1: was the first one until 2026-11-21T08:20:14Z, and is needed for",
                "  nonces and mailed codes, until 2026-11-21T08:31:14Z",
                "  sessions at the console, until 2026-11-21T16:21:14Z",
                "  cursors of the feed, until 2026-12-21T08:21:14Z",
                """
                  the wrong tries at mailed codes of 2 addresses, until 2099-01-01T00:00:00Z. Dropped sooner, the line gives \
                each of them its allowance of wrong tries again
                """,
            ])
    }
}
