"""Measures full sign-ins against pgbench on one PostgreSQL cluster; see docs/performance.md. Called by run.sh."""

import argparse
import json
import pathlib
import resource
import socket
import statistics
import subprocess
import tempfile
import time

from cluster import Database
from service import Sandbox, Service, register_persons

CONNECTIONS = 32
OTHER_CONNECTIONS = 1, 128
PACED_CONNECTIONS = 64
IDLE_CONNECTIONS = 1000
HERE = pathlib.Path(__file__).parent


class Bench:
    def __init__(self, bin, cluster, seconds, directory, name="signin_bench", content=None):
        self.seconds = seconds
        self.database = Database(cluster, name, content)
        self.sandbox = Sandbox(bin, directory)
        self.service = Service(bin, directory, self.database.url, self.sandbox)
        self.tokens = f"{directory}/tokens"

    def stop(self, drop=True):
        self.service.stop()
        self.sandbox.stop()
        if drop:
            self.database.drop()

    def prepare(self):
        register_persons(self.service, self.sandbox, self.tokens)
        self.wrk(3)

    def run_wrk(self, script, seconds, connections, *arguments):
        output = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", HERE / script, self.service.url, "--", *arguments],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        result = json.loads(output.splitlines()[-1])
        if result["refused"] or result["failed"]:
            raise SystemExit(f"not every request of {script} succeeded: {result}")
        return result

    def wrk(self, seconds, connections=CONNECTIONS, rate=0):
        result = self.run_wrk("sign-in.lua", seconds, connections, self.tokens, str(round(rate)))
        result["rate"] = result["requests"] / result["seconds"]
        return result

    def measure(self, connections=CONNECTIONS, rate=0):
        self.database.reset()
        result = self.wrk(self.seconds, connections, rate)
        # wrk closes its connections without reading their last answers.
        sessions = self.database.sessions()
        if not result["requests"] <= sessions <= result["requests"] + connections:
            raise SystemExit(f"{result['requests']} answers, but {sessions} sessions")
        return result

    def ceiling(self, clients):
        self.database.reset()
        return self.database.pgbench(HERE / "sign-in.sql", clients, self.seconds)

    def peak(self, connections=CONNECTIONS):
        before = self.cpu_seconds()
        result = self.measure(connections)
        for name, start, end in zip(("service", "PostgreSQL", "wrk"), before, self.cpu_seconds()):
            result[name] = (end - start) * 1e6 / result["requests"]
        return result

    def cpu_seconds(self):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return self.service.cpu_seconds(), self.database.cpu_seconds(), children.ru_utime + children.ru_stime

    def paced(self, peak):
        """The latencies at 70 % of the peak."""
        result = self.measure(PACED_CONNECTIONS, 0.7 * peak)
        result["load"] = result["rate"] / peak
        result["spread"] = result["p99"] / result["p50"]
        return result

    def idle_memory(self):
        """Memory of the service with idle connections, each of which has sent one request."""
        connections = [
            socket.create_connection(("127.0.0.1", self.service.port)) for _ in range(IDLE_CONNECTIONS)]
        for connection in connections:
            connection.sendall(b"GET /.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for connection in connections:
            if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
                raise SystemExit("an idle connection was refused")
        memory = self.service.memory("VmRSS")
        for connection in connections:
            connection.close()
        return memory

    def start(self):
        """The time until it is ready, and its memory soon after: it hashes a password as it starts, which takes its memory
        for a moment."""
        self.service.stop()
        seconds = self.service.start()
        time.sleep(2)
        return {"seconds": seconds, "memory": self.service.memory("VmRSS")}


def run(bench, options):
    bench.prepare()

    def ceiling():
        ceilings.append({"8": bench.ceiling(8), "32": bench.ceiling(32)})
        return max(ceilings[-1].values())

    def peak(connections, ceiling):
        result = bench.peak(connections)
        return result | {"ratio": result["rate"] / ceiling, "memory": bench.service.memory("VmRSS")}

    ceilings, peaks, paced = [], [], []
    for number in range(1, options.rounds + 1):
        # They alternate, so that a slow minute of the machine slows all of them.
        peaks.append(peak(CONNECTIONS, ceiling()))
        paced.append(bench.paced(peaks[-1]["rate"]))
        print(
            f"round {number}: pgbench {ceilings[-1]['8']:.0f} and {ceilings[-1]['32']:.0f}, "
            f"sign-ins {peaks[-1]['rate']:.0f}, ratio {peaks[-1]['ratio']:.3f}", flush=True)
    # Behind those: many connections leave more memory.
    others = {connections: [] for connections in OTHER_CONNECTIONS}
    for _ in range(options.rounds):
        highest = ceiling()
        for connections, results in others.items():
            results.append(peak(connections, highest))
    starts = [bench.start() for _ in range(5)]
    idle = bench.idle_memory()

    def median(results, name):
        return statistics.median(result[name] for result in results)

    def row(title, value, unit, digits=0):
        print(f"{title:36}{value:10.{digits}f} {unit}")

    def load(results):
        row("  ÷ pgbench", median(results, "ratio"), "", 3)
        row("  p50", median(results, "p50") / 1000, "ms", 2)
        row("  p99", median(results, "p99") / 1000, "ms", 2)
        for process in ("service", "PostgreSQL", "wrk"):
            row(f"  CPU of {process}", median(results, process), "µs a sign-in")

    print(f"\nmedians of {options.rounds} rounds")
    row("pgbench, 8 clients", median(ceilings, "8"), "/s")
    row("pgbench, 32 clients", median(ceilings, "32"), "/s")
    row(f"sign-ins, {CONNECTIONS} connections", median(peaks, "rate"), "/s")
    load(peaks)
    row("  memory of the service then", median(peaks, "memory"), "MB", 1)
    for connections, results in others.items():
        row(f"sign-ins, {connections} connections", median(results, "rate"), "/s")
        load(results)
    print(f"at {median(paced, 'load'):.0%} of that rate")
    row("  p50", median(paced, "p50") / 1000, "ms", 2)
    row("  p99", median(paced, "p99") / 1000, "ms", 2)
    row("  p99 ÷ p50", median(paced, "spread"), "", 1)
    row("memory, started", median(starts, "memory"), "MB", 1)
    row(f"memory, {IDLE_CONNECTIONS} idle connections", idle, "MB", 1)
    row("start to ready", 1000 * median(starts, "seconds"), "ms")


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "rounds": int, "seconds": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(options.bin, options.cluster, options.seconds, directory)
        try:
            run(bench, options)
        finally:
            bench.stop()


if __name__ == "__main__":
    main()
