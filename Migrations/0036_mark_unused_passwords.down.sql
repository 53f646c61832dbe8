-- why: undoes 0036.
ALTER TABLE accounts DROP COLUMN password_is_unused;
