-- why: undoes 0039. The events are lost, and keys that were good for the feed alone are revoked.
UPDATE admin_keys SET revoked_at = COALESCE(revoked_at, now()), scopes = ARRAY['read'] WHERE scopes = ARRAY['feed'];

UPDATE admin_keys SET scopes = array_remove(scopes, 'feed') WHERE 'feed' = ANY (scopes);

ALTER TABLE admin_keys
    DROP CONSTRAINT admin_keys_scopes_known,
    ADD CONSTRAINT admin_keys_scopes_known
        CHECK (scopes <@ ARRAY['read', 'revoke', 'manage'] AND cardinality(scopes) > 0);

DROP FUNCTION drop_feed_days(integer);

DROP FUNCTION make_feed_days();

ALTER TABLE outbox DROP COLUMN account_id;

DROP TABLE feed_head;

DROP TABLE account_events;

DROP TABLE unstamped_events;

DROP TABLE account_sequences;
