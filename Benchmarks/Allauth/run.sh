#!/usr/bin/env bash
# Full sign-ins over HTTP, compared with django-allauth's headless API on the same PostgreSQL.  [--rounds 5] [--seconds 6] [--people 2000] [--workers 2] [--bin DIR]
#
# The database is a private, durable cluster in .local/bench; see docs/performance.md for what is measured and how. The first
# run fetches what requirements.txt names from PyPI, into .local/bench as well; later ones need no network.
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=5 seconds=6 people=2000 workers=2 bin=
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --people) people=$2 ;; # 10000 at most; with fewer than sign in within a second, fewer rows of ours in the audit trail
    --workers) workers=$2 ;; # of gunicorn
    --bin) bin=$2 ;; # executables that have been built already
    *) echo "usage: Scripts/bench allauth [--rounds N] [--seconds N] [--people N] [--workers N] [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh

environment=.local/bench/allauth
requirements=Benchmarks/Allauth/requirements.txt
if ! cmp -s "$requirements" "$environment/requirements.txt"; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" --retries 10 --timeout 60 install --quiet --disable-pip-version-check --no-deps \
        --requirement "$requirements" >&2
    cp "$requirements" "$environment/requirements.txt"
fi

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
export PYTHONDONTWRITEBYTECODE=1
python3 Benchmarks/Allauth/measure.py --bin "$bin" --python "$environment/bin/python" \
    --cluster "$(Scripts/postgres url "$cluster")" --rounds "$rounds" --seconds "$seconds" --people "$people" \
    --workers "$workers"
