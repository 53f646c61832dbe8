-- why: undoes 0004; access tokens in use stop verifying, refresh makes new ones.
DROP TABLE signing_keys;
