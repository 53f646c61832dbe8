-- why: takes back the sealing of the audit trail.
DROP TABLE audit_head;

DROP TABLE audit_seals;

DROP INDEX audit_events_type_idx;

CREATE INDEX audit_events_type_idx ON audit_events (type, created_at);

DROP INDEX audit_events_sealing_idx;

ALTER TABLE audit_events
    DROP COLUMN chain,
    DROP COLUMN transaction_id,
    DROP COLUMN occurrences,
    DROP COLUMN network,
    DROP COLUMN session_id;
