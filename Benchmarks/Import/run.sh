#!/usr/bin/env bash
# How fast people are imported, beside sign-ins too, and in how much memory.  [--rows 100000] [--accounts 1000000] [--gigabytes 5] [--seconds 30] [--parts speed,pace,memory] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

rows=100000 accounts=1000000 gigabytes=5 seconds=30 parts=speed,pace,memory bin=
while [ $# -gt 0 ]; do
    case $1 in
    --rows) rows=$2 ;;
    --accounts) accounts=$2 ;; # that are there before
    --gigabytes) gigabytes=$2 ;; # of the larger of two streams
    --seconds) seconds=$2 ;; # of sign-ins, without an import and beside one
    --parts) parts=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench import [--rows N] [--accounts N] [--gigabytes N] [--seconds N] [--parts LIST] [--bin DIR]" >&2
       exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Import/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --rows "$rows" --accounts "$accounts" --gigabytes "$gigabytes" \
    --seconds "$seconds" --parts "$parts"
