"""Weeks of signing in, wrong guesses, nonces, codes and refreshes, under a clock three thousand times as fast.

Only the wall clock of the service and the sandbox is fast (fast_clock.c); timers run in real time. The database's
clock_timestamp() is fast too, because a service deletes nothing when its clock and the database's differ. Else the
database uses its own clock.
"""

import http.client
import json
import os
import random
import secrets
import threading
import time

from world import CLIENT_ID, SIGN_IN

# A real second is 50 minutes.
SPEED = int(os.environ["FAST_CLOCK_SPEED"])
DAY = 86_400 / SPEED
REFRESH_LIFETIME_DAYS = 1
# Ended rows are kept for seven days. From then on as many are deleted as are added.
FULL_AFTER = (7 + REFRESH_LIFETIME_DAYS) * DAY
PEOPLE = 200
TABLES = ["sessions", "nonces", "rate_limits", "link_tickets", "mailed_codes", "guessed_addresses", "outbox"]
CLIENTS = 4


class Clients(threading.Thread):
    """A client that acts for one random person after the other."""

    def __init__(self, world, end):
        super().__init__()
        self._world, self._end = world, end
        self._connections = {}
        self._sessions = []
        self.counts = {}

    def _post(self, server, path, body, **headers):
        connection = self._connections.setdefault(
            server.port, http.client.HTTPConnection("127.0.0.1", server.port, timeout=60))
        try:
            # A network of its own for each request.
            address = f"10.{random.randrange(256)}.{random.randrange(256)}.1"
            connection.request(
                "POST", path, json.dumps(body),
                {"Content-Type": "application/json", "X-Forwarded-For": address} | headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read() or "{}")
        except (OSError, http.client.HTTPException):
            del self._connections[server.port]
            raise

    def _count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def _sign_in(self):
        _, issued = self._post(self._world.service, "/v1/nonces", {"provider": "google"})
        # Now and then a new person, who never chooses between create and bind: the link ticket expires unused.
        name = f"person{random.randrange(PEOPLE)}" if random.random() < 0.8 else f"new{secrets.token_hex(6)}"
        if name.startswith("new"):
            self._post(self._world.sandbox, "/control/google/persons", {"name": name, "email": f"{name}@example.com"})
        _, credential = self._post(
            self._world.sandbox, "/control/google/authorize",
            {"person": name, "clientId": CLIENT_ID, "nonce": issued["nonce"]})
        status, answer = self._post(
            self._world.service, SIGN_IN, {"idToken": credential["idToken"], "nonce": issued["nonce"]})
        # A nonce lives 0.2 s here.
        self._count(f"sign-in {status}")
        if status == 200 and answer["status"] == "signedIn":
            self._sessions.append(answer["session"])
        elif status == 200 and name.startswith("person"):
            self._post(self._world.service, "/v1/links/create", {"linkTicket": answer["linkTicket"]})

    def _use_session(self):
        session = self._sessions.pop(random.randrange(len(self._sessions)))
        status, answer = self._post(
            self._world.service, "/v1/sessions/refresh", {"refreshToken": session["refreshToken"]})
        self._count(f"refresh {status}")
        if status != 200:
            return
        # A third of the sessions is revoked, a third is used again, and a third is left to expire.
        fate = random.randrange(3)
        if fate == 0:
            status, _ = self._post(
                self._world.service, "/v1/sessions/revoke", {"scope": "current"},
                Authorization="Bearer " + answer["accessToken"])
            self._count(f"sign-out {status}")
        elif fate == 1:
            self._sessions.append(answer)

    def _guess(self):
        email = f"{secrets.token_hex(6)}@example.com"
        status, _ = self._post(
            self._world.service, "/v1/sign-in/password", {"email": email, "password": "a wrong password"})
        self._count(f"wrong password {status}")

    def _ask_for_code(self):
        email = f"{secrets.token_hex(6)}@example.com"
        status, _ = self._post(self._world.service, "/v1/email-codes", {"email": email, "purpose": "signIn"})
        self._count(f"code {status}")

    def run(self):
        while time.monotonic() < self._end:
            choice = random.random()
            if choice < 0.6:
                self._sign_in()
            elif choice < 0.85:
                if self._sessions:
                    self._use_session()
            elif choice < 0.98:
                self._ask_for_code()
            else:
                self._guess()


def sizes(world):
    """Rows and KiB of each table."""
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    pages = ", ".join(f"pg_total_relation_size('{table}') / 1024" for table in TABLES)
    row = [int(value) for value in world.query(f"SELECT {counts}, {pages}")[0]]
    return row[:len(TABLES)], row[len(TABLES):]


def install_fast_clock(world):
    """Gives the database a clock_timestamp() that is found before its own."""
    start = int(os.environ["FAST_CLOCK_START"])
    world.execute(f"""
        CREATE SCHEMA fast_clock;
        CREATE FUNCTION fast_clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
        $$ SELECT to_timestamp({start} + (extract(epoch FROM pg_catalog.clock_timestamp()) - {start}) * {SPEED}) $$;
        ALTER DATABASE postgres SET search_path = public, fast_clock, pg_catalog""")


def run(world, seconds, report):
    if seconds < 3 * FULL_AFTER:
        raise SystemExit(f"growth takes {3 * FULL_AFTER:.0f} seconds at least")
    world.service.stop()
    install_fast_clock(world)
    # The worker drops codes for addresses without an account: no mail is ever sent.
    world.service.configure(
        COUNTERSIGN_TOKENS_REFRESH_LIFETIME=str(REFRESH_LIFETIME_DAYS * 86_400),
        COUNTERSIGN_SERVER_TRUSTED_PROXIES="127.0.0.1",
        COUNTERSIGN_MAIL_SMTP_URL="smtp://127.0.0.1:1", COUNTERSIGN_MAIL_FROM="lamp@example.com")
    world.service.start()
    for number in range(PEOPLE):
        world.control("google/persons", {"name": f"person{number}", "email": f"person{number}@example.com"})
    start = time.monotonic()
    clients = [Clients(world, start + seconds) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    seen = []
    print("day   " + "".join(f"{table:>22}" for table in TABLES) + "     memory")
    while time.monotonic() < start + seconds:
        time.sleep(min(seconds / 20, max(0, start + seconds - time.monotonic())))
        rows, kilobytes = sizes(world)
        day = (time.monotonic() - start) / DAY
        seen.append((day, rows, kilobytes))
        memory = world.service.memory("VmRSS")
        print(f"{day:5.1f} " + "".join(f"{f'{count} ({size} KiB)':>22}" for count, size in zip(rows, kilobytes))
              + f"{memory:8.0f} MB", flush=True)
    for client in clients:
        client.join()
    counts = {}
    for client in clients:
        for what, count in client.counts.items():
            counts[what] = counts.get(what, 0) + count
    report.say("answers", ", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    # Once as many rows are deleted as are added, a table no longer grows.
    whole = seen[-1][0]
    middle = [entry for entry in seen if whole / 3 < entry[0] <= 2 * whole / 3]
    last = [entry for entry in seen if entry[0] > 2 * whole / 3]
    for index, table in enumerate(TABLES):
        before, after = (max(entry[1][index] for entry in part) for part in (middle, last))
        report.bound(f"{table}: {after} rows at most, {before} before", after <= 1.3 * before + 100)
        before, after = (max(entry[2][index] for entry in part) for part in (middle, last))
        report.bound(f"{table}: {after} KiB at most, {before} before", after <= 1.4 * before + 256)
