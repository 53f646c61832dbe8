-- An older key has signed since its creation, its tokens perhaps for longest. The lines that sealed are recorded.
INSERT INTO keyring_lines (key_id, written_at, created_at) VALUES ('k2', '2026-01-02Z', '2026-01-02Z');

-- digest
SELECT concat_ws('|', signs_from AT TIME ZONE 'UTC', token_lifetime,
    (SELECT string_agg(key_id, ',' ORDER BY key_id) FROM keyring_lines))
FROM signing_keys
WHERE signs_from = '2026-01-01Z' AND token_lifetime = 86400
    AND (SELECT written_at FROM keyring_lines WHERE key_id = 'k0') = '2026-11-01Z'
    AND (SELECT written_at FROM keyring_lines WHERE key_id = 'k1') > '2026-11-01Z';
