"""Measures the account feed and webhooks; see docs/performance.md. Called by run.sh."""

import argparse
import asyncio
import http.client
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from cluster import Database  # noqa: E402  (the processes are those of another benchmark)
from service import Sandbox, Service  # noqa: E402

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ANSWER = 0.02
# What is to be reached.
READ, PAGE, PUSHED = 20_000, 20, 500


def at(part, values):
    return sorted(values)[int(part * (len(values) - 1))]


class Receiver:
    """Answers a post after 20 ms, or never."""

    def __init__(self, answers):
        self.times = []
        self._answers = answers
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self._run, args=[ready], daemon=True).start()
        ready.wait()

    def _run(self, ready):
        asyncio.set_event_loop(self._loop)

        async def serve():
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            ready.set()

        self._loop.run_until_complete(serve())
        self._loop.run_forever()

    async def _serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
                await reader.readexactly(length)
                if not self._answers:
                    await asyncio.sleep(3600)
                await asyncio.sleep(ANSWER)
                self.times.append(time.monotonic())
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Bench:
    def __init__(self, options, directory, receivers):
        self.options = options
        self.database = Database(options.cluster, "feed_bench")
        self.sandbox = Sandbox(options.bin, directory)
        secrets = f"{directory}/webhook-secrets"
        with open(os.open(secrets, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(SECRET + "\n")
        os.environ["COUNTERSIGN_WEBHOOKS_ENDPOINTS"] = ",".join(receivers)
        os.environ["COUNTERSIGN_WEBHOOKS_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        for name, receiver in receivers.items():
            os.environ[f"COUNTERSIGN_WEBHOOKS_ENDPOINT_{name.upper()}_URL"] = receiver.url
            os.environ[f"COUNTERSIGN_WEBHOOKS_ENDPOINT_{name.upper()}_SECRET_PATH"] = secrets
        self.service = Service(options.bin, directory, self.database.url, self.sandbox)
        self.key = subprocess.run(
            [f"{options.bin}/countersign", "admin-key", "create", "--name", "bench", "--scopes", "read,manage,feed"],
            env=os.environ | self.service._environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        self._local = threading.local()

    def stop(self):
        self.service.stop()
        self.sandbox.stop()
        self.database.drop()

    def call(self, method, path, body=None):
        """The answer, and the seconds until it was there, over a connection of the thread's."""
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection("127.0.0.1", self.service.private_port, timeout=60)
        start = time.perf_counter()
        headers = {"Authorization": f"Bearer {self.key}"} | ({"Content-Type": "application/json"} if body else {})
        self._local.connection.request(method, path, body, headers)
        answer = self._local.connection.getresponse()
        text = answer.read()
        elapsed = time.perf_counter() - start
        if answer.status >= 300:
            raise SystemExit(f"{path} was answered with {answer.status}: {text[:500]}")
        return json.loads(text or "null"), elapsed

    def feed(self, query):
        return self.call("GET", f"/admin/v1/feed?{query}")

    def happen(self, count, accounts):
        """Commits so many events, as changes write them."""
        self.database.query(
            f"""
            INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
            SELECT gen_random_uuid(), 'account.enabled', lpad(to_hex(n % {accounts}), 32, '0')::uuid, n / {accounts} + 1,
                '{{"by":"admin"}}', now()
            FROM generate_series(0, {count - 1}) AS n""")

    def say(self, title, value, is_met=None):
        print(f"{title:68}{value}" + {None: "", True: "", False: "  (missed)"}[is_met], flush=True)

    def read(self):
        cursor = self.feed("after=now")[0]["next"]
        start = time.monotonic()
        self.happen(self.options.events, 50_000)
        while int(self.database.query("SELECT count(*) FROM unstamped_events")):
            time.sleep(0.05)
        self.say("events stamped a second", f"{self.options.events / (time.monotonic() - start):.0f}")
        rates = []
        for _ in range(5):
            after, count, before, cpu = cursor, 0, time.monotonic(), self.service.cpu_seconds()
            while True:
                page, _ = self.feed(f"after={after}&limit=1000")
                after, count = page["next"], count + len(page["items"])
                if not page["more"]:
                    break
            rates.append(count / (time.monotonic() - before))
            cpu = (self.service.cpu_seconds() - cpu) / count
        rate = statistics.median(rates)
        self.say("events read a second, pages of 1,000, one reader", f"{rate:.0f}", rate >= READ)
        self.say("  CPU of the service, µs an event", f"{cpu * 1e6:.1f}")

    def delay(self):
        """From the answer to a change until its event is in the feed, by a reader that waits for it."""
        made = self.create()
        cursor = self.feed("after=now")[0]["next"]
        come, is_over = {}, threading.Event()

        def follow():
            after = cursor
            while not is_over.is_set():
                page, _ = self.feed(f"after={after}&wait=1")
                now = time.monotonic()
                for event in page["items"]:
                    come[event["data"]["sequence"]] = now
                after = page["next"]

        reader = threading.Thread(target=follow)
        reader.start()
        changed, sequence, end = {}, 2, time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            act = "disable" if len(changed) % 2 == 0 else "enable"
            self.call("POST", f"/admin/v1/accounts/{made}/{act}", json.dumps({"reason": "bench"}))
            changed[sequence] = time.monotonic()
            sequence += 1
            time.sleep(random.uniform(0.005, 0.03))
        while not changed.keys() <= come.keys():
            time.sleep(0.01)
        is_over.set()
        reader.join()
        delays = [1000 * max(0, come[one] - changed[one]) for one in changed]
        self.say(f"an event behind the answer to its change, ms, of {len(delays)}",
                 f"p50 {at(0.5, delays):.1f}, p99 {at(0.99, delays):.1f}, most {max(delays):.1f}")

    def create(self):
        """An account without sessions, whose events are those of administrators alone."""
        id = self.database.query(
            "INSERT INTO accounts (account_id, email, password_hash, created_at)"
            " VALUES (gen_random_uuid(), 'bench@example.com', 'none', now()) RETURNING account_id",
            "SELECT 1").split()[0]
        self.database.query(f"INSERT INTO account_sequences (account_id, last_sequence) VALUES ('{id}', 1)")
        return id

    def push(self, receiver):
        while not all(one["lastSuccessAt"] or one["behindSeconds"] == 0 for one in self.webhooks() if one["name"] == "live"):
            time.sleep(0.1)
        count = self.options.deliveries
        already, before, postgres = len(receiver.times), self.service.cpu_seconds(), self.database.cpu_seconds()
        self.happen(count, max(1, count // 6))
        while len(receiver.times) - already < count:
            time.sleep(0.05)
        cpu, postgres = self.service.cpu_seconds() - before, self.database.cpu_seconds() - postgres
        times = receiver.times[already:already + count]
        rate = count / (times[-1] - times[0])
        self.say("deliveries a second, each answered in 20 ms, beside a dead endpoint", f"{rate:.0f}", rate >= PUSHED)
        self.say("  CPU of the service and of PostgreSQL, µs a delivery",
                 f"{1e6 * cpu / count:.0f} and {1e6 * postgres / count:.0f}")

    def webhooks(self):
        return [{"lastSuccessAt": None} | one for one in self.call("GET", "/admin/v1/webhooks")[0]["items"]]

    def kept(self):
        """Pages anywhere among many events, which fill the day so far."""
        self.database.query(
            f"""
            WITH day AS (
                SELECT (extract(epoch FROM (now() AT TIME ZONE 'UTC')::date) * 1000000)::bigint AS start,
                    (SELECT GREATEST(last_position, 1) FROM feed_head) AS last
            )
            INSERT INTO account_events (position, event_id, type, account_id, sequence, members, happened_at)
            SELECT start + n, gen_random_uuid(),
                CASE WHEN n % 1000003 = 0 THEN 'account.merged' ELSE 'account.enabled' END,
                lpad(to_hex(n % 1000000), 32, '0')::uuid, n / 1000000 + 1, '{{"by":"admin"}}', now()
            FROM day, generate_series(1, {self.options.kept}) AS n""",
            "UPDATE feed_head SET last_position = (SELECT max(position) FROM account_events)",
            "VACUUM ANALYZE account_events", "CHECKPOINT")
        ids = self.database.query(
            "SELECT event_id FROM account_events TABLESAMPLE SYSTEM (0.05) ORDER BY random() LIMIT 1000").split()
        for title, query in (("100 events", "limit=100"), ("1,000 events", "limit=1000"),
                             ("events of a rare type", "limit=100&types=account.merged")):
            times = [1000 * self.feed(f"after={id}&{query}")[1] for id in ids]
            self.say(f"a page of {title} among {self.options.kept:,}, ms",
                     f"p50 {at(0.5, times):.1f}, p99 {at(0.99, times):.1f}", at(0.99, times) < PAGE)


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {
        "bin": str, "cluster": str, "events": int, "kept": int, "deliveries": int, "seconds": int, "parts": str,
    }.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - {"read", "delay", "push", "kept"}:
        raise SystemExit(f"no such part: {unknown}")
    for part in parts:
        with tempfile.TemporaryDirectory() as directory:
            receivers = {"live": Receiver(True), "dead": Receiver(False)} if part == "push" else {}
            bench = Bench(options, directory, receivers)
            try:
                getattr(bench, part)(*([receivers["live"]] if receivers else []))
            finally:
                bench.stop()


main()
