"""Measures the OAuth server: refreshes and introspections beside sign-ins and pgbench, and what they cost among many grants;
see docs/performance.md. Called by run.sh."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from measure import Bench as SignInBench, CONNECTIONS  # noqa: E402

SECRET = "cs_bench"
# Tokens that are used, spread over all there are.
TOKENS = 2_000
# Seconds of the same calls before each measurement: the first write of a page after a checkpoint costs a whole page in the
# log, and among a million grants there are more pages.
WARM_UP = 8


class Bench(SignInBench):
    """A service and a database with so many grants."""

    def __init__(self, options, directory, grants):
        os.environ |= {"COUNTERSIGN_OAUTH_ENABLED": "true", "COUNTERSIGN_SERVER_PUBLIC_URL": "http://127.0.0.1:1"}
        self.grants, self.directory = grants, directory
        super().__init__(options.bin, options.cluster, options.seconds, directory, f"oauth_bench_{grants}")
        subprocess.run(
            ["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-v", f"grants={grants}", "-v", f"secret={SECRET}", "-f",
             HERE / "fill.sql", self.database.url], check=True)
        self.database.query("VACUUM ANALYZE", "CHECKPOINT")
        numbers = range(1, grants + 1, grants // TOKENS)
        for prefix in "rt", "at":
            pathlib.Path(directory, prefix).write_text("".join(f"{prefix}_{number:043}\n" for number in numbers))

    def ask(self, what):
        """Refreshes or introspections for some seconds: a second, latencies, µs of CPU for each."""
        client = f"client_id=csc_bench&client_secret={SECRET}"
        path, form, tokens = {
            "refresh": ("/oauth/token", f"grant_type=refresh_token&{client}&refresh_token=", "rt"),
            "introspect": ("/oauth/introspect", f"{client}&token=", "at"),
        }[what]
        self.forget()

        def wrk(seconds):
            return subprocess.run(
                ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", HERE / "oauth.lua", self.service.url, "--",
                 path, form, f"{self.directory}/{tokens}"], check=True, stdout=subprocess.PIPE, text=True).stdout

        wrk(WARM_UP)
        before = self.service.cpu_seconds(), self.database.cpu_seconds()
        output = wrk(self.seconds)
        after = self.service.cpu_seconds(), self.database.cpu_seconds()
        result = json.loads(output.splitlines()[-1])
        if result["refused"] or result["failed"] or not result["requests"]:
            raise SystemExit(f"not every request was answered with 200: {result}")
        result["rate"] = result["requests"] / result["seconds"]
        for name, start, end in zip(("service", "PostgreSQL"), before, after):
            result[name] = (end - start) * 1e6 / result["requests"]
        result["both"] = result["service"] + result["PostgreSQL"]
        return result

    def statement(self):
        """The statement of a refresh alone, by pgbench."""
        rates = []
        for clients in 8, 32:
            self.forget()
            rates.append(self.database.pgbench(HERE / "refresh.sql", clients, self.seconds))
        return max(rates)

    def forget(self):
        """Deletes the tokens of the refreshes before, so that every measurement begins alike."""
        self.database.query(
            "DELETE FROM oauth_access_tokens WHERE expires_at < now() + interval '2 hours'",
            "VACUUM ANALYZE oauth_access_tokens", "CHECKPOINT")


def row(title, values, unit, digits=0):
    low, high = min(values), max(values)
    print(f"{title:48}{statistics.median(values):10.{digits}f} {unit}  ({low:.{digits}f} to {high:.{digits}f})", flush=True)


def beside(bench, rounds):
    """Refreshes and introspections, sign-ins and pgbench in turns."""
    bench.prepare()
    results = {name: [] for name in ("refresh", "introspect", "sign-in", "pgbench")}
    for _ in range(rounds):
        results["refresh"].append(bench.ask("refresh"))
        results["pgbench"].append(bench.statement())
        results["introspect"].append(bench.ask("introspect"))
        results["sign-in"].append(bench.peak())
    for name in "refresh", "introspect", "sign-in":
        row(f"{name}, {CONNECTIONS} connections", [result["rate"] for result in results[name]], "/s")
        row("  p99", [result["p99"] / 1000 for result in results[name]], "ms", 2)
        row("  CPU of the service", [result["service"] for result in results[name]], "µs")
        row("  CPU of PostgreSQL", [result["PostgreSQL"] for result in results[name]], "µs")
    row("the statement of a refresh by pgbench", results["pgbench"], "/s")
    for name, others in (
        ("refresh ÷ pgbench", results["pgbench"]),
        ("refresh ÷ sign-in", [result["rate"] for result in results["sign-in"]]),
    ):
        row(name, [result["rate"] / other for result, other in zip(results["refresh"], others)], "", 2)


def among(few, many, rounds):
    """The CPU of a call among many grants, in turns with that among few."""
    for what in "refresh", "introspect":
        ratios = {"both": [], "service": [], "PostgreSQL": []}
        for number in range(rounds):
            pair = (few, many) if number % 2 else (many, few)
            results = {bench.grants: bench.ask(what) for bench in pair}
            for name, values in ratios.items():
                values.append(results[many.grants][name] / results[few.grants][name])
        for name, values in ratios.items():
            row(f"{what}: CPU of {name}, {many.grants} ÷ {few.grants} grants", values, "", 3)


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "rounds": int, "seconds": int, "many": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    benches = []
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        try:
            for directory, grants in ((first, 10_000), (second, options.many)):
                benches.append(Bench(options, directory, grants))
            among(*benches, 2 * options.rounds)
            beside(benches[0], options.rounds)
        finally:
            for bench in benches:
                bench.stop()


main()
