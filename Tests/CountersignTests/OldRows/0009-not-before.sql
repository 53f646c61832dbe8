UPDATE identities SET not_before = '2026-01-05Z' WHERE subject = '001.a';

-- digest
SELECT string_agg(concat_ws('|', subject, not_before AT TIME ZONE 'UTC'), E'\n' ORDER BY subject)
FROM identities
WHERE not_before IS NOT NULL;
