-- why: staff sign in to the console with Google. Their sessions stand for a name of the configuration's list in place of a
-- key. From the first sign-in on a name belongs to one subject, so that an address that changes hands opens nothing.
CREATE TABLE console_staff (
    name text COLLATE "C" PRIMARY KEY,
    subject text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT console_staff_name_bounded CHECK (octet_length(name) BETWEEN 1 AND 100),
    CONSTRAINT console_staff_subject_bounded CHECK (octet_length(subject) BETWEEN 1 AND 255)
);

-- A way to Google and back, known by the hash of the cookie in the browser that began it. It is taken away by its first use.
CREATE TABLE console_flows (
    flow_hash bytea PRIMARY KEY,
    -- The page of the console to which it leads.
    destination text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT console_flows_hash_is_sha256 CHECK (octet_length(flow_hash) = 32),
    CONSTRAINT console_flows_destination_bounded CHECK (octet_length(destination) <= 2048)
);

CREATE INDEX console_flows_created_at_idx ON console_flows (created_at);

ALTER TABLE console_sessions
    ALTER COLUMN key_id DROP NOT NULL,
    ADD COLUMN staff_name text COLLATE "C" REFERENCES console_staff (name) ON DELETE CASCADE,
    ADD CONSTRAINT console_sessions_of_one CHECK ((key_id IS NULL) <> (staff_name IS NULL));
