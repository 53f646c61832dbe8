-- no-transaction: four tables that are in use are changed, one after the other. Undoes 0021. Whatever raised auth_not_before
-- raised not_before too, so nothing that was refused is good again.
ALTER TABLE accounts DROP COLUMN IF EXISTS tokens_not_before;

ALTER TABLE identities DROP COLUMN IF EXISTS auth_not_before;

ALTER TABLE link_tickets DROP COLUMN IF EXISTS issued_at;

ALTER TABLE sessions
    DROP COLUMN IF EXISTS other_network_replacements,
    DROP COLUMN IF EXISTS same_network_replacements,
    DROP COLUMN IF EXISTS rotation_network,
    DROP COLUMN IF EXISTS rotation_parent,
    DROP COLUMN IF EXISTS last_used_ip;
