"""Measures the pages of the console among many accounts, and looks for sequential scans; see docs/performance.md. Called by
run.sh."""

import argparse
import contextlib
import html
import http.client
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from measure import Bench as SignInBench  # noqa: E402

# The tables that grow with the accounts. Partitions of the audit trail count as it.
LARGE = ("accounts", "identities", "sessions", "audit_events")

# Milliseconds for a page: the median, and what 95 of 100 are to be under.
MEDIAN, SLOW = 30, 60


def slow(times):
    return sorted(times)[int(0.95 * (len(times) - 1))]


def within(times):
    return statistics.median(times) <= MEDIAN and slow(times) <= SLOW


class Console:
    """An administrator at the console, over one connection."""

    def __init__(self, port, key):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._cookie = ""
        body = urllib.parse.urlencode({"key": key})
        self._connection.request(
            "POST", "/console/sign-in", body, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != 303:
            raise SystemExit(f"the sign-in was answered with {answer.status}")
        self._cookie = answer.getheader("Set-Cookie").partition(";")[0]

    def open(self, path):
        """The page, and the milliseconds until it was there."""
        start = time.perf_counter()
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        page = answer.read().decode()
        elapsed = (time.perf_counter() - start) * 1e3
        if answer.status != 200:
            raise SystemExit(f"{path} was answered with {answer.status}")
        return page, elapsed


def scans(database):
    """Rows read by sequential scans of the large tables so far."""
    time.sleep(1.5)  # A server process reports what it did within a second.
    return int(database.query(
        "SELECT COALESCE(sum(seq_tup_read), 0) FROM pg_stat_user_tables"
        f" WHERE relname = ANY ('{{{','.join(LARGE)}}}') OR relname LIKE 'audit_events_%'"))


def measure(bench, options, key):
    number = options.accounts // 2
    account = f"01900000-0000-7000-8000-{number:012x}"
    console = Console(bench.service.private_port, key)
    searches = {
        "everybody": "", "an exact address": f"user{number}@example.com", "an account's id": account,
        "an id of nothing": "01900000-0000-7000-8000-ffffffffffff", "an id in a system before": f"legacy-{number}",
        "an address that a provider states": f"at-user{number}@example.com",
        "a subject": f"google:subject-{number}", "a whole name, of a thousandth": f"Kim {number % 1000}",
        "the beginning of every address": "user", "the beginning of some": f"user{number}"[:-2], "nobody": "zz",
    }
    pages = {f"search: {name}": "/console/accounts?" + urllib.parse.urlencode({"q": text}) for name, text in searches.items()}
    pages |= {
        "an account": f"/console/accounts/{account}", "overview": "/console/", "revocations": "/console/revocations",
        "audit trail": "/console/audit", "audit trail of an account": f"/console/audit?accountId={account}",
        "provider events": "/console/provider-events",
    }
    week = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 10 * 86400))
    trails = {
        "a request": {"request": f"request-0-{number}"}, "an identity": {"identity": account},
        "a network": {"network": "10.7.7.0/24"}, "a network of nobody": {"network": "192.0.2.0/24"},
        "a name": {"actor": "kim7"}, "administrators": {"actor": "administrator"}, "people": {"actor": "person"},
        "nobody's kind": {"actor": "operator"}, "a type": {"type": "sessions_ended"},
        "a network and a type": {"network": "10.7.7.0/24", "type": "sessions_ended"},
        "people and a type of none of theirs": {"actor": "person", "type": "sessions_ended"},
        "an account and a type": {"accountId": account, "type": "signed_in"},
        "sign-ins": {"type": "signed_in"}, "a name and a type of none of theirs": {"actor": "kim7", "type": "signed_in"},
        "a request of nobody": {"request": "request-2"}, "a type of nobody": {"type": "account_deleted"},
        "since": {"since": week}, "until": {"until": week}, "people, until": {"actor": "person", "until": week},
    }
    pages |= {f"trail: {name}": "/console/audit?" + urllib.parse.urlencode(query) for name, query in trails.items()}
    pages["search: a request's id"] = f"/console/accounts?q=request-0-{number}"
    before, every, above = scans(bench.database), [], []
    for name, path in pages.items():
        times = []
        for _ in range(options.rounds):
            page, elapsed = console.open(path)
            times.append(elapsed)
        # The pages after it, as far as a list goes on.
        following = []
        for _ in range(options.rounds):
            target = re.search(r'rel="next" href="([^"]+)"', page)
            if not target:
                break
            page, elapsed = console.open(html.unescape(target.group(1)))
            following.append(elapsed)
        rest = f"next pages {statistics.median(following):7.1f} ms  (95 % {slow(following):.1f})" if following else ""
        every += times + following
        if not all(within(part) for part in (times, following) if part):
            above.append(name)
        print(f"{name:44}{statistics.median(times):8.1f} ms  (95 % {slow(times):.1f})  {rest}", flush=True)
    print(f"all pages: median {statistics.median(every):.1f} ms, 95 % {slow(every):.1f} ms")
    print(f"above {MEDIAN} ms, or {SLOW} ms for 95 of 100: {', '.join(above) or 'none'}")
    print(f"rows read by sequential scans of the large tables: {scans(bench.database) - before}")
    if options.plans:
        plans(bench, options, pages, key)


def plans(bench, options, pages, key):
    """Has the planner believe that the tables are as large as with so many rows, opens each page once more, and looks for
    sequential scans in the plans that PostgreSQL writes down."""
    factor, database = options.plans / options.accounts, bench.database
    large = ("relkind IN ('r', 'i') AND relnamespace = current_schema()::regnamespace AND reltuples > 1000"
             f" AND (relname ~ '^({'|'.join(LARGE)})')")
    name = database.query("SELECT current_database()")
    measured = database.query(f"SELECT format('(%s, %s)', oid, reltuples) FROM pg_class WHERE {large}").split("\n")
    # The planner takes the pages that are there times the rows of a page, of which there seem to be more.
    database.query(f"UPDATE pg_class SET reltuples = reltuples * {factor} WHERE {large} RETURNING 1")
    for setting in ("session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"):
        database.query(f"DO $$ BEGIN EXECUTE 'ALTER DATABASE {name} SET {setting.replace(chr(39), chr(39) * 2)}'; END $$")
    log = pathlib.Path(options.log)
    start = log.stat().st_size
    database.query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()")
    time.sleep(2)
    console = Console(bench.service.private_port, key)
    for path in pages.values():
        console.open(path)
    time.sleep(1)
    with log.open() as lines:
        lines.seek(start)
        text = lines.read()
    # The months of the trail that are still to come have nothing to read.
    filled = set(database.query(
        "SELECT string_agg(relname, ' ') FROM pg_class WHERE relkind = 'r' AND pg_relation_size(oid) > 0").split())
    scanned = sorted(set(re.findall(rf"Seq Scan on ((?:{'|'.join(LARGE)})\w*)", text)) & filled)
    count = text.count("Query Text:")
    print(f"plans for {options.plans:,} rows: {count} looked at, sequential scans of large tables: {scanned or 'none'}")
    database.query(
        f"ALTER DATABASE {name} RESET ALL",
        f"UPDATE pg_class c SET reltuples = m.rows FROM (VALUES {', '.join(measured)}) m (oid, rows) WHERE c.oid = m.oid")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--accounts", type=int, required=True)
    parser.add_argument("--plans", type=int, default=0)
    parser.add_argument("--log", required=True)
    # The directory of what belongs to a database that is kept.
    parser.add_argument("--keep")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        directory = options.keep or stack.enter_context(tempfile.TemporaryDirectory())
        pathlib.Path(directory).mkdir(exist_ok=True)
        content = f"{options.accounts} accounts"
        bench = SignInBench(
            options.bin, options.cluster, 1, directory, "console_bench", content if options.keep else None)
        stack.callback(bench.stop, drop=not options.keep)
        key = subprocess.run(
            [f"{options.bin}/countersign", "admin-key", "create", "--name", "bench", "--scopes", "read"],
            env=bench.service._environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        # The making of the key is the first row that is sealed.
        bench.database.await_seals()
        if not bench.database.is_filled:
            fill(bench.database, options.accounts)
            bench.database.mark(content)
        measure(bench, options, key)


def fill(database, accounts):
    start = time.monotonic()
    subprocess.run(
        ["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-v", f"accounts={accounts}", "-f", HERE / "fill.sql", database.url],
        check=True)
    print(f"filled within {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
