-- What a model of mailed codes holds, as the tables hold it at a time.
SELECT t FROM (
    SELECT concat_ws(' ', 'code', concat_ws(' ', c.purpose, COALESCE(get_byte(c.ticket_hash, 0)::text, '-')),
        c.code_id, c.digits, (extract(epoch FROM c.expires_at) * 1000000)::bigint, c.tries, c.mails,
        (extract(epoch FROM c.mailed_at) * 1000000)::bigint) AS t
    FROM mailed_codes c
    WHERE c.expires_at > ':now'
    UNION ALL
    SELECT concat('network ', concat_ws(' ', c.purpose, COALESCE(get_byte(c.ticket_hash, 0)::text, '-')), ' ',
        n.network, ' ', CASE WHEN n.asked THEN 'true' ELSE 'false' END, ' ',
        n.tries, ' ', n.mails, ' ', COALESCE((extract(epoch FROM n.mailed_at) * 1000000)::bigint::text, '-'))
    FROM mailed_codes c
    JOIN mailed_code_networks n ON n.code_id = c.code_id
    WHERE c.expires_at > ':now'
    UNION ALL
    SELECT 'latest ' || COALESCE((
        SELECT string_agg((extract(epoch FROM w.time) * 1000000)::bigint::text, ',' ORDER BY w.place)
        FROM unnest(g.latest_wrong) WITH ORDINALITY w (time, place)), '')
    FROM guessed_addresses g
    UNION ALL
    SELECT concat_ws(' ', 'wrong', wrong_since_success,
        CASE WHEN attacked_at IS NOT NULL THEN 'true' ELSE 'false' END)
    FROM guessed_addresses
    UNION ALL
    SELECT concat_ws(' ', 'full', (extract(epoch FROM short_full_at) * 1000000)::bigint,
        (extract(epoch FROM long_full_at) * 1000000)::bigint)
    FROM guessed_addresses
    UNION ALL
    SELECT concat_ws(' ', 'forget', (extract(epoch FROM forget_at) * 1000000)::bigint) FROM guessed_addresses
) rows
ORDER BY t COLLATE "C"
