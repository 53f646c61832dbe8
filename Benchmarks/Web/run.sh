#!/usr/bin/env bash
# The web sign-in: CPU of whole flows, sizes of pages, time to the first page.  [--flows 1000] [--seconds 20] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

flows=1000 seconds=20 bin=
while [ $# -gt 0 ]; do
    case $1 in
    --flows) flows=$2 ;;
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench web [--flows N] [--seconds N] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Web/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --flows "$flows" --seconds "$seconds"
