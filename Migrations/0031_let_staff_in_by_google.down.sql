-- why: undoes 0031. Sessions of staff end; keys alone open the console.
DELETE FROM console_sessions WHERE key_id IS NULL;

ALTER TABLE console_sessions
    DROP CONSTRAINT console_sessions_of_one,
    DROP COLUMN staff_name,
    ALTER COLUMN key_id SET NOT NULL;

DROP TABLE console_flows;

DROP TABLE console_staff;
