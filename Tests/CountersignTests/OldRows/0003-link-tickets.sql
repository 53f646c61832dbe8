INSERT INTO link_tickets (ticket_hash, provider, realm, subject, client_id, email, email_verified,
    is_private_email, email_authoritative, display_name, auth_time, created_at, expires_at, consumed_at)
VALUES (decode(repeat('01', 32), 'hex'), 'google', 'main', '43', 'web', 'lee@example.com', true, false,
        false, 'Lee', '2026-01-01Z', '2026-01-01Z', '2026-01-01T00:10Z', NULL),
    (decode(repeat('02', 32), 'hex'), 'apple', 'main', '001.b', 'com.example.lamp', NULL, false, false,
        false, NULL, '2026-01-01Z', '2026-01-01Z', '2026-01-01T00:10Z', '2026-01-01T00:05Z');

-- digest
SELECT string_agg(concat_ws('|', ticket_hash, subject, email, display_name,
    consumed_at AT TIME ZONE 'UTC'), E'\n' ORDER BY ticket_hash)
FROM link_tickets;
