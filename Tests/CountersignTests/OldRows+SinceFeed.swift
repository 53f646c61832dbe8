import Postgres

extension OldRows {
    static let sinceFeed = [feed, webhooks, restores]

    /// An event in the feed, one that waits for its place, and the number of a deleted account.
    private static let feed = OldRows(
        version: 39,
        insert: """
            WITH stamped AS (
                INSERT INTO account_events (position, event_id, type, account_id, external_id, sequence, members,
                    happened_at)
                SELECT (extract(epoch FROM (now() AT TIME ZONE 'UTC')::date) * 1000000)::bigint + 1,
                    '01890000-0000-7000-8000-000000000038', 'account.deleted', '01890000-0000-7000-8000-000000000037',
                    'u7', 2, '{"by":"admin"}', '2026-01-01Z'
            ), numbered AS (
                INSERT INTO account_sequences (account_id, last_sequence, ended_at)
                VALUES ('01890000-0000-7000-8000-000000000037', 3, '2026-01-01Z')
            )
            INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
            VALUES ('01890000-0000-7000-8000-000000000039', 'authorization.revoked',
                '01890000-0000-7000-8000-000000000037', 3, '{}', '2026-01-02Z')
            """,
        digest: """
            SELECT concat_ws('|', e.event_id, e.type, e.external_id, e.sequence, e.members, u.event_id, u.sequence,
                s.last_sequence, s.ended_at AT TIME ZONE 'UTC', h.last_position)
            FROM account_events e, unstamped_events u, account_sequences s, feed_head h
            """)

    /// An endpoint with an account that is parked, and an event that was given up.
    private static let webhooks = OldRows(
        version: 40,
        insert: """
            WITH endpoint AS (
                INSERT INTO webhook_endpoints (name, status, reason, failing_since, last_error, seen_at, created_at)
                VALUES ('crm', 'stopped', 'gone', '2026-01-01Z', 'status_410', '2026-01-01Z', '2026-01-01Z')
            ), stream AS (
                INSERT INTO webhook_streams (stream_id, endpoint, position, created_at)
                VALUES ('01890000-0000-7000-8000-00000000003a', 'crm', 7, '2026-01-01Z')
            ), parked AS (
                INSERT INTO webhook_parked (stream_id, account_id, position, attempts, next_attempt_at, last_error)
                VALUES ('01890000-0000-7000-8000-00000000003a', '01890000-0000-7000-8000-000000000037', 6, 2,
                    '2026-01-02Z', 'status_410')
            )
            INSERT INTO webhook_failures (endpoint, event_id, position, type, account_id, sequence, members, happened_at,
                attempts, last_error, given_up_at)
            VALUES ('crm', '01890000-0000-7000-8000-00000000003b', 5, 'account.enabled',
                '01890000-0000-7000-8000-000000000037', 1, '{}', '2026-01-01Z', 10, 'status_500', '2026-01-04Z')
            """,
        digest: """
            SELECT concat_ws('|', w.status, w.reason, s.position, p.position, p.attempts, p.last_error, f.event_id,
                f.attempts, f.last_error)
            FROM webhook_endpoints w
            JOIN webhook_streams s ON s.endpoint = w.name
            JOIN webhook_parked p ON p.stream_id = s.stream_id
            JOIN webhook_failures f ON f.endpoint = w.name
            """)

    private static let restores = OldRows(
        version: 41,
        insert: "INSERT INTO restores (noted_at, restored_to) VALUES ('2026-01-02Z', '2026-01-01Z')",
        digest: "SELECT max(restored_to AT TIME ZONE 'UTC')::text FROM restores")
}
