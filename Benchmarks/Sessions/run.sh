#!/usr/bin/env bash
# Refreshes and accounts of signed-in people, compared with pgbench on the same PostgreSQL.  [--rounds 5] [--seconds 6] [--bin DIR] [--against DIR]
#
# --against compares with the executables of another build instead, in turns.
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=5 seconds=6 bin= against=
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    --against) against=$2 ;;
    *) echo "usage: Scripts/bench sessions [--rounds N] [--seconds N] [--bin DIR] [--against DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
export PYTHONDONTWRITEBYTECODE=1
python3 Benchmarks/Sessions/measure.py --bin "$bin" --cluster "$(Scripts/postgres url "$cluster")" --rounds "$rounds" \
    --seconds "$seconds" --against "$against"
