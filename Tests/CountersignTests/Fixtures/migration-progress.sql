-- How far a run has come: -2 not connected, -1 connected, then the number of migrations applied.
SELECT CASE
    WHEN to_regclass('schema_migrations') IS NOT NULL THEN
        (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM schema_migrations', true, true, '')))
            [1]::text::int8
    WHEN EXISTS (
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'countersign migrate') THEN -1
    ELSE -2 END
