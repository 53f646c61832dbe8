-- What lets somebody into an account, from when to when, and the degrees of its address: written down by triggers in
-- the walk's database, whatever the service makes of it. The numbers are in the order in which changes of one account
-- took effect, because each is made under a lock on the account.

CREATE SEQUENCE walk_order;

-- Identities, passwords, sessions and changes of address that are under way.
CREATE TABLE walk_ways (
    account_id uuid NOT NULL,
    kind text NOT NULL,
    id uuid NOT NULL,
    subject text,
    added_number bigint NOT NULL DEFAULT nextval('walk_order'),
    added_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
    removed_number bigint,
    removed_in xid8);

CREATE INDEX ON walk_ways (account_id);
CREATE INDEX ON walk_ways (id);

CREATE TABLE walk_degrees (
    account_id uuid NOT NULL,
    proof text NOT NULL,
    number bigint NOT NULL DEFAULT nextval('walk_order'),
    written_in xid8 NOT NULL DEFAULT pg_current_xact_id());

CREATE INDEX ON walk_degrees (account_id, number);

-- The changes of addresses and passwords, each by the type of its event in the feed. What an account is made with is none.
CREATE TABLE walk_changes (account_id uuid NOT NULL, type text COLLATE "C" NOT NULL);

-- A mailbox opened the account; its reader had been shown these identities.
CREATE TABLE walk_entries (
    account_id uuid NOT NULL,
    number bigint NOT NULL,
    entered_in xid8 NOT NULL,
    shown uuid[] NOT NULL);

-- Addresses that somebody in the account has typed a code of.
CREATE TABLE walk_codes (account_id uuid NOT NULL, email text NOT NULL);

-- Addresses that a provider which runs the mailbox has stated.
CREATE TABLE walk_claims (subject text NOT NULL, email text NOT NULL);

-- Addresses that an administrator has vouched for.
CREATE TABLE walk_vouchers (account_id uuid NOT NULL, email text NOT NULL);

-- Identities that their provider has disabled, and since when.
CREATE TABLE walk_blocks (id uuid NOT NULL, number bigint NOT NULL DEFAULT nextval('walk_order'));

CREATE FUNCTION walk_add(account uuid, way text, way_id uuid, way_subject text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO walk_ways (account_id, kind, id, subject) VALUES (account, way, way_id, way_subject)
$$;

CREATE FUNCTION walk_remove(account uuid, way text, way_id uuid) RETURNS void LANGUAGE sql AS $$
    UPDATE walk_ways
    SET removed_number = nextval('walk_order'), removed_in = pg_current_xact_id()
    WHERE id = way_id AND kind = way AND account_id = account AND removed_number IS NULL
$$;

CREATE FUNCTION walk_identity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM walk_remove(OLD.account_id, 'identity', OLD.identity_id);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM walk_add(NEW.account_id, 'identity', NEW.identity_id, NEW.subject);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION walk_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.blocked_at IS NULL THEN
        DELETE FROM walk_blocks WHERE id = NEW.identity_id;
    ELSIF OLD.blocked_at IS NULL THEN
        INSERT INTO walk_blocks (id) VALUES (NEW.identity_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION walk_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM walk_add(NEW.account_id, 'session', NEW.session_id, NULL);
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM walk_remove(OLD.account_id, 'session', OLD.session_id);
    ELSIF NEW.ended_at IS NOT NULL THEN
        PERFORM walk_remove(NEW.account_id, 'session', NEW.session_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION walk_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.password_hash IS DISTINCT FROM OLD.password_hash THEN
        PERFORM walk_remove(NEW.account_id, 'password', NEW.account_id);
        IF NEW.password_hash IS NOT NULL THEN
            PERFORM walk_add(NEW.account_id, 'password', NEW.account_id, NULL);
        END IF;
        IF TG_OP = 'UPDATE' THEN
            INSERT INTO walk_changes (account_id, type) VALUES (NEW.account_id, 'account.password_changed');
        END IF;
    END IF;
    IF NEW.pending_email IS DISTINCT FROM OLD.pending_email THEN
        PERFORM walk_remove(NEW.account_id, 'change of address', NEW.account_id);
        IF NEW.pending_email IS NOT NULL THEN
            PERFORM walk_add(NEW.account_id, 'change of address', NEW.account_id, NULL);
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR (NEW.email, NEW.email_verified, NEW.email_proof)
        IS DISTINCT FROM (OLD.email, OLD.email_verified, OLD.email_proof)
    THEN
        INSERT INTO walk_degrees (account_id, proof)
        VALUES (NEW.account_id, CASE WHEN NEW.email_verified THEN NEW.email_proof ELSE 'claimed' END);
        IF TG_OP = 'UPDATE' THEN
            INSERT INTO walk_changes (account_id, type) VALUES (NEW.account_id, 'account.email_changed');
        END IF;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER walk_identity AFTER INSERT OR DELETE OR UPDATE OF account_id, subject ON identities
FOR EACH ROW EXECUTE FUNCTION walk_identity();

CREATE TRIGGER walk_block AFTER UPDATE OF blocked_at ON identities
FOR EACH ROW EXECUTE FUNCTION walk_block();

CREATE TRIGGER walk_session AFTER INSERT OR DELETE OR UPDATE OF ended_at ON sessions
FOR EACH ROW EXECUTE FUNCTION walk_session();

CREATE TRIGGER walk_account AFTER INSERT OR UPDATE ON accounts
FOR EACH ROW EXECUTE FUNCTION walk_account();
