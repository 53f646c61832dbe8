-- why: an event that ends sessions left nothing behind where no identity has its subject, or none any more, so that a token from
-- before it was good for a link ticket afterwards. Until then its row has the subject, and refuses that.
ALTER TABLE provider_events ADD COLUMN kept_until timestamptz;

CREATE INDEX provider_events_kept_idx ON provider_events (kept_until) WHERE kept_until IS NOT NULL;
