#!/usr/bin/env bash
# Whether the time of an answer reveals who has an account.  [--samples 400] [--password-samples 100] [--call WORD] [--bin DIR]
#
# Each guessable call is made for addresses with an account and for addresses without one, in random order over one
# connection, each address once. A line per call: medians, the gap between them, and p of the Mann-Whitney U test. Exits 1
# when an answer differs, or its time: p <= 0.01 and medians 2 % apart or more (of what docs/performance.md states: 10 and 15 %). Limits are off, mail goes to a real server.
set -euo pipefail
cd "$(dirname "$0")/../.."

samples=400 password_samples=100 call='' bin=
while [ $# -gt 0 ]; do
    case $1 in
    --samples) samples=$2 ;;
    --password-samples) password_samples=$2 ;; # half a second each, seven kinds of account and two calls
    --call) call=$2 ;; # of the calls only those that have this in their name
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench oracle [--samples N] [--password-samples N] [--call WORD] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

Scripts/setup
if [ -z "$bin" ]; then
    echo "== build" >&2
    swift build -c release --product countersign >&2
    swift build -c release --product countersign-sandbox >&2
    bin=$(swift build -c release --show-bin-path)
fi

state=$(mktemp -d /tmp/countersign-oracle.XXXXXX)
chmod 755 "$state"
trap 'Scripts/postgres stop "$state/postgres"; rm -rf "$state"' EXIT
mkdir "$state/postgres"
Scripts/postgres start "$state/postgres" >/dev/null

echo "== oracle, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) before"
PYTHONDONTWRITEBYTECODE=1 python3 Benchmarks/Oracle/measure.py --samples "$samples" \
    --password-samples "$password_samples" --call "$call" "$bin" "$state" "$(Scripts/postgres url "$state/postgres")"
