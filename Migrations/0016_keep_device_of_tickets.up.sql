-- why: the device is told at sign-in and not again by create or bind, whose session it is to be shown with.
ALTER TABLE link_tickets
    ADD COLUMN device_name text,
    ADD COLUMN device_platform text;
