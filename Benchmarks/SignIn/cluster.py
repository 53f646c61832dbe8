"""The database of the benchmark, and pgbench on it."""

import os
import pathlib
import re
import subprocess
import time


class Database:
    """A database of its own in a running cluster, of which we are superuser."""

    def __init__(self, cluster_url, name, content=None):
        """A database of the name that is marked with the content is used as it is; without a content none is."""
        self._cluster_url = cluster_url
        self._name = name
        self.has_trail = False
        self.url = cluster_url.replace("/postgres?", f"/{name}?")
        self.is_filled = content is not None and content == self._psql(
            cluster_url, f"SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = '{name}'")
        if not self.is_filled:
            self.drop()
            self._psql(cluster_url, f"CREATE DATABASE {name}")
        data = pathlib.Path(self.query("SHOW data_directory"))
        self._postmaster = int((data / "postmaster.pid").read_text().splitlines()[0])
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            if self.query(f"SHOW {setting}") != "on":
                raise SystemExit(f"{setting} is not on: this would measure nothing")

    def mark(self, content):
        self.query(f"COMMENT ON DATABASE {self._name} IS '{content}'")

    def drop(self):
        self._psql(
            self._cluster_url, "SET client_min_messages = warning", f"DROP DATABASE IF EXISTS {self._name} WITH (FORCE)")

    def query(self, *statements):
        return self._psql(self.url, *statements)

    @staticmethod
    def _psql(url, *statements):
        commands = [word for statement in statements for word in ("-c", statement)]
        return subprocess.run(
            ["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", url, *commands],
            check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def reset(self):
        """Empties the tables, so that every measurement begins alike, with neither a checkpoint nor a vacuum due. A trail
        that was filled stays."""
        trail = "" if self.has_trail else ", audit_events"
        self.query(f"TRUNCATE sessions, web_sessions{trail}", "VACUUM ANALYZE", "CHECKPOINT")

    def fill_trail(self, rows):
        """Adds sign-ins of the last two weeks to the trail, of people and networks in no order. They are of a chain before that
        of the seals: sealing millions of rows takes long, and a service that has been there for long has done so."""
        self.has_trail = True
        self.await_seals()
        self.query(
            "SET session_replication_role = replica",
            f"""INSERT INTO audit_events (event_id, type, actor, account_id, identity_id, request_id, network, chain,
                    created_at)
                SELECT (left(time, 8) || '-' || right(time, 4) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
                    'signed_in', 'person', gen_random_uuid(), gen_random_uuid(),
                    left(time, 8) || '-' || right(time, 4) || substr(gen_random_uuid()::text, 14),
                    '10.' || n % 251 || '.' || n / 251 % 256 || '.0/24', 0, at
                FROM (
                    SELECT n, at, lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') AS time
                    FROM generate_series(1, {rows}) AS n,
                        LATERAL (SELECT now() - interval '14 days' + n * (interval '13 days' / {rows}) AS at) t
                ) r""")

    def await_seals(self):
        """Until the service has sealed the rows of the trail that it has written."""
        rows = int(self.query("SELECT count(*) FROM audit_events WHERE chain > 0"))
        while int(self.query("SELECT COALESCE(max(total_count), 0) FROM audit_head")) < max(rows, 1):
            time.sleep(1)

    def sessions(self):
        return int(self.query("SELECT count(*) FROM sessions"))

    def cpu_seconds(self):
        """CPU seconds of the server, including those of its processes that have ended."""
        ticks = 0
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (directory / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(directory.name) == self._postmaster:
                ticks += sum(int(field) for field in fields[11:15])
            elif int(fields[1]) == self._postmaster:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def pgbench(self, script, clients, seconds, **variables):
        """Statements per second. Beside the script's variables there is `count`, from 0."""
        definitions = [word for name, value in ({"count": 0} | variables).items() for word in ("-D", f"{name}={value}")]
        output = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(seconds), *definitions,
             "-f", script, self.url], check=True, stdout=subprocess.PIPE, text=True).stdout
        return float(re.search(r"^tps = ([0-9.]+)", output, re.MULTILINE).group(1))
