-- why: undoes 0046. A revoked key's row can be written again.
DROP TRIGGER admin_keys_stay_revoked ON admin_keys;
DROP FUNCTION refuse_reinstated_key();
