-- why: undoes 0029. A first seal that says its beginning has a code over it, and does not match without.
ALTER TABLE audit_seals DROP COLUMN begins_at;
