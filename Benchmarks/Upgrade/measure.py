"""Upgrades a database of the first version while it is written to, and brings it back; see docs/operations/capacity.md.
Called by run.sh."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from cluster import Database  # noqa: E402

# The last migration of 0.1.0.
FIRST = 29
MONTH = HERE.parent.parent / "deploy/upgrades/0030_index_this_month.sql"
# Longer than without a migration, in milliseconds, no write may take.
MOST = 200
# The writes of each probe in a second, and those of the load.
PROBE, LOAD = 100, 300
TABLES = "accounts", "identities", "sessions"
# Its month is indexed in one go by some migrations, and who writes to it waits.
TRAIL = "audit_events"
ID = "lpad(to_hex({}::int), 32, '0')::uuid"


class Bench:
    def __init__(self, options, directory):
        self.options, self.directory = options, pathlib.Path(directory)
        self.database = Database(options.cluster, "upgrade_bench")
        self.environment = os.environ | {"COUNTERSIGN_POSTGRES_URL": self.database.url}
        self.migrate("up", "--to", str(FIRST))
        self.fill(options.accounts)

    def migrate(self, *words):
        begin = time.monotonic()
        subprocess.run(
            [f"{self.options.bin}/countersign", "migrate", *words], env=self.environment, check=True,
            stdout=subprocess.DEVNULL)
        return time.monotonic() - begin

    def fill(self, count):
        """Each account with a name, an identity, a session and two rows of the trail."""
        id, rows = ID.format("n"), f"FROM generate_series(1, {count}) AS n"
        self.database.query(
            "SET session_replication_role = replica",
            f"""INSERT INTO accounts (account_id, email, display_name, created_at)
                SELECT {id}, 'person' || n || '@example.com', 'Kim ' || n, now() {rows}""",
            f"""INSERT INTO identities (identity_id, account_id, provider, realm, subject, email, created_at)
                SELECT {id}, {id}, CASE n % 2 WHEN 0 THEN 'apple' ELSE 'google' END, 'lamp', n::text,
                    'person' || n || '@example.com', now() {rows}""",
            f"""INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at,
                    last_used_at, expires_at)
                SELECT {id}, {id}, {id}, now(), now(), '{{google}}', now(), now(), now() + interval '60 days' {rows}""",
            f"""INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, network, created_at)
                SELECT gen_random_uuid(), CASE n % 2 WHEN 0 THEN 'signed_in' ELSE 'account_created' END, 'person',
                    lpad(to_hex(n / 2), 32, '0')::uuid, gen_random_uuid(), '10.0.0.0/24', now()
                FROM generate_series(1, {2 * count}) AS n""",
            "VACUUM ANALYZE", "CHECKPOINT")

    def script(self, name, text):
        path = self.directory / f"{name}.sql"
        path.write_text(f"\\set n random(1, {self.options.accounts})\n{text};\n", encoding="ascii")
        return str(path)

    def scripts(self):
        id = ID.format(":n")
        return {
            "accounts": self.script("accounts", f"UPDATE accounts SET display_name = 'Kim ' || :n::text WHERE account_id = {id}"),
            "identities": self.script(
                "identities", f"UPDATE identities SET last_sign_in_at = now() WHERE identity_id = {id}"),
            # A sign-in.
            "sessions": self.script(
                "sessions",
                f"""INSERT INTO sessions (session_id, account_id, identity_id, rotated_at, auth_time, amr, created_at,
                    last_used_at, expires_at)
                VALUES (gen_random_uuid(), {id}, {id}, now(), now(), '{{google}}', now(), now(), now() + interval '60 days')"""
            ),
            # What writes to the tables beside the probes.
            "refresh": self.script(
                "refresh", f"UPDATE sessions SET generation = generation + 1, last_used_at = now() WHERE session_id = {id}"),
            TRAIL: self.script(
                TRAIL,
                f"""INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, network, created_at)
                VALUES (gen_random_uuid(), 'signed_in', 'person', {id}, {id}, '10.0.0.0/24', now())"""),
        }

    def written(self, act):
        """What the act returns, and how long each write of a probe took from when it was due, in milliseconds: those of
        before the act, and those of the act, by table."""
        scripts = self.scripts()
        processes = []

        def start(rate, clients, *words):
            processes.append(subprocess.Popen(
                ["pgbench", "-n", "-M", "prepared", "-R", str(rate), "-c", str(clients), "-T", "86400", *words,
                 self.database.url],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))

        for table in (*TABLES, TRAIL):
            start(PROBE, 1, "-l", "--log-prefix", str(self.directory / table), "-f", scripts[table])
        start(LOAD, 8, *(word for name in ("sessions", "refresh") for word in ("-f", scripts[name])))
        # The first statements plan, and find no page in memory.
        time.sleep(5)
        begin = time.time()
        time.sleep(self.options.seconds)
        middle = time.time()
        result = act()
        # What waits is over, and written.
        time.sleep(2)
        for process in processes:
            if process.poll() is not None:
                raise SystemExit(f"a probe has ended: {process.stderr.read()[-1000:]}")
            process.terminate()
            process.wait()
        times = {}
        for table in (*TABLES, TRAIL):
            before, during = [], []
            for log in self.directory.glob(f"{table}.*"):
                if log.suffix == ".sql":
                    continue
                for line in log.read_text(encoding="ascii").splitlines():
                    fields = line.split()
                    if len(fields) < 6:
                        continue
                    # When it was done, and how long it took since it was due.
                    done, took = int(fields[4]) + int(fields[5]) / 1e6, int(fields[2]) / 1e3
                    if begin <= done < middle:
                        before.append(took)
                    elif done >= middle:
                        during.append(took)
                log.unlink()
            times[table] = before, during
        return result, times

    def schema(self):
        dump = subprocess.run(
            ["pg_dump", "--schema-only", self.database.url], check=True, stdout=subprocess.PIPE, text=True).stdout
        # Newer minor releases write a random word into each dump.
        return [line for line in dump.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]

    def up(self):
        """Indexes the month that is written to without locking it, where that is asked for, and migrates."""
        begin = time.monotonic()
        if self.options.prepare:
            subprocess.run(
                ["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-f", MONTH, self.database.url], check=True,
                stdout=subprocess.DEVNULL)
        self.migrate("up")
        return time.monotonic() - begin

    def round(self, number):
        schema = self.schema()
        for direction, act in {
            "up": self.up,
            "down": lambda: self.migrate("down", "--yes", "--steps", str(self.steps())),
        }.items():
            seconds, times = self.written(act)
            print(f"round {number}, {direction}: {seconds:.1f} s", flush=True)
            for table, (before, during) in times.items():
                usual, most = at(0.999, before), max(during)
                is_met = most <= usual + MOST or direction == "down" or table == TRAIL
                print(f"  {table:12} p50 {at(0.5, before):6.1f} ms, p99.9 {usual:6.1f} ms; longest meanwhile {most:7.1f} ms"
                      f" of {len(during)}{'' if is_met else '  (missed)'}", flush=True)
        if self.schema() != schema:
            raise SystemExit("the schema is not that of before")
        print("  the schema is that of before, as pg_dump writes it", flush=True)

    def steps(self):
        return int(self.database.query(f"SELECT count(*) FROM schema_migrations WHERE version > {FIRST}"))


def at(part, values):
    return sorted(values)[int(part * (len(values) - 1))]


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "accounts": int, "rounds": int, "seconds": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--prepare", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(options, directory)
        try:
            for number in range(1, options.rounds + 1):
                bench.round(number)
        finally:
            bench.database.drop()


main()
