#!/usr/bin/env bash
# A million accounts of the first version are upgraded under load, and brought back.  [--accounts 1000000] [--rounds 3] [--seconds 30] [--prepare] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench; see docs/operations/capacity.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

accounts=1000000 rounds=3 seconds=30 bin= prepare=()
while [ $# -gt 0 ]; do
    case $1 in
    --prepare) prepare=(--prepare); shift; continue ;; # with this month of the trail indexed before
    --accounts) accounts=$2 ;;
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench upgrade [--accounts N] [--rounds N] [--seconds N] [--prepare] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Upgrade/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --accounts "$accounts" --rounds "$rounds" --seconds "$seconds" \
    "${prepare[@]}"
