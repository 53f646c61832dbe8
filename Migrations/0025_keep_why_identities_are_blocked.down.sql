-- no-transaction: as the other way. Undoes 0025; a block is kept without its reason.
ALTER TABLE identities
    DROP COLUMN IF EXISTS block_reason,
    DROP COLUMN IF EXISTS credential_change_required_at;
