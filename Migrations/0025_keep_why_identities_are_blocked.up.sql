-- no-transaction: the scan for blocked identities is not to hold the lock that adding the columns takes. Why: the owner of
-- an account and its administrators see that a provider has disabled an identity's account, since when and why; and that a
-- provider wants its person to change their credentials there.
ALTER TABLE identities
    -- Why it is blocked: the reason that the provider gave, else the kind of its event. A process of the release before
    -- writes none: then only the kind is known.
    ADD COLUMN IF NOT EXISTS block_reason text COLLATE "C",
    -- When the provider last wanted its person to change their credentials; NULL once they have authenticated there after
    -- that, and signed in with it.
    ADD COLUMN IF NOT EXISTS credential_change_required_at timestamptz;

UPDATE identities i
SET block_reason = e.detail
FROM provider_events e
WHERE i.blocked_at IS NOT NULL AND i.block_reason IS NULL
    AND e.subject = i.subject AND e.provider = i.provider AND e.realm = i.realm
    AND e.kind = 'account-disabled' AND e.occurred_at = i.blocked_at AND e.detail <> '';
