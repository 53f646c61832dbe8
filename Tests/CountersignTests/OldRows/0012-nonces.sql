INSERT INTO nonces (nonce_hash, expires_at, created_at)
VALUES (decode(repeat('0a', 32), 'hex'), '2026-01-01T00:10Z', '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', nonce_hash, expires_at AT TIME ZONE 'UTC'), E'\n')
FROM nonces;
