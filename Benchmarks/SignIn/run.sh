#!/usr/bin/env bash
# Full sign-ins over HTTP, compared with pgbench on the same PostgreSQL.  [--rounds 5] [--seconds 8] [--bin DIR] [--against DIR] [--without REGEX] [--tunables SETTINGS] [--rows N] [--accounts N]
#
# --against compares with the executables of another build instead, in turns, at 1, 8, 32 and 128 connections; --without with a
# database that lacks the indexes of the audit trail that have such a name; --tunables with these GLIBC_TUNABLES. --rows fills
# the trail of both before. --accounts compares the sign-ins among so many accounts with those among ten thousand.
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=5 seconds=8 bin= against= without= tunables= rows=0 accounts=0
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    --against) against=$2 ;;
    --without) without=$2 ;;
    --tunables) tunables=$2 ;;
    --rows) rows=$2 ;;
    --accounts) accounts=$2 ;;
    *) echo "usage: Scripts/bench sign-in [--rounds N] [--seconds N] [--bin DIR] [--against DIR] [--without REGEX] [--tunables SETTINGS] [--rows N] [--accounts N]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

# A thousand idle connections are measured too, from one process to another.
ulimit -n 4096

cluster=.local/bench/postgres buffers=()
# One of its own: it keeps its settings, and ten million accounts fit in its buffers.
if [ "$accounts" -gt 0 ]; then cluster=.local/bench/crowd buffers=(--buffers 10GB); fi
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" "${buffers[@]}" >/dev/null
export PYTHONDONTWRITEBYTECODE=1
options=(--bin "$bin" --cluster "$(Scripts/postgres url "$cluster")" --rounds "$rounds" --seconds "$seconds")
if [ "$accounts" -gt 0 ]; then
    python3 Benchmarks/SignIn/crowd.py "${options[@]}" --accounts "$accounts"
elif [ -n "$against$without$tunables" ]; then
    python3 Benchmarks/SignIn/compare.py "${options[@]}" --against "${against:-$bin}" --without "$without" \
        --tunables "$tunables" --rows "$rows"
else
    python3 Benchmarks/SignIn/measure.py "${options[@]}"
fi
