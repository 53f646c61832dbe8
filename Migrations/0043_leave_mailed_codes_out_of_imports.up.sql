-- why: anyone can have a code mailed to an address. That touches no account, so that one which an import made can still
-- go with it. A code that an administrator has mailed is an act of theirs.
--
-- It acts with the owner's rights, as before (0033); what is not qualified is the server's own, or the trigger's table.
CREATE OR REPLACE FUNCTION mark_imported_rows() RETURNS trigger
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- The plan is kept, and may be of a time when the table was empty.
SET enable_seqscan = off
AS $$
BEGIN
    UPDATE home_schema.imported_rows r
    SET is_touched = true
    FROM (
        SELECT i.import_id, i.external_id_digest
        FROM recorded e
        JOIN home_schema.imported_rows i ON i.account_id = e.account_id AND NOT i.is_touched
        WHERE e.type NOT IN ('guess_rejected', 'credential_rejected', 'code_requested', 'code_mailed', 'code_rejected',
                'rate_limited', 'link_required', 'link_cancelled')
            OR (e.type = 'code_requested' AND e.actor IN ('administrator', 'operator'))
        ORDER BY i.account_id
        FOR UPDATE OF i
    ) t
    WHERE r.import_id = t.import_id AND r.external_id_digest = t.external_id_digest;
    RETURN NULL;
END
$$;

-- A function can't ask in which schema it is, so the name is written into it.
DO $$
BEGIN
    EXECUTE replace(
        pg_get_functiondef('mark_imported_rows()'::regprocedure), 'home_schema.', quote_ident(current_schema()) || '.');
END
$$;
