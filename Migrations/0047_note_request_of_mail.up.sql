-- why: the trail says of a code who asked for it and to which account it was mailed, in two events that nothing connects.
ALTER TABLE outbox ADD COLUMN request_id text COLLATE "C";
