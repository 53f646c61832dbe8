-- why: each process looked at all sessions that were opened lately, for accounts that have too many, so that the database's work
-- for a sign-in grew with the number of processes. One of them looks at a time, where the one before ended.
CREATE TABLE session_looks (
    is_only boolean PRIMARY KEY DEFAULT true,
    -- The session behind which the next look begins.
    looked_until uuid,
    -- When the next look is due; while a process is at one, when another may take it over.
    due_at timestamptz NOT NULL DEFAULT 'epoch',
    CONSTRAINT session_looks_is_one CHECK (is_only)
);

INSERT INTO session_looks DEFAULT VALUES;
