-- An event in the feed, one that waits for its place, and the number of a deleted account.
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
    '01890000-0000-7000-8000-000000000037', 3, '{}', '2026-01-02Z');

-- digest
SELECT concat_ws('|', e.event_id, e.type, e.external_id, e.sequence, e.members, u.event_id, u.sequence,
    s.last_sequence, s.ended_at AT TIME ZONE 'UTC', h.last_position)
FROM account_events e, unstamped_events u, account_sequences s, feed_head h;
