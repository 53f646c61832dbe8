#!/usr/bin/env bash
# The pool beside pgbench on the same statements, on one durable cluster.  [--seconds 5] [--bin DIR]
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=5 bin=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;; # a program that has been built already
    *) echo "usage: Scripts/bench postgres [--seconds N] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

Scripts/setup
if [ -z "$bin" ]; then
    echo "== build" >&2
    swift build -c release --product postgres-bench >&2
    bin=$(swift build -c release --show-bin-path)
fi

state=$(mktemp -d /tmp/countersign-bench.XXXXXX)
trap 'Scripts/postgres stop "$state"; rm -rf "$state"' EXIT
chmod 755 "$state"
url=$(Scripts/postgres start "$state")
pgbench=$(ls /usr/lib/postgresql/*/bin/pgbench | sort -V | tail -n 1)

"$bin/postgres-bench" "$url" "$seconds"

echo 'SELECT 7;' >"$state/select.sql"
cat >"$state/insert.sql" <<'SQL'
\set n random(1, 10000)
WITH found AS (SELECT account_id FROM bench_identities WHERE id = :n),
opened AS (
    INSERT INTO bench_sessions (id, account_id, token)
    SELECT gen_random_uuid(), account_id, '\x0707070707070707070707070707070707070707070707070707070707070707'::bytea FROM found
    RETURNING id, account_id
)
SELECT id, account_id FROM opened;
SQL
for script in select insert; do
    for clients in 8 32; do
        rate=$("$pgbench" -n -M prepared -c "$clients" -j 2 -T "$seconds" -f "$state/$script.sql" "$url" |
            sed -n 's/^tps = \([0-9]*\).*/\1/p')
        echo "pgbench $script, $clients clients: $rate/s"
    done
done
