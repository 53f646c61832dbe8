-- What was refused by the time of the authentication still is.
WITH code AS (
    INSERT INTO mailed_codes (code_id, email, purpose, ticket_hash, key_id, digits, address_key, tries, mails,
        mailed_at, created_at, expires_at)
    VALUES ('01890000-0000-7000-8000-000000000020', 'kim@example.com', 'bind',
        decode(repeat('01', 32), 'hex'), 'k1', 10, decode(repeat('0f', 32), 'hex'), 3, 2, '2026-01-01Z',
        '2026-01-01Z', '2026-01-01T00:10Z')
), network AS (
    INSERT INTO mailed_code_networks (code_id, network, asked, tries, mails, created_at)
    VALUES ('01890000-0000-7000-8000-000000000020', '192.0.2.0/24', true, 3, 2, '2026-01-01Z')
), mail AS (UPDATE outbox SET known_network = '192.0.2.0/24' WHERE code_id IS NOT NULL)
INSERT INTO guessed_addresses (address_key, latest_wrong, wrong_since_success, attacked_at, short_full_at,
    long_full_at, forget_at, created_at)
VALUES (decode(repeat('0f', 32), 'hex'), '{2026-01-01Z,2026-01-02Z}', 101, '2026-01-02Z', '2026-06-01Z',
    '2026-01-03Z', '2027-01-02Z', '2026-01-01Z');

-- digest
SELECT concat_ws('|', c.email, c.purpose, c.ticket_hash, c.digits, c.tries, c.mails, n.network, n.tries,
    n.mails, g.wrong_since_success, g.attacked_at AT TIME ZONE 'UTC', o.known_network)
FROM mailed_codes c
JOIN mailed_code_networks n ON n.code_id = c.code_id
JOIN guessed_addresses g ON g.address_key = c.address_key
JOIN outbox o ON o.known_network IS NOT NULL;
