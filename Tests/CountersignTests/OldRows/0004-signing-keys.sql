INSERT INTO signing_keys (key_id, sealed_private_key, created_at) VALUES ('k', '\x0102', '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', key_id, sealed_private_key), E'\n') FROM signing_keys;
