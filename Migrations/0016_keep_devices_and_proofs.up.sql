-- why: the device is told at sign-in and not again by create or bind, whose session it is to be shown with. And a provider's
-- event that is older than the person's last proof to the provider must not undo what came of that, also when neither a
-- session nor a grant of it is left.
ALTER TABLE link_tickets
    ADD COLUMN device_name text,
    ADD COLUMN device_platform text;

ALTER TABLE identities
    -- When the person last proved to the provider to be there, kept to the hour; exact for the link.
    ADD COLUMN proven_at timestamptz;
