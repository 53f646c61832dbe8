-- why: undoes 0040. What was parked or given up is lost; the feed stays.
DROP INDEX account_events_account_idx;

DROP TABLE webhook_failures;

DROP TABLE webhook_parked;

DROP TABLE webhook_streams;

DROP TABLE webhook_endpoints;
