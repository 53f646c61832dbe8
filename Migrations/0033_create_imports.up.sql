-- why: people are brought in from another system, with the id that they have there. An import is known by its name, and each
-- of its rows that became an account by a keyed digest of that id: a second run leaves it alone, also once the account and
-- with it the id itself are gone.
ALTER TABLE accounts
    ADD COLUMN external_id text COLLATE "C",
    ADD CONSTRAINT accounts_external_id_bounded CHECK (octet_length(external_id) BETWEEN 1 AND 255) NOT VALID;

CREATE TABLE imports (
    import_id uuid PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    -- The key of the digests, sealed.
    sealed_key bytea NOT NULL,
    -- How many rows of the last run came to what: `created`, `conflict:email_taken`.
    outcomes text[] COLLATE "C" NOT NULL DEFAULT '{}',
    outcome_counts bigint[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    last_run_at timestamptz NOT NULL,
    -- NULL while a run is under way, and where one was killed.
    finished_at timestamptz,
    CONSTRAINT imports_name_key UNIQUE (name),
    CONSTRAINT imports_name_bounded CHECK (octet_length(name) BETWEEN 1 AND 64)
);

CREATE TABLE imported_rows (
    import_id uuid NOT NULL,
    external_id_digest bytea NOT NULL,
    -- No reference: the row outlives its account.
    account_id uuid NOT NULL,
    -- Whether anything but the import has touched the account. Such a one stays when the import is undone.
    is_touched boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (import_id, external_id_digest),
    CONSTRAINT imported_rows_digest_is_sha256 CHECK (octet_length(external_id_digest) = 32)
);

CREATE INDEX imported_rows_untouched_idx ON imported_rows (account_id) WHERE NOT is_touched;

-- Whatever a person, an administrator or a provider does to an account is recorded with its id, by processes of the release
-- before too; so the mark is made where it is recorded. The kinds that are left out are others' attempts, which touch
-- nothing. Rows are locked in one order, so that two statements that mark the same ones can't deadlock.
--
-- It acts with the owner's rights: whoever may record an event need not be able to change an imported row, and a process of
-- the release before has no such right yet. What is not qualified is the server's own, or the trigger's table of new rows.
CREATE FUNCTION mark_imported_rows() RETURNS trigger
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
        WHERE e.type NOT IN ('guess_rejected', 'credential_rejected', 'code_requested', 'code_rejected', 'rate_limited',
            'link_required', 'link_cancelled')
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

REVOKE ALL ON FUNCTION mark_imported_rows() FROM PUBLIC;

CREATE TRIGGER audit_events_mark_imported_rows
    AFTER INSERT ON audit_events
    REFERENCING NEW TABLE AS recorded
    FOR EACH STATEMENT
    EXECUTE FUNCTION mark_imported_rows();
