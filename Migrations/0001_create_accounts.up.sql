-- why: local accounts, and the provider identities that lead to them. (provider, realm, subject) is the only key of a
-- person; an email merely finds a candidate account. Identifiers compare by bytes, hence COLLATE "C".
CREATE TABLE accounts (
    account_id uuid PRIMARY KEY,
    email text COLLATE "C",
    email_verified boolean NOT NULL DEFAULT false,
    password_hash text COLLATE "C",
    display_name text,
    status text COLLATE "C" NOT NULL DEFAULT 'active',
    disabled_reason text COLLATE "C",
    created_at timestamptz NOT NULL,
    CONSTRAINT accounts_email_key UNIQUE (email),
    CONSTRAINT accounts_email_bounded CHECK (octet_length(email) <= 254),
    CONSTRAINT accounts_verified_has_email CHECK (email IS NOT NULL OR NOT email_verified),
    CONSTRAINT accounts_status_known CHECK (status IN ('active', 'disabled')),
    CONSTRAINT accounts_reason_when_disabled CHECK (disabled_reason IS NULL OR status = 'disabled')
);

CREATE TABLE identities (
    identity_id uuid PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES accounts (account_id) ON DELETE CASCADE,
    provider text COLLATE "C" NOT NULL,
    realm text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    email text COLLATE "C",
    email_verified boolean NOT NULL DEFAULT false,
    is_private_email boolean NOT NULL DEFAULT false,
    authorization_status text COLLATE "C" NOT NULL DEFAULT 'none',
    last_sign_in_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT identities_subject_key UNIQUE (provider, realm, subject),
    CONSTRAINT identities_account_provider_key UNIQUE (account_id, provider, realm),
    CONSTRAINT identities_subject_bounded CHECK (octet_length(subject) BETWEEN 1 AND 255),
    CONSTRAINT identities_authorization_known
        CHECK (authorization_status IN ('none', 'active', 'revoking', 'revoked'))
);
