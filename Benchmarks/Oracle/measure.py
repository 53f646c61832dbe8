"""Whether the time of an answer reveals who has an account: see run.sh."""

import argparse
import http.client
import json
import pathlib
import random
import re
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Soak"))
from timing import mann_whitney  # noqa: E402  (one test, wherever times are compared)
from world import CLIENT_ID, SIGN_IN, World, call, median  # noqa: E402

MAIL_SERVER = pathlib.Path(__file__).resolve().parents[2] / "Tests" / "MailServer" / "mail-server.py"
WRONG = "x23456"
# Of passwords that came with an import, by the kind of account.
IMPORTED = {
    "crypt": "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
    "pbkdf": "pbkdf2_sha256$390000$seasalt$8xBlGd3jVgvJ+92hWPxi5ww0uuAuAnKgC45eudxro7c=",
    "argon": "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
}


class MailServer:
    """A mail server that accepts every mail."""

    def __init__(self):
        self._process = subprocess.Popen(
            ["/usr/bin/python3", MAIL_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.port = int(self._process.stdout.readline())
        # Its output, a line for each mail, has to be read.
        self._reader = subprocess.Popen(["cat"], stdin=self._process.stdout, stdout=subprocess.DEVNULL)

    def stop(self):
        self._process.stdin.close()
        self._process.wait()
        self._reader.wait()


def prepare(world, mail, count):
    """Accounts of every kind, as many of each as there are samples; their addresses are of one length."""
    world.service.stop()
    world.service.configure(
        COUNTERSIGN_MAIL_SMTP_URL=f"smtp://127.0.0.1:{mail.port}", COUNTERSIGN_MAIL_FROM="bench@example.com",
        COUNTERSIGN_LIMITS_MAIL_PER_ADDRESS="0", COUNTERSIGN_LIMITS_MAIL_PER_NETWORK="0",
        COUNTERSIGN_LIMITS_GUESS_PER_NETWORK="0", COUNTERSIGN_LIMITS_GUESS_PER_WIDE_NETWORK="0",
        COUNTERSIGN_LIMITS_PASSWORD_PER_ACCOUNT="0", COUNTERSIGN_LIMITS_REGISTRATION_PER_NETWORK="0",
        COUNTERSIGN_WEB_APPS="bench", COUNTERSIGN_WEB_APP_BENCH_REDIRECT_URIS="https://app.example.com/signed-in")
    world.service.start()
    world.register("template@example.com", "correct horse battery")
    world.execute(
        f"""
        INSERT INTO accounts (account_id, email, email_verified, password_hash, status, created_at)
        SELECT gen_random_uuid(), kind.name || to_char(number, 'FM00000') || '@example.com', kind.name <> 'fresh',
            CASE WHEN kind.name <> 'plain' THEN template.password_hash END,
            CASE WHEN kind.name = 'ended' THEN 'disabled' ELSE 'active' END, now()
        FROM accounts template, generate_series(1, {count}) number, (VALUES ('known'), ('plain'), ('ended'), ('fresh'))
            AS kind (name)
        """)
    for kind, password_hash in IMPORTED.items():
        world.execute(
            f"""
            INSERT INTO accounts (account_id, email, email_verified, email_proof, external_id, password_hash,
                password_is_unused, created_at)
            SELECT gen_random_uuid(), '{kind}' || to_char(number, 'FM00000') || '@example.com', true, 'stated',
                '{kind}' || number, '{password_hash}', true, now()
            FROM generate_series(1, {count}) number
            """)
    world.execute("VACUUM ANALYZE accounts")


def ticket(world):
    """A link ticket of a person without an account; valid for ten minutes."""
    name = f"unknown{random.getrandbits(48)}"
    world.control("google/persons", {"name": name, "email": f"{name}@example.org"})
    token = world.control("google/authorize", {"person": name, "clientId": CLIENT_ID})["idToken"]
    _, _, answer = world.post(SIGN_IN, {"idToken": token})
    return json.loads(answer)["linkTicket"]


class Call:
    """One call, and the kinds of address that it is made for. The others are compared with the first.

    Of the stated kinds docs/performance.md says by how much their times differ: up to so large a part it is no failure.
    """

    def __init__(self, name, path, members, kinds, status=401, stated=None):
        self.name, self.path, self.members, self.kinds, self.status = name, path, members, kinds, status
        self.stated = stated or {}
        self.headers = {}

    def body(self, email):
        return json.dumps(self.members | {"email": email})

    def said(self, email, answer):
        """The answer without what belongs to one request alone."""
        members = json.loads(answer)
        members.pop("requestId", None)
        return json.dumps(members)


class Registration(Call):
    """The form of a new account, sent again and again in one flow of one browser; each time all that is kept is replaced."""

    def __init__(self, world, kinds):
        super().__init__("web/register", None, {}, kinds, status=200)
        status, headers, _ = call(world.service.port, "GET", "/web/register")
        self.path = urllib.parse.urlsplit(headers["Location"])._replace(scheme="", netloc="").geturl()
        cookie = headers["Set-Cookie"].partition(";")[0]
        self.headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        _, _, page = call(world.service.port, "GET", self.path, headers=self.headers)
        self.csrf = re.search(r'name="csrf" value="([^"]+)"', page.decode())[1]

    def body(self, email):
        return urllib.parse.urlencode({"csrf": self.csrf, "email": email, "password": "a further horse battery"})

    def said(self, email, answer):
        return answer.decode().replace(email, "EMAIL")


def calls(world):
    bind = ticket(world)
    held = ("known", "nobdy", "plain", "ended", "fresh")
    asked = [("signIn", {}), ("resetPassword", {}), ("verifyEmail", {}), ("bind", {"linkTicket": bind})]
    for purpose, more in asked:
        yield Call(f"email-codes {purpose}", "/v1/email-codes", {"purpose": purpose} | more, held, status=202)
    # Who has asked for a code by now, and who has not: whether one is live.
    yield Call("email-codes, a live code", "/v1/email-codes", {"purpose": "signIn"}, ("nobdy", "newer"), status=202)
    yield Call(
        "a wrong code, a live one", "/v1/sign-in/email-code", {"code": WRONG}, ("nobdy", "never"), stated={"never": 0.15})
    # With the live codes that those have left.
    yield Call("sign-in/email-code", "/v1/sign-in/email-code", {"code": WRONG}, held)
    yield Call(
        "password-reset", "/v1/accounts/password-reset", {"code": WRONG, "newPassword": "another horse battery"}, held)
    yield Call("bind, a code", "/v1/links/bind", {"linkTicket": bind, "emailCode": WRONG}, held)


def password_calls(world):
    held = ("known", "nobdy", "plain", "ended", *IMPORTED)
    yield Call(
        "sign-in/password", "/v1/sign-in/password", {"password": "a wrong password"}, held, stated={"argon": 0.10})
    yield Call(
        "bind, a password", "/v1/links/bind", {"linkTicket": ticket(world), "password": "a wrong password"}, held[:2])
    yield Registration(world, ("known", "nobdy", "plain", "ended", "fresh"))


def measure(world, one, count):
    """Seconds by kind, and the answers without what belongs to one request alone."""
    connection = http.client.HTTPConnection("127.0.0.1", world.service.port, timeout=120)
    seconds = {kind: [] for kind in one.kinds}
    answers = set()
    for number in range(1, count + 1):
        for kind in random.sample(one.kinds, len(one.kinds)):
            email = f"{kind}{number:05}@example.com"
            body = one.body(email)
            start = time.perf_counter()
            status, _, answer = call(0, "POST", one.path, body, one.headers, connection=connection)
            seconds[kind].append(time.perf_counter() - start)
            answers.add((status, one.said(email, answer)))
    connection.close()
    return seconds, answers


def judge(one, seconds, answers):
    """Whether neither answers nor times distinguish the kinds."""
    reference = seconds[one.kinds[0]]
    holds = [status for status, _ in answers] == [one.status]
    if not holds:
        print(f"BROKEN {one.name}: {answers}", flush=True)
    for kind in one.kinds[1:]:
        p = mann_whitney(reference, seconds[kind])
        gap = (median(seconds[kind]) - median(reference)) / median(reference)
        is_same = p > 0.01 or abs(gap) < 0.02
        verdict = "same" if is_same else "stated" if abs(gap) <= one.stated.get(kind, 0) else "BROKEN"
        holds = holds and verdict != "BROKEN"
        print(
            f"{verdict:<7}{one.name:<27}{one.kinds[0]} {1000 * median(reference):8.3f} ms  "
            f"{kind} {1000 * median(seconds[kind]):8.3f} ms  {100 * gap:+6.2f} %  p = {p:.3f}  "
            f"(2 x {len(reference)})", flush=True)
    return holds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--password-samples", type=int, required=True)
    parser.add_argument("--call", default="")
    parser.add_argument("executables")
    parser.add_argument("directory")
    parser.add_argument("database_url")
    options = parser.parse_args()
    world = World(options.executables, options.directory, options.database_url)
    mail = MailServer()
    try:
        prepare(world, mail, max(options.samples, options.password_samples))
        broken = 0
        for make, count in ((calls, options.samples), (password_calls, options.password_samples)):
            for one in make(world):
                if options.call not in one.name:
                    continue
                broken += not judge(one, *measure(world, one, count))
    finally:
        world.stop()
        mail.stop()
    sys.exit(1 if broken else 0)


main()
