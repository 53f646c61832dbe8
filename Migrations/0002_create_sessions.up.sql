-- why: one row per signed-in device. Refresh tokens are derived from (session_id, generation), so rotating one is a
-- single UPDATE and no token is stored.
CREATE TABLE sessions (
    session_id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (account_id) ON DELETE CASCADE,
    -- The identity that opened it. The reference also makes an unlink wait for a sign-in that is under way, so that
    -- the unlink sees, and ends, the session which that sign-in opens; it has to end them before it deletes the
    -- identity, because the reference is gone then.
    identity_id uuid REFERENCES identities (identity_id) ON DELETE SET NULL,
    generation integer NOT NULL DEFAULT 1,
    parent_generation integer NOT NULL DEFAULT 0,
    rotated_at timestamptz NOT NULL,
    auth_time timestamptz NOT NULL,
    amr text[] NOT NULL,
    device_name text,
    device_platform text,
    ip text,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    end_reason text COLLATE "C",
    CONSTRAINT sessions_lineage_ordered CHECK (parent_generation < generation),
    CONSTRAINT sessions_reason_when_ended CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);

CREATE INDEX sessions_account_idx ON sessions (account_id);
CREATE INDEX sessions_identity_idx ON sessions (identity_id);
