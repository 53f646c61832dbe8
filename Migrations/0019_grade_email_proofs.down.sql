-- why: undoes 0019; the release before knows verified addresses and others.
DROP TABLE mailbox_tickets;

ALTER TABLE link_tickets
    DROP COLUMN shown_account_id,
    DROP COLUMN shown_identity_ids;

ALTER TABLE identities DROP COLUMN notify_sign_in;

ALTER TABLE accounts
    DROP COLUMN email_proof,
    DROP COLUMN email_proof_source,
    DROP COLUMN email_taken_at;
