-- why: each event of the trail paid for the mark of imported rows, also where nobody was ever imported: a third of what it
-- costs the database to write a lone sign-in's. The trigger asks first whether there is any import.
--
-- It acts with the owner's rights, as what it is asked for does (0033): a process of the release before has no right to read
-- the table. Anyone who may record an event may ask it. The table is qualified, and there is no operator to be looked up, so
-- it does without a search path of its own, whose setting costs more than the question.
CREATE FUNCTION has_imports() RETURNS boolean
LANGUAGE plpgsql
STABLE
SECURITY DEFINER
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM home_schema.imports);
END
$$;

-- A function can't ask in which schema it is, so the name is written into it.
DO $$
BEGIN
    EXECUTE replace(pg_get_functiondef('has_imports()'::regprocedure), 'home_schema.', quote_ident(current_schema()) || '.');
END
$$;

-- Whatever the owner's default privileges are: who inserts asks it.
GRANT EXECUTE ON FUNCTION has_imports() TO PUBLIC;

CREATE OR REPLACE TRIGGER audit_events_mark_imported_rows
    AFTER INSERT ON audit_events
    REFERENCING NEW TABLE AS recorded
    FOR EACH STATEMENT
    WHEN (has_imports())
    EXECUTE FUNCTION mark_imported_rows();
