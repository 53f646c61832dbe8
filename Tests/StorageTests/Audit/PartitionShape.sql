SELECT concat_ws(' ', 'column', attnum, attname, format_type(atttypid, atttypmod), attnotnull, attcollation,
    attislocal, pg_get_expr(adbin, adrelid))
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = ':name'::regclass AND attnum > 0
UNION ALL
SELECT concat_ws(' ', 'constraint', conname, pg_get_constraintdef(oid), convalidated, conislocal)
FROM pg_constraint WHERE conrelid = ':name'::regclass
UNION ALL
SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid)
FROM pg_index WHERE indrelid = ':name'::regclass
UNION ALL
SELECT concat_ws(' ', 'table', pg_get_expr(relpartbound, oid), relowner::regrole, relpersistence)
FROM pg_class WHERE oid = ':name'::regclass
ORDER BY 1
