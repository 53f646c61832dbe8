-- why: undoes 0044. Each event of the trail looks for imported rows again.
CREATE OR REPLACE TRIGGER audit_events_mark_imported_rows
    AFTER INSERT ON audit_events
    REFERENCING NEW TABLE AS recorded
    FOR EACH STATEMENT
    EXECUTE FUNCTION mark_imported_rows();

DROP FUNCTION has_imports();
