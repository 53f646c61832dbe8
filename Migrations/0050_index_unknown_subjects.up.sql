-- no-transaction: the index is built while events are stored. Why: every ten seconds the subjects are forgotten that no identity
-- had a day ago, mostly none, and all events of a month would be read for it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS provider_events_unknown_idx ON provider_events (received_at)
    WHERE status = 'unknown_subject' AND subject IS NOT NULL;
