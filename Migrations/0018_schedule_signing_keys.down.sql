-- why: undoes 0018; the release before signs with the key that was made last.
DROP TABLE keyring_lines;

ALTER TABLE signing_keys
    DROP COLUMN signs_from,
    DROP COLUMN token_lifetime;
