-- why: an address that a provider verified once, without running the mailbox, may have changed hands since. Such a one is
-- `stated`, and no longer counts as `proven`; one that nobody verified is `claimed`. What an account is entered by is
-- decided by that degree.
ALTER TABLE accounts
    -- The default is for rows that a process of the release before writes: such an address reads as `stated` if it is
    -- verified, else as `claimed`. While both releases run, email_verified goes on to say whether it is at least `stated`.
    ADD COLUMN email_proof text COLLATE "C" NOT NULL DEFAULT 'stated',
    -- What the degree rests on; NULL where nobody wrote it down.
    ADD COLUMN email_proof_source text COLLATE "C",
    -- When a reader of the mailbox took the address for an account of their own.
    ADD COLUMN email_taken_at timestamptz,
    ADD CONSTRAINT accounts_email_proof_known CHECK (email_proof IN ('claimed', 'stated', 'proven'));

ALTER TABLE identities
    -- Whether the next sign-in is mailed to the account's address.
    ADD COLUMN notify_sign_in boolean NOT NULL DEFAULT false;

ALTER TABLE link_tickets
    -- The account that the ticket's person was shown: they may take it over if they prove its mailbox. No reference, for
    -- an account that is deleted meanwhile is found by nobody.
    ADD COLUMN shown_account_id uuid,
    -- The identities that they saw in it: what has been linked since, they have not.
    ADD COLUMN shown_identity_ids uuid[];

-- Proven: its owner has typed a code, or an identity states it whose provider runs the mailbox or forwards to it. Whether
-- a Google account was of a hosted domain was not kept, so such an address is `stated` until the next sign-in. One that
-- was found to be only stated, before this migration was undone once, still is.
UPDATE accounts a
SET email_proof = 'proven',
    email_proof_source = CASE
        WHEN latest.type IS NULL OR latest.reason = 'authoritative_provider' THEN 'authoritative_provider'
        ELSE 'mailed_code' END
FROM accounts b
LEFT JOIN LATERAL (
    SELECT e.type, e.reason
    FROM audit_events e
    WHERE e.account_id = b.account_id
        AND e.type IN ('email_proven', 'email_verified', 'email_changed', 'email_stated')
    ORDER BY e.created_at DESC, e.event_id DESC
    LIMIT 1
) latest ON true
WHERE a.account_id = b.account_id AND b.email_verified AND (
    latest.type <> 'email_stated'
    OR latest.type IS NULL AND EXISTS (
        SELECT FROM identities i
        WHERE i.account_id = b.account_id AND i.email = b.email AND i.email_verified AND (
            (i.provider = 'google' AND i.email LIKE '%@gmail.com')
            OR (i.provider = 'apple' AND (
                i.is_private_email
                OR i.email LIKE '%@icloud.com' OR i.email LIKE '%@me.com' OR i.email LIKE '%@mac.com')))));

UPDATE accounts SET email_proof = 'claimed', email_proof_source = 'registration' WHERE email IS NOT NULL AND NOT email_verified;
UPDATE accounts SET email_proof_source = 'provider' WHERE email_verified AND email_proof = 'stated';

-- The reader of a mailbox who has signed in by a code, and has yet to choose what to do with an account whose address is
-- only `stated`. A table of its own, because what is known of a person here is an address and no provider's subject.
CREATE TABLE mailbox_tickets (
    ticket_hash bytea PRIMARY KEY,
    email text COLLATE "C" NOT NULL,
    shown_account_id uuid NOT NULL,
    shown_identity_ids uuid[] NOT NULL,
    device_name text,
    device_platform text,
    auth_time timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT mailbox_tickets_hash_is_sha256 CHECK (octet_length(ticket_hash) = 32),
    CONSTRAINT mailbox_tickets_email_bounded CHECK (octet_length(email) <= 254)
);

CREATE INDEX mailbox_tickets_expiry_idx ON mailbox_tickets (expires_at);
CREATE INDEX mailbox_tickets_email_idx ON mailbox_tickets (email);
