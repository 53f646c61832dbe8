-- why: undoes 0033. Accounts stay; which of them an import made is not known any more, nor their ids in the system before.
DROP TRIGGER audit_events_mark_imported_rows ON audit_events;

DROP FUNCTION mark_imported_rows();

DROP TABLE imported_rows;

DROP TABLE imports;

ALTER TABLE accounts DROP COLUMN external_id;
