-- why: a database that is restored to an earlier time knows again what had ended since. What ends it once more notes when that
-- was: a session that is older has lost more than the one step of a failover, and gets no successor for a token that is not
-- known here.
CREATE TABLE restores (
    noted_at timestamptz PRIMARY KEY,
    restored_to timestamptz NOT NULL
);
