-- why: undoes 0008; identities whose new subject is not known yet can't be found by it.
DROP TABLE identity_transfers;
