-- why: a proof of the mailbox removes a password that came with an import and was never used. Whether it was used can't be seen
-- from its hash: where putting one of ours in its place fails, the person has signed in by it all the same.
ALTER TABLE accounts ADD COLUMN password_is_unused boolean NOT NULL DEFAULT false;

-- Whether one was used before this is not known: it counts as unused, as it did so far.
UPDATE accounts
SET password_is_unused = true
WHERE external_id IS NOT NULL AND password_hash NOT LIKE '$scrypt$ln=%';
