WITH ticket AS (
    UPDATE link_tickets SET device_name = 'phone', device_platform = 'ios' WHERE subject = '43'
)
UPDATE identities SET proven_at = '2026-01-01Z' WHERE subject = '42';

-- digest
SELECT concat_ws('|', t.device_name, t.device_platform, i.proven_at AT TIME ZONE 'UTC')
FROM link_tickets t, identities i
WHERE t.subject = '43' AND i.subject = '42';
