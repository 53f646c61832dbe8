#!/usr/bin/env bash
# How fast the account feed is read and pushed, and how late its events are.  [--events 200000] [--kept 10000000] [--deliveries 30000] [--seconds 30] [--parts read,delay,push,kept] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how. What an
# event costs its change is measured by `Scripts/bench sign-in --against`.
set -euo pipefail
cd "$(dirname "$0")/../.."

events=200000 kept=10000000 deliveries=30000 seconds=30 parts=read,delay,push,kept bin=
while [ $# -gt 0 ]; do
    case $1 in
    --events) events=$2 ;; # that are read
    --kept) kept=$2 ;; # that are there before a page is read
    --deliveries) deliveries=$2 ;;
    --seconds) seconds=$2 ;; # of changes whose events are waited for
    --parts) parts=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench feed [--events N] [--kept N] [--deliveries N] [--seconds N] [--parts LIST] [--bin DIR]" >&2
       exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Feed/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --events "$events" --kept "$kept" --deliveries "$deliveries" \
    --seconds "$seconds" --parts "$parts"
