INSERT INTO provider_grants (grant_id, identity_id, revocation_id, provider, realm, subject, client_id,
    sealed_refresh_token, prefix_fingerprint, digest_fingerprint, check_at, created_at)
VALUES ('01890000-0000-7000-8000-00000000000a', '01890000-0000-7000-8000-000000000003', NULL, 'apple',
        'main', '001.a', 'com.example.lamp', '\x03', '\x04', '\x05', '2026-01-02Z', '2026-01-01Z'),
    ('01890000-0000-7000-8000-00000000000b', NULL, '01890000-0000-7000-8000-000000000007', 'apple',
        'main', '001.c', 'com.example.lamp', '\x06', '\x07', '\x08', NULL, '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', grant_id, identity_id, revocation_id, subject, sealed_refresh_token,
    prefix_fingerprint), E'\n' ORDER BY grant_id)
FROM provider_grants;
