-- why: undoes 0001; every account and identity is lost.
DROP TABLE identities;
DROP TABLE accounts;
