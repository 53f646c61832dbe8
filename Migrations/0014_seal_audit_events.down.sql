-- why: takes back the sealing of the audit trail.
DROP TABLE audit_head;

DROP TABLE audit_seals;

DROP INDEX audit_events_transaction_idx;

ALTER TABLE audit_events
    DROP COLUMN chain,
    DROP COLUMN transaction_id,
    DROP COLUMN occurrences,
    DROP COLUMN network,
    DROP COLUMN session_id;
