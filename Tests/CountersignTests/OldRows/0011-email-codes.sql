WITH code AS (
    INSERT INTO email_codes (email, purpose, code_id, key_id, tries, created_at, expires_at)
    VALUES ('kim@new.example', 'verifyEmail', '01890000-0000-7000-8000-000000000012', 'k1', 2,
        '2026-01-01Z', '2026-01-01T00:10Z')
)
UPDATE accounts
SET pending_email = 'kim@new.example', pending_email_expires_at = '2026-01-02Z'
WHERE email = 'kim@example.com';

-- digest
SELECT concat_ws('|', a.pending_email, a.pending_email_expires_at AT TIME ZONE 'UTC', c.purpose, c.code_id,
    c.key_id, c.tries, c.expires_at AT TIME ZONE 'UTC')
FROM accounts a
JOIN email_codes c ON c.email = a.pending_email;
