-- why: undoes 0009; what the providers told is lost, and accounts that they have disabled sign in again.
ALTER TABLE identities
    DROP COLUMN not_before,
    DROP COLUMN blocked_at,
    DROP COLUMN email_deliverable;
ALTER TABLE sessions DROP COLUMN provider_auth_time;
DROP TABLE provider_events;
