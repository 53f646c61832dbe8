#!/usr/bin/env bash
# Three times as many sign-ins as can be answered, and revocations meanwhile.  [--seconds 60] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench. Where there are two cores the client has the first for itself,
# as it would have its own machine: its CPU time is not the service's. Exits 1 when a bound is broken.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=60 bin=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench overload [--seconds N] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

# Each client is a descriptor on either side.
ulimit -n 8192

# The cores of the servers; empty: all processes share all cores.
servers=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[1:], sep=",")')

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
${servers:+taskset -c "$servers"} Scripts/postgres start "$cluster" >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Overload/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --seconds "$seconds" --servers "$servers"
