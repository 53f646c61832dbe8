"""Checks openapi.yaml, by itself and against a running service; Scripts/check-openapi says how."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import document
from world import ROOT, world

HERE = pathlib.Path(__file__).resolve().parent
STATE = ROOT / ".local/openapi"
# Paths of the private listener.
PRIVATE = "^/(admin|health|metrics)"
SEED, EXAMPLES = 1, 10


def main(binaries, minutes=None):
    if document.main(ROOT / "openapi.yaml"):
        return 1
    with world(pathlib.Path(binaries).resolve(), STATE) as addresses:
        runs = {name: start(name, addresses, minutes) for name in ("public", "private")}
        statuses = [report(name, run) for name, run in runs.items()]
    return max(statuses)


def start(listener, addresses, minutes):
    """Schemathesis, in a process of its own, on the operations of one listener."""
    amount = ["--max-time", int(minutes) * 60, "--seed", time.time_ns() % 2**32] if minutes else [
        "--max-examples", EXAMPLES, "--seed", SEED]
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "run",
        ROOT / "openapi.yaml", "--url", addresses[listener],
        "--include-path-regex" if listener == "private" else "--exclude-path-regex", PRIVATE, *amount]
    with open(STATE / f"{listener}.log", "w") as log:
        return subprocess.Popen(
            [str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, cwd=STATE,
            env=os.environ | {"OPENAPI_WORLD": json.dumps(addresses), "PYTHONPATH": str(HERE), "NO_COLOR": "1"})


def report(listener, run):
    """Shows what was found. Requests have up to 64 KiB, so lines are cut: the log has them whole."""
    status = run.wait()
    log = (STATE / f"{listener}.log").read_text()
    if status:
        print("\n".join(line[:400] for line in log.splitlines() if line.strip()), file=sys.stderr)
        print(f"openapi.yaml: see {STATE / listener}.log", file=sys.stderr)
    operations = re.search(r"Selected: (\d+)", log)
    cases = re.search(r"(\d+) generated.*", log)
    print(f"openapi.yaml: {listener} listener, {operations and operations[1]} operations, requests: {cases and cases[0]}")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
