-- no-transaction: four tables that are in use are changed, one after the other. Why: reuse of a refresh token is judged by
-- how often a successor was replaced, and from where; its owner sees where a session was last used. And tokens that a
-- provider issued before a sign-out count no more, which is another question than when the person authenticated there.
ALTER TABLE sessions
    -- The full address of the last refresh.
    ADD COLUMN IF NOT EXISTS last_used_ip text,
    -- The generation whose first use the next three describe. It is not parent_generation when a process of the release
    -- before has rotated since: then nothing is known.
    ADD COLUMN IF NOT EXISTS rotation_parent integer NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS rotation_network text COLLATE "C",
    ADD COLUMN IF NOT EXISTS same_network_replacements integer NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS other_network_replacements integer NOT NULL DEFAULT 0;

ALTER TABLE link_tickets
    -- The `iat` of the provider's token. A process of the release before writes none.
    ADD COLUMN IF NOT EXISTS issued_at timestamptz;

ALTER TABLE identities
    -- No token counts in which the person authenticated before. A token that was issued before not_before counts no more
    -- either, whenever they authenticated.
    ADD COLUMN IF NOT EXISTS auth_not_before timestamptz;

ALTER TABLE accounts
    -- No token that was issued before leads to the account by its address alone.
    ADD COLUMN IF NOT EXISTS tokens_not_before timestamptz;

-- Until now not_before meant both. Few identities have one.
UPDATE identities SET auth_not_before = not_before WHERE not_before IS NOT NULL AND auth_not_before IS NULL;
