-- why: who has to sign in again before a change of their account comes back to the same form or question. Where to lies in
-- the row of the flow, sealed, with what was typed: no address says it, so none can be made up.
ALTER TABLE web_flows ADD COLUMN sealed_errand bytea;
