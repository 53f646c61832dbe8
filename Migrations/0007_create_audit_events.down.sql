-- why: undoes 0007; the record of what happened is lost.
DROP TABLE audit_events;
