#!/usr/bin/env bash
# What one sign-in, refresh and new account costs and leaves behind: CPU, log, bytes, dead rows.  [--seconds 20] [--persons 20000] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench. docs/operations/capacity.md reckons with these figures.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=20 persons=20000 bin=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --persons) persons=$2 ;; # with an account before, so that no index is that of an empty table
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench grow [--seconds N] [--persons N] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
# One that was left running may have other buffers.
Scripts/postgres stop "$cluster"
Scripts/postgres start "$cluster" --buffers 1GB >/dev/null
echo "== grow, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) before"
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Grow/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --seconds "$seconds" --persons "$persons"
