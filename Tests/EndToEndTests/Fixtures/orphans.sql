SELECT (SELECT count(*) FROM accounts a WHERE password_hash IS NULL
        AND NOT EXISTS (SELECT FROM identities i WHERE i.account_id = a.account_id))
    + (SELECT count(*) FROM accounts a
        WHERE NOT EXISTS (SELECT FROM sessions s WHERE s.account_id = a.account_id))
    + (SELECT count(*) FROM identities i
        WHERE NOT EXISTS (
            SELECT FROM link_tickets t WHERE t.subject = i.subject AND t.consumed_at IS NOT NULL))
    + (SELECT count(*) FROM sessions WHERE identity_id IS NULL)
