-- why: undoes 0047. The trail of a code that is mailed later lacks its request.
ALTER TABLE outbox DROP COLUMN request_id;
