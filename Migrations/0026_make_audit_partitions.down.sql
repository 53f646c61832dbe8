-- why: undoes 0026. The partitions that were made stay, with their rows.
DROP FUNCTION make_audit_partitions();
