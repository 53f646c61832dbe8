-- why: takes back what the up file adds. Registrations under way are lost, and begun again.
DELETE FROM mailed_codes WHERE purpose = 'register';

ALTER TABLE mailed_codes
    DROP CONSTRAINT mailed_codes_ticket_where_needed,
    DROP CONSTRAINT mailed_codes_purpose_known,
    ADD CONSTRAINT mailed_codes_purpose_known CHECK (purpose IN ('signIn', 'bind', 'verifyEmail', 'resetPassword')),
    ADD CONSTRAINT mailed_codes_ticket_for_bind CHECK ((purpose = 'bind') = (ticket_hash IS NOT NULL));

DROP TABLE web_registrations;
