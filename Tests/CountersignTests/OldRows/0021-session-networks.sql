WITH ticket AS (
    UPDATE link_tickets SET issued_at = '2026-01-02Z' WHERE subject = '43'
)
UPDATE sessions
SET rotation_network = '192.0.2.0/24', same_network_replacements = 1, last_used_ip = '192.0.2.2'
WHERE ended_at IS NULL;

-- digest
SELECT string_agg(concat_ws('|', s.rotation_parent, s.rotation_network,
    s.same_network_replacements, s.other_network_replacements, s.last_used_ip,
    t.issued_at AT TIME ZONE 'UTC', i.auth_not_before AT TIME ZONE 'UTC'), E'\n' ORDER BY session_id)
FROM sessions s, link_tickets t, identities i
WHERE t.subject = '43' AND i.subject = '001.a' AND i.auth_not_before = '2026-01-05Z';
