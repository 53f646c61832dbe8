-- why: what was decided and changed, by whom and for which reason. The service may add rows and read them, nothing else;
-- the migrator grants no more. A partition per month, so that old months can be detached in one step, and one for
-- whatever falls outside of them. Rows hold ids and codes, never an email, a name or a token.
CREATE TABLE audit_events (
    event_id uuid NOT NULL,
    type text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    account_id uuid,
    identity_id uuid,
    revocation_id uuid,
    provider text COLLATE "C",
    -- Of the token by which a provider told of it.
    jti text COLLATE "C",
    reason text,
    request_id text COLLATE "C",
    created_at timestamptz NOT NULL,
    PRIMARY KEY (event_id, created_at),
    CONSTRAINT audit_events_actor_known CHECK (actor IN ('person', 'operator', 'provider', 'service')),
    CONSTRAINT audit_events_reason_bounded CHECK (octet_length(reason) <= 1024)
) PARTITION BY RANGE (created_at);

CREATE TABLE audit_events_default PARTITION OF audit_events DEFAULT;

DO $$
DECLARE
    month timestamp;
BEGIN
    FOR number IN 0..23 LOOP
        month := timestamp '2026-11-01' + make_interval(months => number);
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)',
            'audit_events_' || to_char(month, 'YYYY_MM'), to_char(month, 'YYYY-MM-DD') || ' 00:00:00Z',
            to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00Z');
    END LOOP;
END
$$;

CREATE INDEX audit_events_account_idx ON audit_events (account_id, created_at);
CREATE INDEX audit_events_type_idx ON audit_events (type, created_at);
