INSERT INTO identity_transfers (transfer_subject, identity_id, target_team, created_at)
VALUES ('760000.x', '01890000-0000-7000-8000-000000000003', 'TEAM000002', '2026-01-01Z');

-- digest
SELECT string_agg(concat_ws('|', transfer_subject, identity_id), E'\n') FROM identity_transfers;
