"""Offers three times the sign-ins that can be answered, and looks at those that are. Called by run.sh."""

import argparse
import http.client
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from cluster import Database  # noqa: E402  (the processes are those of the other benchmark)
from service import Sandbox, Service, register_persons  # noqa: E402

FACTOR = 3
CONNECTIONS = 1800
# The capacity is the better result of these numbers of connections. All of them are admitted.
CAPACITY_CONNECTIONS = (64, 160)
RECOVERY_SECONDS = 20
# Seconds between two sign-ins of one person, and between two sign-outs of another, during the overload.
PROBE_PAUSE = 0.02


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


class Bench:
    def __init__(self, options, directory):
        self.seconds = options.seconds
        client = os.sched_getaffinity(0)
        if options.servers:
            servers = {int(number) for number in options.servers.split(",")}
            os.sched_setaffinity(0, servers)
            client -= servers
        self.database = Database(options.cluster, "overload_bench")
        self.sandbox = Sandbox(options.bin, directory)
        self.service = Service(options.bin, directory, self.database.url, self.sandbox)
        self.tokens = f"{directory}/tokens"
        register_persons(self.service, self.sandbox, self.tokens)
        with open(self.tokens, encoding="ascii") as file:
            self.token = file.readline().strip()
        os.sched_setaffinity(0, client)

    def stop(self):
        self.service.stop()
        self.sandbox.stop()
        self.database.drop()

    def wrk(self, seconds, connections, rate=0):
        before = self.service.cpu_seconds()
        output = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", HERE.parent / "SignIn/sign-in.lua",
             self.service.url, "--", self.tokens, str(round(rate))], check=True, stdout=subprocess.PIPE, text=True).stdout
        result = json.loads(output.splitlines()[-1])
        result["offered"] = result["requests"] / result["seconds"]
        result["answered"] = (result["requests"] - result["refused"]) / result["seconds"]
        result["cpu"] = self.service.cpu_seconds() - before
        return result

    def capacity(self, seconds):
        """Sign-ins a second, and the service's CPU seconds for each."""
        results = [self.wrk(seconds, connections) for connections in CAPACITY_CONNECTIONS]
        result = max(results, key=lambda result: result["answered"])
        return result["answered"], result["cpu"] / (result["requests"] - result["refused"])

    def shed(self):
        """Requests that were refused for overload so far."""
        connection = http.client.HTTPConnection("127.0.0.1", self.service.private_port, timeout=60)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("countersign_http_shed_total{"))

    def call(self, connection, path, body, access=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + access} if access else {})
        start = time.monotonic()
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read(), time.monotonic() - start

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)

    def sessions(self, count):
        connection = self.connect()
        answers = (self.call(connection, "/v1/sign-in/google", {"idToken": self.token})[2] for _ in range(count))
        return [json.loads(answer)["session"]["accessToken"] for answer in answers]

    def probe(self, path, requests):
        """Makes one request after the other in a thread. Returns a function that waits for its answers."""
        answers = []

        def work():
            connection = self.connect()
            for body, access in requests:
                answers.append(self.call(connection, path, body, access))
                time.sleep(PROBE_PAUSE)

        thread = threading.Thread(target=work)
        thread.start()

        def end():
            thread.join()
            return answers

        return end


def run(bench):
    broken = []

    def say(title, value, bound=None):
        print(f"{title:52}{value}", flush=True)
        if bound is False:
            broken.append(title)

    # For half a minute a new process and a new database are slower, by up to a third.
    bench.wrk(40, CAPACITY_CONNECTIONS[-1])
    before, cpu = bench.capacity(10)
    count = round(bench.seconds / (2 * PROBE_PAUSE))
    sessions = bench.sessions(count)
    until = time.monotonic() + bench.seconds

    def while_it_lasts(requests):
        for request in requests:
            if time.monotonic() > until:
                return
            yield request

    sign_ins = bench.probe("/v1/sign-in/google", while_it_lasts([({"idToken": bench.token}, None)] * count))
    sign_outs = bench.probe(
        "/v1/sessions/revoke", while_it_lasts([({"scope": "current"}, access) for access in sessions]))
    shed = bench.shed()
    overload = bench.wrk(bench.seconds, CONNECTIONS, FACTOR * before)
    end = time.monotonic()
    recovery = math.inf
    while time.monotonic() < end + RECOVERY_SECONDS:
        start = time.monotonic()
        if bench.wrk(1, CAPACITY_CONNECTIONS[0])["answered"] >= 0.9 * before:
            recovery = start - end
            break
    sign_ins, sign_outs = sign_ins(), sign_outs()
    shed = bench.shed() - shed
    after, _ = bench.capacity(10)

    capacity = (before + after) / 2
    say("capacity before and after, sign-ins a second", f"{before:.0f} and {after:.0f}", after >= 0.8 * before)
    say("offered ÷ capacity", f"{overload['offered'] / capacity:.2f}", overload["offered"] >= 2.7 * capacity)
    say("answered ÷ capacity", f"{overload['answered'] / capacity:.2f}", overload["answered"] >= 0.8 * capacity)
    refused = overload["refused"]
    others = [answer[0] for answer in sign_ins + sign_outs if answer[0] not in (200, 204, 503)]
    say("neither answered nor refused for overload", max(0, round(refused - shed)) + len(others),
        refused <= shed and not others)
    if refused:
        rest = overload["cpu"] - cpu * (overload["requests"] - refused)
        say("CPU of the service for a sign-in, and for a refusal", f"{1e6 * cpu:.0f} and {1e6 * rest / refused:.0f} µs")
    say("not answered at all", overload["failed"], overload["failed"] == 0)
    times = [seconds for status, _, _, seconds in sign_ins if status == 200]
    say("a sign-in that is let in, p50 and p99",
        f"{1000 * percentile(times, 0.5):.0f} and {1000 * percentile(times, 0.99):.0f} ms")
    refused = [answer for answer in sign_ins + sign_outs if answer[0] == 503]
    say("refusals that say when to try again", f"{sum('Retry-After' in answer[1] for answer in refused)} of {len(refused)}",
        all("Retry-After" in answer[1] for answer in refused))
    done = sum(status == 204 for status, *_ in sign_outs)
    say("sign-outs done", f"{done} of {len(sign_outs)}", done >= 0.99 * len(sign_outs))
    say("a sign-out, p99", f"{1000 * percentile([answer[3] for answer in sign_outs], 0.99):.0f} ms")
    say("until 90 % of the capacity are back", f"{recovery:.1f} s", recovery < 10)
    for title in broken:
        print(f"BROKEN: {title}")
    return not broken


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "seconds": int, "servers": str}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(options, directory)
        try:
            holds = run(bench)
        finally:
            bench.stop()
    sys.exit(0 if holds else 1)


main()
