-- why: undoes 0050. A subject that no identity has is forgotten at once.
UPDATE provider_events e
SET subject = NULL
WHERE kept_until IS NOT NULL AND NOT EXISTS (
    SELECT FROM identities i
    WHERE i.provider = e.provider AND i.realm = e.realm AND i.subject = e.subject);

ALTER TABLE provider_events DROP COLUMN kept_until;
