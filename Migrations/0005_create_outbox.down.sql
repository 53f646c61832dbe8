-- why: undoes 0005; revocations that are still pending never happen.
DROP TABLE outbox;
