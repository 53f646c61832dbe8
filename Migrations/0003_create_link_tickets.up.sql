-- why: a verified identity that is not linked waits here, at most ten minutes, for its owner to choose create or bind.
-- The ticket itself is only known to the phone: its SHA-256 is the key.
CREATE TABLE link_tickets (
    ticket_hash bytea PRIMARY KEY,
    provider text COLLATE "C" NOT NULL,
    realm text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    email text COLLATE "C",
    email_verified boolean NOT NULL,
    is_private_email boolean NOT NULL,
    email_authoritative boolean NOT NULL,
    display_name text,
    auth_time timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    consumed_at timestamptz,
    CONSTRAINT link_tickets_hash_is_sha256 CHECK (octet_length(ticket_hash) = 32)
);
