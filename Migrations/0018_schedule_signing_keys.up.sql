-- why: a key is published before it signs, and kept until the last token that it signed has expired. And a line of the key
-- ring may go when nothing is left that it wrote; when that is tells the time at which it last did.
ALTER TABLE signing_keys
    -- It signs from then on until the next one does. The default is for a process of the release before.
    ADD COLUMN signs_from timestamptz NOT NULL DEFAULT now(),
    -- In seconds, the longest that a token of it may live. The default is the longest that can be configured, for keys of
    -- which nobody has written it down.
    ADD COLUMN token_lifetime bigint NOT NULL DEFAULT 86400,
    ADD CONSTRAINT signing_keys_lifetime_bounded CHECK (token_lifetime >= 0);

UPDATE signing_keys SET signs_from = created_at;

CREATE TABLE keyring_lines (
    key_id text COLLATE "C" PRIMARY KEY,
    -- When a process that has this line first last said so.
    written_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL
);

-- Nobody has noted until now which lines were the first ones; the audit trail knows. The line of the last seal is still in
-- use, so far as anybody can tell.
INSERT INTO keyring_lines (key_id, written_at, created_at)
SELECT key_id, max(written_at), now()
FROM (
    SELECT key_id, created_at AS written_at FROM audit_seals
    UNION ALL
    SELECT key_id, now() FROM audit_head
) AS s
GROUP BY key_id;
