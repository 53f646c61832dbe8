CREATE FUNCTION contest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.email IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.email IS DISTINCT FROM OLD.email) THEN
        RAISE unique_violation USING CONSTRAINT = 'accounts_email_key';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER contest BEFORE INSERT OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION contest();
