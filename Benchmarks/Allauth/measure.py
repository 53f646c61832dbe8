"""Measures full sign-ins of known people against those of django-allauth on one PostgreSQL cluster; see docs/performance.md.
Called by run.sh."""

import argparse
import contextlib
import json
import os
import pathlib
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from cluster import Database  # noqa: E402
from measure import Bench, CONNECTIONS  # noqa: E402
from service import CLIENT_ID, register_persons, Server, SUBJECTS  # noqa: E402

TARGET = "/_allauth/app/v1/auth/provider/token"
# As shipped it fetches Google's keys for each token.
OURS, SHIPPED, CACHED = "Countersign", "allauth, as shipped", "allauth, keys cached"


def request(token):
    return {"provider": "google", "process": "login", "token": {"client_id": CLIENT_ID, "id_token": token}}


def children(process):
    answer = subprocess.run(["pgrep", "--parent", str(process)], check=False, stdout=subprocess.PIPE, text=True)
    return [int(child) for child in answer.stdout.split()]


def stop_children():
    """Stops the servers that are left when one of them did not start."""
    for process in children(os.getpid()):
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)


def memory(server, field):
    """`Rss` or `Pss` of a server's processes together, in MB."""
    kilobytes = 0
    for process in server._process.pid, *children(server._process.pid):
        lines = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
        kilobytes += next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))
    return kilobytes * 1024 / 1e6


class Certificates(Server):
    """The sandbox's keys of Google in the form that allauth reads."""

    def __init__(self, python, directory, sandbox):
        super().__init__(f"{directory}/certificates.log")
        self.run(python, HERE / "certificates.py", str(self.port), sandbox.url + "/google/oauth2/v3/certs")
        self.await_answer(self.port, "/")


class Allauth(Server):
    """Processes of gunicorn's that answer one request at a time each, and the one that starts them."""

    def __init__(self, python, workers, directory, **environment):
        super().__init__(f"{directory}/allauth.log")
        self.run(
            pathlib.Path(python).parent / "gunicorn", "--chdir", HERE, "--bind", f"127.0.0.1:{self.port}",
            "--workers", str(workers), "--log-level", "warning", "--no-control-socket", "project:application",
            **environment)
        self.await_answer(self.port, "/_allauth/app/v1/config")

    def cpu_seconds(self):
        ticks = 0
        for process in self._process.pid, *children(self._process.pid):
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


class AllauthDatabase(Database):
    def reset(self):
        self.query("TRUNCATE django_session", "VACUUM ANALYZE", "CHECKPOINT")

    def sessions(self):
        return int(self.query("SELECT count(*) FROM django_session"))

    def require_accounts(self, number):
        """A token of an unknown person would be answered with 200 as well, and a new account."""
        found = self.query(
            "SELECT (SELECT count(*) FROM auth_user), (SELECT count(*) FROM socialaccount_socialaccount),"
            " (SELECT count(*) FROM account_emailaddress WHERE verified)")
        if found != f"{number}|{number}|{number}":
            raise SystemExit(f"accounts, identities and verified addresses are {found}, not {number} each")


class AllauthBench(Bench):
    def __init__(self, service, database, tokens):
        self.service, self.database, self.tokens = service, database, tokens

    def wrk(self, seconds, connections=CONNECTIONS, rate=0):
        result = self.run_wrk(
            HERE / "sign-in.lua", seconds, connections, self.tokens, TARGET, json.dumps(request("TOKEN")))
        result["rate"] = result["requests"] / result["seconds"]
        return result


def settled_sessions(database):
    """wrk closes its connections without reading their last answers, which gunicorn's workers still work at."""
    before, now = None, database.sessions()
    while now != before:
        time.sleep(0.5)
        before, now = now, database.sessions()
    return now


def turn(bench, databases, seconds, certificates):
    for database in databases:
        database.reset()
    before = *bench.cpu_seconds()[:2], certificates.cpu_seconds()
    result = bench.wrk(seconds)
    sessions = settled_sessions(bench.database)
    after = *bench.cpu_seconds()[:2], certificates.cpu_seconds()
    if not result["requests"] <= sessions <= result["requests"] + CONNECTIONS:
        raise SystemExit(f"{result['requests']} answers, but {sessions} sessions")
    for name, start, end in zip(("service", "PostgreSQL", "certificates"), before, after):
        result[name] = (end - start) * 1e6 / sessions
    result["both"] = result["service"] + result["PostgreSQL"]
    for field in "Rss", "Pss":
        result[field] = memory(bench.service, field)
    return result


def row(title, values, unit, digits=0):
    low, high = min(values), max(values)
    print(f"{title:40}{statistics.median(values):10.{digits}f} {unit}  ({low:.{digits}f} to {high:.{digits}f})", flush=True)


def report(results):
    for name, turns in results.items():
        row(f"{name}, {CONNECTIONS} connections", [result["rate"] for result in turns], "/s")
        for percentile in "p50", "p99":
            row(f"  {percentile}", [result[percentile] / 1000 for result in turns], "ms", 1)
        for process in ("service", "PostgreSQL", "certificates")[:3 if name == SHIPPED else 2]:
            row(f"  CPU of {process}", [result[process] for result in turns], "µs a sign-in")
        for field in "Rss", "Pss":
            row(f"  {field}", [result[field] for result in turns], "MB", 1)
    for name in SHIPPED, CACHED:
        pairs = list(zip(results[OURS], results[name]))
        row(f"Countersign ÷ {name}", [ours["rate"] / theirs["rate"] for ours, theirs in pairs], "", 1)
        row("  CPU with PostgreSQL, theirs ÷ ours", [theirs["both"] / ours["both"] for ours, theirs in pairs], "", 1)
        row("  Pss, ours ÷ theirs", [ours["Pss"] / theirs["Pss"] for ours, theirs in pairs], "", 2)


def run(options, directory, stack):
    ours = Bench(options.bin, options.cluster, options.seconds, directory, "allauth_bench_countersign")
    stack.callback(ours.stop)
    certificates = Certificates(options.python, directory, ours.sandbox)
    stack.callback(certificates.stop)
    database = AllauthDatabase(options.cluster, "allauth_bench_django")
    stack.callback(database.drop)
    environment = {
        "ALLAUTH_DATABASE": database.url, "ALLAUTH_CERTIFICATES": certificates.url,
        "ALLAUTH_SECRET_KEY": secrets.token_hex(32)}
    subprocess.run(
        [options.python, HERE / "project.py", str(SUBJECTS[0]), str(options.people)], env=os.environ | environment, check=True)
    benches = {OURS: ours}
    for name, more in (SHIPPED, {}), (CACHED, {"ALLAUTH_CACHES_KEYS": "1"}):
        server = Allauth(options.python, options.workers, directory, **environment, **more)
        stack.callback(server.stop)
        benches[name] = AllauthBench(server, database, ours.tokens)

    register_persons(ours.service, ours.sandbox, ours.tokens, SUBJECTS[:options.people])
    for bench in benches.values():
        bench.wrk(2)

    results = {name: [] for name in benches}
    for number in range(1, options.rounds + 1):
        for name, bench in benches.items():
            results[name].append(turn(bench, (ours.database, database), options.seconds, certificates))
        database.require_accounts(options.people)
        print(f"round {number}: " + "; ".join(f"{name} {turns[-1]['rate']:.0f}" for name, turns in results.items()), flush=True)
    print(
        f"\n{options.people} people, {options.workers} workers of gunicorn: medians of {options.rounds} rounds, the least and"
        " the most")
    report(results)


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {
            "bin": str, "python": str, "cluster": str, "rounds": int, "seconds": int, "people": int, "workers": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        stack.callback(stop_children)
        run(options, directory, stack)


if __name__ == "__main__":
    main()
