INSERT INTO rate_limits (limit_key, full_at, created_at)
VALUES (decode(repeat('0b', 32), 'hex'), '2026-01-01T00:15Z', '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', limit_key, full_at AT TIME ZONE 'UTC'), E'\n') FROM rate_limits;
