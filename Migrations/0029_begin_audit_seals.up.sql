-- why: whoever can add rows to the audit trail can date them into the past. A seal tells such a row by the time of the seal
-- before it, which the first one lacks: it says itself since when there is a trail.
ALTER TABLE audit_seals ADD COLUMN begins_at timestamptz;
