-- why: how often something guessable was tried, shared by all processes and kept over restarts. A row is one account,
-- network or address under one limit, known by a keyed digest. Its one figure is the moment at which the whole allowance is
-- there again (the generic cell rate algorithm); once that is past, the row says nothing and may go.
CREATE TABLE rate_limits (
    limit_key bytea PRIMARY KEY,
    full_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT rate_limits_key_is_sha256 CHECK (octet_length(limit_key) = 32)
);

CREATE INDEX rate_limits_full_idx ON rate_limits (full_at);
