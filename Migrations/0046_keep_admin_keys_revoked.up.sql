-- why: the service's role writes when a key was revoked, and could bring one back whose secret is in others' hands.
CREATE FUNCTION refuse_reinstated_key() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'a revoked admin key stays revoked' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER admin_keys_stay_revoked
    BEFORE UPDATE ON admin_keys
    FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION refuse_reinstated_key();
