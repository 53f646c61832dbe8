SELECT to_jsonb(a)::text FROM accounts a
UNION ALL SELECT to_jsonb(i)::text FROM identities i
UNION ALL SELECT to_jsonb(s)::text FROM sessions s
UNION ALL SELECT to_jsonb(o)::text FROM outbox o
UNION ALL SELECT to_jsonb(t)::text FROM link_tickets t
UNION ALL SELECT to_jsonb(t)::text FROM mailbox_tickets t
UNION ALL SELECT to_jsonb(g)::text FROM provider_grants g
UNION ALL SELECT to_jsonb(e)::text FROM audit_events e
ORDER BY 1
