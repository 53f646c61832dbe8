UPDATE audit_seals SET begins_at = '2026-01-01Z' WHERE seal_number = 1;

-- digest
SELECT max(begins_at AT TIME ZONE 'UTC')::text FROM audit_seals;
