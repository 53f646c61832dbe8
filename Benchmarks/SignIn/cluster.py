"""The database of the benchmark, and pgbench on it."""

import os
import pathlib
import re
import subprocess


class Database:
    """A database of its own in a running cluster, of which we are superuser."""

    def __init__(self, cluster_url, name):
        self._cluster_url = cluster_url
        self._name = name
        self.url = cluster_url.replace("/postgres?", f"/{name}?")
        self.drop()
        self._psql(cluster_url, f"CREATE DATABASE {name}")
        data = pathlib.Path(self.query("SHOW data_directory"))
        self._postmaster = int((data / "postmaster.pid").read_text().splitlines()[0])
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            if self.query(f"SHOW {setting}") != "on":
                raise SystemExit(f"{setting} is not on: this would measure nothing")

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
        """Empties the tables, so that every measurement begins alike, with neither a checkpoint nor a vacuum due."""
        self.query("TRUNCATE sessions, web_sessions, audit_events", "VACUUM ANALYZE", "CHECKPOINT")

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

    def pgbench(self, script, clients, seconds):
        """Statements per second."""
        output = subprocess.run(
            ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(seconds), "-D", "count=0",
             "-f", script, self.url], check=True, stdout=subprocess.PIPE, text=True).stdout
        return float(re.search(r"^tps = ([0-9.]+)", output, re.MULTILINE).group(1))
