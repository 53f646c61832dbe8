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
SEED, EXAMPLES = 1, 10
# Schemathesis uses more CPU than the service, so processes share the operations by their tags.
SIGNING_IN, PRIVATE = ["sign-in", "links"], ["admin", "health", "metrics"]
PARTS = {
    "sign-in": ("public", "--include-tag", SIGNING_IN),
    "accounts": ("public", "--exclude-tag", SIGNING_IN + PRIVATE),
    "private": ("private", "--include-tag", PRIVATE),
}


def main(binaries, minutes=None):
    if document.main(ROOT / "openapi.yaml"):
        return 1
    with world(pathlib.Path(binaries).resolve(), STATE) as addresses:
        runs = {part: start(part, addresses, minutes) for part in PARTS}
        statuses = [report(part, run) for part, run in runs.items()]
    return max(statuses)


def start(part, addresses, minutes):
    """Starts schemathesis on a part of the operations, in a process of its own."""
    listener, choice, tags = PARTS[part]
    amount = ["--max-time", int(minutes) * 60, "--seed", time.time_ns() % 2**32] if minutes else [
        "--max-examples", EXAMPLES, "--seed", SEED]
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "run",
        ROOT / "openapi.yaml", "--url", addresses[listener], *(word for tag in tags for word in (choice, tag)), *amount]
    with open(STATE / f"{part}.log", "w") as log:
        return subprocess.Popen(
            [str(word) for word in command], stdout=log, stderr=subprocess.STDOUT, cwd=STATE,
            env=os.environ | {"OPENAPI_WORLD": json.dumps(addresses), "PYTHONPATH": str(HERE), "NO_COLOR": "1"})


def report(part, run):
    """Prints the result. Requests have up to 64 KiB, so lines are cut; the log has all of them."""
    status = run.wait()
    log = (STATE / f"{part}.log").read_text()
    if status:
        print("\n".join(line[:400] for line in log.splitlines() if line.strip()), file=sys.stderr)
        print(f"openapi.yaml: see {STATE / part}.log", file=sys.stderr)
    operations = re.search(r"Selected: (\d+)", log)
    cases = re.search(r"(\d+) generated.*", log)
    print(f"openapi.yaml: {part}, {operations and operations[1]} operations, requests: {cases and cases[0]}")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
