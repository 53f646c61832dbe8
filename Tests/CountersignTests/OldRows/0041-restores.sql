INSERT INTO restores (noted_at, restored_to) VALUES ('2026-01-02Z', '2026-01-01Z');

-- digest
SELECT max(restored_to AT TIME ZONE 'UTC')::text FROM restores;
