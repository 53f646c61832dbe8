"""Measures refreshes and the account of signed-in people against pgbench on one PostgreSQL cluster, or against another build
in turns; see docs/performance.md. Called by run.sh."""

import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from compare import in_turns, report  # noqa: E402
from measure import Bench as SignInBench, CONNECTIONS  # noqa: E402
from service import call, register_persons, SUBJECTS  # noqa: E402

SESSIONS = 2_000
WHATS = {"refresh": "refreshToken", "account": "accessToken"}


class Bench(SignInBench):
    def prepare(self):
        register_persons(self.service, self.sandbox, self.tokens, SUBJECTS[:SESSIONS])

    def sign_in(self):
        """Opens a session for each person and keeps its tokens: none else is in the database."""
        self.database.reset()

        def session(token):
            return call(self.service, "/v1/sign-in/google", {"idToken": token})["session"]

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            sessions = list(pool.map(session, pathlib.Path(self.tokens).read_text(encoding="ascii").split()))
        for member in WHATS.values():
            pathlib.Path(self.tokens + member).write_text("".join(session[member] + "\n" for session in sessions))
        self.database.query(
            "DROP TABLE IF EXISTS bench_sessions",
            """CREATE TABLE bench_sessions AS
                SELECT row_number() OVER (ORDER BY session_id)::int AS n, session_id FROM sessions""",
            "ALTER TABLE bench_sessions ADD PRIMARY KEY (n)", "VACUUM ANALYZE", "CHECKPOINT")

    def ask(self, what, connections):
        """A second, latencies, µs of CPU for each."""
        self.sign_in()
        before = self.cpu_seconds()
        output = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{self.seconds}s", "-s", HERE / f"{what}.lua", self.service.url, "--",
             self.tokens + WHATS[what]], check=True, stdout=subprocess.PIPE, text=True).stdout
        after = self.cpu_seconds()
        result = json.loads(output.splitlines()[-1])
        if result["refused"] or result["failed"] or not result["requests"]:
            raise SystemExit(f"not every request was answered with 200: {result}")
        result["rate"] = result["requests"] / result["seconds"]
        for name, start, end in zip(("service", "PostgreSQL"), before, after):
            result[name] = (end - start) * 1e6 / result["requests"]
        return result

    def statement(self, what):
        rates = []
        for clients in 8, 32:
            self.sign_in()
            rates.append(self.database.pgbench(HERE / f"{what}.sql", clients, self.seconds, sessions=SESSIONS))
        return max(rates)


def row(title, values, unit, digits=0):
    low, high = min(values), max(values)
    print(f"{title:40}{statistics.median(values):10.{digits}f} {unit}  ({low:.{digits}f} to {high:.{digits}f})", flush=True)


def run(bench, rounds):
    bench.prepare()
    for what in WHATS:
        alone, loaded, statements = [], [], []
        for _ in range(rounds):
            alone.append(bench.ask(what, 1))
            statements.append(bench.statement(what))
            loaded.append(bench.ask(what, CONNECTIONS))
        for connections, results in (1, alone), (CONNECTIONS, loaded):
            row(f"{what}, connections: {connections}", [result["rate"] for result in results], "/s")
            for name in "p50", "p99":
                row(f"  {name}", [result[name] / 1000 for result in results], "ms", 2)
            for process in "service", "PostgreSQL":
                row(f"  CPU of {process}", [result[process] for result in results], "µs")
        row("  its statement by pgbench", statements, "/s")
        row(f"{what} ÷ pgbench", [result["rate"] / rate for result, rate in zip(loaded, statements)], "", 2)


def compare(before, after, rounds):
    for bench in before, after:
        bench.prepare()
    for what in WHATS:
        for connections in 1, CONNECTIONS:
            results = in_turns(rounds, before, after, lambda bench, _: bench.ask(what, connections))
            report(f"{what}, connections: {connections}", *results, {
                "a second": lambda result: result["rate"],
                **{f"CPU of {process}": lambda result, name=process: result[name] for process in ("service", "PostgreSQL")}})


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "rounds": int, "seconds": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--against", default="")
    options = parser.parse_args()
    builds = {"sessions_before": options.against, "sessions_bench": options.bin}
    with contextlib.ExitStack() as stack:
        benches = []
        for name, bin in builds.items():
            if bin:
                directory = stack.enter_context(tempfile.TemporaryDirectory())
                benches.append(Bench(bin, options.cluster, options.seconds, directory, name))
                stack.callback(benches[-1].stop)
        if options.against:
            compare(*benches, options.rounds)
        else:
            run(*benches, options.rounds)


main()
