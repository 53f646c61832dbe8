-- why: undoes 0024. Everything that was linked by OAuth is unlinked, and the clients are gone.
ALTER TABLE outbox DROP COLUMN client_name;

DROP TABLE oauth_access_tokens;

DROP TABLE oauth_refresh_tokens;

DROP TABLE oauth_codes;

DROP TABLE oauth_chains;

DROP TABLE oauth_grants;

DROP TABLE oauth_clients;
