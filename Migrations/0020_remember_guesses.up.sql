-- why: a mailed code had five tries and no memory, so that guessing could go on for ever, and five tries of anybody's made
-- it useless. The tries are counted by network, the wrong ones remembered by address beyond any one code, and there is a
-- code for each link ticket. One that is asked for again is mailed again. Tables of their own, because email_codes has one
-- row per address and purpose, which processes of the release before rely on; until it is dropped both are written.
CREATE TABLE mailed_codes (
    code_id uuid PRIMARY KEY,
    email text COLLATE "C" NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    -- The link ticket that it was asked for with, and is good with.
    ticket_hash bytea,
    -- The line of the key ring that it is derived under.
    key_id text COLLATE "C" NOT NULL,
    digits integer NOT NULL,
    -- The row of guessed_addresses that its wrong tries are counted in.
    address_key bytea NOT NULL,
    -- The wrong tries from all networks.
    tries integer NOT NULL DEFAULT 0,
    -- How often it was mailed, and when last. 0 when the mail was only for a network that the account is used from.
    mails integer NOT NULL,
    mailed_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT mailed_codes_live_key UNIQUE NULLS NOT DISTINCT (email, purpose, ticket_hash),
    CONSTRAINT mailed_codes_purpose_known CHECK (purpose IN ('signIn', 'bind', 'verifyEmail', 'resetPassword')),
    CONSTRAINT mailed_codes_ticket_for_bind CHECK ((purpose = 'bind') = (ticket_hash IS NOT NULL)),
    CONSTRAINT mailed_codes_digits_known CHECK (digits IN (6, 10)),
    CONSTRAINT mailed_codes_address_key_is_sha256 CHECK (octet_length(address_key) = 32),
    CONSTRAINT mailed_codes_email_bounded CHECK (octet_length(email) <= 254)
);

CREATE INDEX mailed_codes_expiry_idx ON mailed_codes (expires_at);

-- What one network has done with a code. It goes with the code.
CREATE TABLE mailed_code_networks (
    code_id uuid NOT NULL REFERENCES mailed_codes (code_id) ON DELETE CASCADE,
    -- The IPv4 /24 or IPv6 /64; empty where it is not known.
    network text COLLATE "C" NOT NULL,
    asked boolean NOT NULL,
    -- Its wrong tries.
    tries integer NOT NULL,
    -- How often the code was mailed because of it, and when last.
    mails integer NOT NULL,
    mailed_at timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (code_id, network)
);

-- The wrong tries at the codes of one address, known by a keyed digest: there are as many addresses as somebody types.
CREATE TABLE guessed_addresses (
    address_key bytea PRIMARY KEY,
    -- The latest, at most twenty, and their number since a code was last right.
    latest_wrong timestamptz[] NOT NULL,
    wrong_since_success integer NOT NULL,
    -- Since when the address is under attack; a right code ends that.
    attacked_at timestamptz,
    -- When the whole allowance of tries at codes of six digits, and of ten, is there again.
    short_full_at timestamptz NOT NULL,
    long_full_at timestamptz NOT NULL,
    -- From then on the row says nothing that matters.
    forget_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT guessed_addresses_key_is_sha256 CHECK (octet_length(address_key) = 32),
    CONSTRAINT guessed_addresses_latest_bounded CHECK (cardinality(latest_wrong) <= 20)
);

CREATE INDEX guessed_addresses_forget_idx ON guessed_addresses (forget_at);

CREATE INDEX guessed_addresses_attacked_idx ON guessed_addresses (attacked_at) WHERE attacked_at IS NOT NULL;

ALTER TABLE outbox
    -- The network that a mail was asked for from, if it is only to be sent when the account is used from there.
    ADD COLUMN known_network text COLLATE "C";
