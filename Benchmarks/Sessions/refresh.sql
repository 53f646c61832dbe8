-- The work of one refresh in the database, as one statement for pgbench: looks the session and its account up, and rotates.
-- Sources/Storage/Sessions/SessionRefreshes.swift does the same for many.
\set n random(1, :sessions)
WITH found AS (
    SELECT s.session_id, s.parent_generation, s.rotated_at, s.rotation_parent, s.rotation_network,
        s.same_network_replacements, s.other_network_replacements, s.last_used_ip, s.account_id, a.status,
        a.external_id, s.identity_id, s.auth_time, s.amr, s.created_at, s.expires_at, s.generation
    FROM bench_sessions b
    JOIN sessions s ON s.session_id = b.session_id
    JOIN accounts a ON a.account_id = s.account_id
    WHERE b.n = :n AND s.ended_at IS NULL AND s.expires_at > now()
), swapped AS (
    UPDATE sessions s
    SET generation = f.generation + 1, parent_generation = f.generation, rotated_at = now(),
        rotation_parent = f.generation, rotation_network = '127.0.0.0/24', same_network_replacements = 0,
        other_network_replacements = 0, last_used_at = now(), last_used_ip = '127.0.0.1',
        expires_at = now() + interval '60 days'
    FROM found f
    WHERE s.session_id = f.session_id AND s.generation = f.generation AND s.parent_generation = f.parent_generation
        AND s.ended_at IS NULL
)
SELECT * FROM found;
