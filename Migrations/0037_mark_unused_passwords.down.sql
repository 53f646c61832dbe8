-- why: undoes 0037.
ALTER TABLE accounts DROP COLUMN password_is_unused;
