-- why: takes back the devices of tickets.
ALTER TABLE link_tickets
    DROP COLUMN device_platform,
    DROP COLUMN device_name;
