"""Measures `countersign import`; see docs/performance.md. Called by run.sh."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from cluster import Database  # noqa: E402  (the processes are those of another benchmark)
from service import Sandbox, Service, register_persons  # noqa: E402

RATE = 200
CONNECTIONS = 64
HASH = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"


def row(number):
    """A person with an address, two identities and a bcrypt hash: some 400 bytes."""
    return json.dumps({
        "externalId": f"old-{number:012d}", "email": f"moved{number}@example.org", "emailVerified": True,
        "displayName": f"Kim Example {number % 1000}", "createdAt": "2024-05-06T07:08:09Z",
        "identities": [
            {"provider": "google", "subject": f"7{number:020d}", "email": f"moved{number}@gmail.com"},
            {"provider": "apple", "subject": f"001234.{number:032x}.0123"},
        ],
        "passwordHash": HASH}).encode() + b"\n"


def wide_row(number, data):
    """A line of Auth0's with much that is not read."""
    return (
        f'{{"user_id":"google-oauth2|7{number:020d}","email":"moved{number}@example.org","email_verified":true,'
        f'"name":"Kim","user_metadata":{{"data":"{data}"}}}}\n').encode()


class Import:
    """A run of the command, which reads what is written to it."""

    def __init__(self, bench, words, source="ndjson"):
        environment = os.environ | bench.service._environment
        environment["COUNTERSIGN_APPLE_CLIENT_IDS"] = "com.example.lamp"
        self._process = subprocess.Popen(
            [f"{bench.bin}/countersign", "import", source, *words, "--apple-team", "main", "--report", bench.report],
            env=environment, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.start = time.monotonic()
        self.errors = b""
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        self.errors = self._process.stderr.read()

    def write(self, data):
        self._process.stdin.write(data)

    def memory(self):
        """The most that was resident, in MB."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024 / 1e6

    def cpu_seconds(self):
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, codes=(0,)):
        """Rows a second, from the start of the process to its end."""
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # It has ended.
        code = self._process.wait()
        elapsed = time.monotonic() - self.start
        self.reader.join()
        if code not in codes:
            raise SystemExit(f"the import ended with {code}: {self.errors.decode()[-2000:]}")
        return int(re.search(r"^(?:countersign: )?(\d+) rows", self.errors.decode(), re.MULTILINE).group(1)) / elapsed

    def terminate(self):
        self._process.terminate()


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.bin = options.bin
        self.report = f"{directory}/report"
        self.database = Database(options.cluster, "import_bench")
        self.sandbox = Sandbox(options.bin, directory)
        self.service = Service(options.bin, directory, self.database.url, self.sandbox)
        self.tokens = f"{directory}/tokens"
        self.next = 0

    def stop(self):
        self.service.stop()
        self.sandbox.stop()
        self.database.drop()

    def say(self, title, value):
        print(f"{title:64}{value}", flush=True)

    def write(self, run, count):
        for number in range(self.next, self.next + count):
            run.write(row(number))
        self.next += count

    def fill(self):
        """Makes accounts with an address and an identity each."""
        self.database.query(
            f"""
            INSERT INTO accounts (account_id, email, email_verified, email_proof, created_at)
            SELECT gen_random_uuid(), 'user' || n || '@example.com', true, 'stated', now()
            FROM generate_series(1, {self.options.accounts}) AS n""",
            """
            INSERT INTO identities (identity_id, account_id, provider, realm, subject, created_at)
            SELECT gen_random_uuid(), account_id, 'google', 'main', 'subject-' || email, created_at
            FROM accounts WHERE email LIKE 'user%@example.com'""", "VACUUM ANALYZE", "CHECKPOINT")

    def speed(self):
        for title in ("an empty database", f"a database of {self.options.accounts} accounts"):
            if title != "an empty database":
                self.fill()
            rows = [row(number) for number in range(self.next, self.next + self.options.rows)]
            self.next += self.options.rows
            before = self.database.cpu_seconds()
            run = Import(self, ["-"])
            for part in range(0, len(rows), 1000):
                run.write(b"".join(rows[part:part + 1000]))
            cpu = run.cpu_seconds()
            rate = run.end()
            database = self.database.cpu_seconds() - before
            self.say(f"rows a second into {title}", f"{rate:.0f}")
            self.say("  CPU of the command and of PostgreSQL, µs a row",
                     f"{1e6 * cpu / len(rows):.0f} and {1e6 * database / len(rows):.0f}")

    def wrk(self):
        output = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{self.options.seconds}s", "-s", HERE.parent / "SignIn/sign-in.lua",
             self.service.url, "--", self.tokens, str(RATE)], check=True, stdout=subprocess.PIPE, text=True).stdout
        result = json.loads(output.splitlines()[-1])
        if result["refused"] or result["failed"]:
            raise SystemExit(f"not every sign-in was answered with 200: {result}")
        return result

    def imported(self):
        return int(self.database.query("SELECT count(*) FROM imported_rows"))

    def pace(self):
        register_persons(self.service, self.sandbox, self.tokens)
        self.wrk()
        for _ in range(2):
            alone = self.wrk()
            run = Import(self, ["-"])
            isOver = threading.Event()

            def feed():
                try:
                    while not isOver.is_set():
                        self.write(run, 100)
                except BrokenPipeError:
                    pass

            feeder = threading.Thread(target=feed)
            feeder.start()
            # What it does before there is anything to react to is not what is measured.
            before = self.imported()
            while self.imported() == before:
                time.sleep(0.1)
            before, start = self.imported(), time.monotonic()
            beside = self.wrk()
            rate = (self.imported() - before) / (time.monotonic() - start)
            run.terminate()
            isOver.set()
            feeder.join()
            run.end(codes=(1,))
            self.say(f"sign-ins a second, open loop: p50 and p99 alone",
                     f"{alone['p50'] / 1000:.1f} and {alone['p99'] / 1000:.1f} ms")
            self.say("  beside an import", f"{beside['p50'] / 1000:.1f} and {beside['p99'] / 1000:.1f} ms")
            self.say("  p99 beside ÷ alone", f"{beside['p99'] / alone['p99']:.2f}")
            self.say("  rows a second meanwhile", f"{rate:.0f}")

    def memory(self):
        data = "x" * 20_000
        for gigabytes in (self.options.gigabytes / 10, self.options.gigabytes):
            run = Import(self, ["-", "--dry-run"], source="auth0")
            size, number = 0, 0
            while size < gigabytes * 1e9:
                line = wide_row(number % 1000, data)
                size, number = size + len(line), number + 1
                run.write(line)
            memory = run.memory()
            rate = run.end()
            self.say(f"{size / 1e9:.2f} GB in rows of 20 kB: most resident", f"{memory:.0f} MB, {rate:.0f} rows a second")
        for count in (self.options.rows // 4, self.options.rows):
            run = Import(self, ["-", "--dry-run"])
            self.write(run, count)
            memory = run.memory()
            run.end()
            self.say(f"{count} rows of 400 bytes: most resident", f"{memory:.0f} MB")


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {
        "bin": str, "cluster": str, "rows": int, "accounts": int, "gigabytes": float, "seconds": int, "parts": str,
    }.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    for part in options.parts.split(","):
        if part not in ("speed", "pace", "memory"):
            raise SystemExit(f"no such part: {part}")
        with tempfile.TemporaryDirectory() as directory:
            bench = Bench(options, directory)
            try:
                getattr(bench, part)()
            finally:
                bench.stop()


main()
