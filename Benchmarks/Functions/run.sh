#!/usr/bin/env bash
# Records the functions that a process runs, which the linker puts side by side in what is shipped.  [--bin DIR]
#
# Writes Scripts/functions.gz, which Scripts/release-options has the linker read: run it before a release, and commit the file.
# A function that it doesn't name is linked all the same, behind those that it does.
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=
while [ $# -gt 0 ]; do
    case $1 in
    --bin) bin=$2 ;; # executables that have been built already, with their symbols
    *) echo "usage: Scripts/bench functions [--bin DIR]" >&2; exit 2 ;;
    esac
    shift 2
done

. Benchmarks/executables.sh
if ! command -v valgrind >/dev/null; then
    root=()
    if [ "$(id -u)" -ne 0 ]; then root=(sudo); fi
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends valgrind >&2
fi

cluster=.local/bench/postgres
trap 'Scripts/postgres stop "$cluster"' EXIT
Scripts/postgres start "$cluster" >/dev/null
export PYTHONDONTWRITEBYTECODE=1
python3 Benchmarks/Functions/record.py --bin "$bin" --cluster "$(Scripts/postgres url "$cluster")" Scripts/functions.gz
