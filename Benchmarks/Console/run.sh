#!/usr/bin/env bash
# The console's lists over HTTP among many accounts.  [--accounts 10000000] [--rounds 20] [--plans 200000000] [--keep] [--bin DIR]
#
# --keep leaves the filled database for the next run with --keep and as many accounts, which doesn't fill it again.
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

accounts=10000000 rounds=20 plans=200000000 keep=() bin=
while [ $# -gt 0 ]; do
    case $1 in
    --keep) keep=(--keep .local/bench/console); shift; continue ;;
    --accounts) accounts=$2 ;;
    --rounds) rounds=$2 ;;
    --plans) plans=$2 ;; # rows that the planner is made to believe in; 0 for none
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench console [--accounts N] [--rounds N] [--plans N] [--keep] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Console/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --rounds "$rounds" --accounts "$accounts" \
    --plans "$plans" --log "$cluster/log" "${keep[@]}"
