-- why: takes back the devices of tickets, and when an identity was last proven.
ALTER TABLE identities DROP COLUMN proven_at;

ALTER TABLE link_tickets
    DROP COLUMN device_platform,
    DROP COLUMN device_name;
