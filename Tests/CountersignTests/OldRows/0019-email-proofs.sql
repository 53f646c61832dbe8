-- Nothing proves the old account's address, which a provider has verified.
WITH ticket AS (
    UPDATE link_tickets
    SET shown_account_id = '01890000-0000-7000-8000-000000000001',
        shown_identity_ids = '{01890000-0000-7000-8000-000000000003}'
    WHERE subject = '43'
), identity AS (
    UPDATE identities SET notify_sign_in = true WHERE subject = '001.a'
), taken AS (
    UPDATE accounts SET email_taken_at = '2026-01-04Z' WHERE status = 'disabled'
)
INSERT INTO mailbox_tickets (ticket_hash, email, shown_account_id, shown_identity_ids, device_name,
    auth_time, created_at, expires_at)
VALUES (decode(repeat('0f', 32), 'hex'), 'kim@example.com', '01890000-0000-7000-8000-000000000001', '{}',
    'phone', '2026-01-01Z', '2026-01-01Z', '2026-01-01T00:10Z');

-- digest
SELECT concat_ws('|', a.email_proof, a.email_proof_source, o.email_taken_at AT TIME ZONE 'UTC',
    t.shown_account_id, t.shown_identity_ids, i.notify_sign_in, m.email, m.shown_account_id,
    m.shown_identity_ids, m.device_name)
FROM accounts a, accounts o, link_tickets t, identities i, mailbox_tickets m
WHERE a.email_proof = 'stated' AND a.email = 'kim@example.com' AND o.status = 'disabled'
    AND t.subject = '43' AND i.subject = '001.a';
