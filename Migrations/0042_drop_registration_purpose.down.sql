-- why: undoes 0042. Registrations under way are lost, and begun again.
DELETE FROM web_registrations;

ALTER TABLE web_registrations
    ADD COLUMN code_purpose text COLLATE "C" NOT NULL,
    ADD CONSTRAINT web_registrations_purpose_known CHECK (code_purpose IN ('register', 'signIn'));
