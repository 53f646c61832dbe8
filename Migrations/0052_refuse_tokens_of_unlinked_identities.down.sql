-- why: undoes 0052. A token from before a sign-out is good for a new account once its identity is unlinked.
DROP TABLE refused_tokens;
