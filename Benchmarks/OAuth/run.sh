#!/usr/bin/env bash
# The OAuth server: refreshes and introspections, among 10,000 and a million grants.  [--rounds 5] [--seconds 4] [--many 1000000] [--huge-pages] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=5 seconds=4 many=1000000 huge=false bin=
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --many) many=$2 ;;
    --huge-pages) # root: PostgreSQL's buffers in huge pages, which are reserved for as long as it runs
        huge=true
        shift
        continue
        ;;
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench oauth [--rounds N] [--seconds N] [--many N] [--huge-pages] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

cluster=.local/bench/postgres
pages=/proc/sys/vm/nr_hugepages
reserved=
cleanup() {
    Scripts/postgres stop "$cluster" || true
    if [ -n "$reserved" ]; then echo "$reserved" >"$pages"; fi
}
trap cleanup EXIT
# One that was left running has other buffers.
Scripts/postgres stop "$cluster"
if $huge; then
    reserved=$(<"$pages")
    wanted=$((reserved + 2400 * 1024 / $(awk '/^Hugepagesize:/ { print $2 }' /proc/meminfo)))
    echo "$wanted" >"$pages"
    [ "$(<"$pages")" = "$wanted" ] || { echo "bench: there is no room for the huge pages" >&2; exit 1; }
fi
# A million grants, with their indexes, fit in the buffers as ten thousand do.
Scripts/postgres start "$cluster" --buffers 2GB >/dev/null
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/OAuth/measure.py --bin "$bin" \
    --cluster "$(Scripts/postgres url "$cluster")" --rounds "$rounds" --seconds "$seconds" --many "$many"
