-- why: undoes 0006; the grants are lost, and with them the means to revoke what people authorized.
DROP INDEX link_tickets_expiry_idx;
DROP INDEX link_tickets_subject_idx;
DROP TABLE provider_grants;
