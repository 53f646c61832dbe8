-- why: when an app moves to another developer team, Apple gives its users new subjects. Until a user's new subject is
-- known, the transfer identifier that Apple made for the receiving team leads to the identity.
CREATE TABLE identity_transfers (
    transfer_subject text COLLATE "C" PRIMARY KEY,
    identity_id uuid NOT NULL REFERENCES identities (identity_id) ON DELETE CASCADE,
    target_team text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT identity_transfers_identity_team_key UNIQUE (identity_id, target_team),
    CONSTRAINT identity_transfers_subject_bounded CHECK (octet_length(transfer_subject) BETWEEN 1 AND 255)
);
