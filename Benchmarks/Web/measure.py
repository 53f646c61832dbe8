"""Measures the web sign-in: whole flows by either provider, the pages' sizes, the time to the chooser while 200 flows a
second are opened, and the page of an account beside the answer of `/v1/account`; see docs/performance.md. Called by
run.sh."""

import argparse
import base64
import gzip
import hashlib
import html
import http.client
import json
import os
import pathlib
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "SignIn"))
from cluster import Database  # noqa: E402
from service import CLIENT_ID, Sandbox, Service  # noqa: E402

SERVICES_ID = "com.example.lamp.web"
APP_URI = "https://app.example.com/signed-in"
RATE = 200
CONNECTIONS = 32
OPEN_FLOWS = 500
HOLDERS, VISITORS = 3, 2000
# Of what is asked for by itself.
TURNS = 3
APP_ID = "com.example.lamp"
# The most that each may be: milliseconds to the first byte, bytes as a proxy compresses them, the CPU of a whole
# sign-in in the browser in sign-ins by `/v1` with what the same provider's SDK gives an app, and that of the account's
# page in answers of `/v1/account`.
MOST_P99, MOST_PAGE, MOST_SHEET, MOST_SIGN_INS, MOST_ACCOUNTS = 5, 6 * 1024, 16 * 1024, 4, 4


class Browser:
    """Requests on connections that are kept; cookies of the service alone."""

    def __init__(self, address):
        self.address, self.cookies, self.connections = address, {}, {}

    def cookie(self):
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def ask(self, method, url, fields=None, body=None, headers=()):
        parts = urllib.parse.urlsplit(url)
        connection = self.connections.setdefault(parts.netloc, http.client.HTTPConnection(parts.netloc, timeout=120))
        sent = {"X-Forwarded-For": self.address, "Accept-Language": "en-US,en;q=0.9,de;q=0.8"} | dict(headers)
        if fields is not None:
            body = urllib.parse.urlencode(fields)
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        if self.cookies and method == "GET":
            sent["Cookie"] = self.cookie()
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body, sent)
        answer = connection.getresponse()
        text = answer.read()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        location = answer.headers.get("Location")
        return answer.status, location and urllib.parse.urljoin(url, location), text


class Bench:
    # Seconds of CPU in two that the service takes with nothing to do, at most.
    IDLE_SECONDS = 0.1

    def __init__(self, options, directory):
        key = f"{directory}/AuthKey.p8"
        subprocess.run(
            ["openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
            check=True)
        os.chmod(key, 0o600)
        self.sandbox = Sandbox(options.bin, directory)
        apple, google = f"{self.sandbox.url}/apple", f"{self.sandbox.url}/google"
        secret = secrets.token_hex(16)
        os.environ |= {f"COUNTERSIGN_{name}": value for name, value in {
            "SERVER_TRUSTED_PROXIES": "127.0.0.1", "LIMITS_WEB_FLOWS_PER_NETWORK": "0",
            "WEB_APPS": "lamp", "WEB_APP_LAMP_NAME": "Lamp", "WEB_APP_LAMP_REDIRECT_URIS": APP_URI,
            "APPLE_CLIENT_IDS": APP_ID, "APPLE_SERVICES_ID": SERVICES_ID, "APPLE_TEAM_ID": "SANDBOX001",
            "APPLE_KEY_ID": "BENCH00001", "APPLE_PRIVATE_KEY_PATH": key,
            "APPLE_AUTHORIZE_URL": f"{apple}/auth/authorize", "APPLE_KEYS_URL": f"{apple}/auth/keys",
            "APPLE_TOKEN_URL": f"{apple}/auth/token", "APPLE_REVOKE_URL": f"{apple}/auth/revoke",
            "GOOGLE_AUTHORIZE_URL": f"{google}/o/oauth2/v2/auth", "GOOGLE_TOKEN_URL": f"{google}/token",
            "GOOGLE_REVOKE_URL": f"{google}/revoke", "GOOGLE_SERVER_CLIENT_ID": CLIENT_ID,
            "GOOGLE_SERVER_CLIENT_SECRET": secret}.items()}
        self.database = Database(options.cluster, "web_bench")
        self.service = Service(options.bin, directory, self.database.url, self.sandbox)
        public = subprocess.run(
            ["openssl", "pkey", "-in", key, "-pubout"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.control("apple/teams", teamId="SANDBOX001", keyId="BENCH00001", publicKey=public)
        self.control(
            "apple/clients", clientId=SERVICES_ID, redirectUris=[f"{self.service.url}/web/callback/apple"])
        self.control(
            "google/clients", clientId=CLIENT_ID, clientSecret=secret,
            redirectUris=[f"{self.service.url}/web/callback/google"])
        for provider in "apple", "google":
            self.control(f"{provider}/persons", name=f"kim-{provider}", email=f"kim-{provider}@example.com")
        self.directory = directory
        self.settle()

    def stop(self):
        self.service.stop()
        self.sandbox.stop()
        self.database.drop()

    def settle(self):
        """Until the service has done what it does once: it measures how long a password's hash takes here."""
        while True:
            before = self.service.cpu_seconds()
            time.sleep(2)
            if self.service.cpu_seconds() - before < self.IDLE_SECONDS:
                return

    def control(self, path, **members):
        status, _, text = Browser("127.0.0.1").ask(
            "POST", f"{self.sandbox.url}/control/{path}", body=json.dumps(members))
        if status not in (200, 201):
            raise SystemExit(f"{path}: {status} {text}")
        return json.loads(text)

    def authorize(self, provider=None):
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "app": "lamp", "redirect_uri": APP_URI, "code_challenge": challenge, "code_challenge_method": "S256",
            "state": secrets.token_urlsafe(16)} | ({"provider": provider} if provider else {})
        return verifier, f"/web/authorize?{urllib.parse.urlencode(query)}"

    def flow(self, provider, number):
        """One whole sign-in, from the app's request to the session."""
        browser = Browser(f"10.{number // 256 % 256}.{number % 256}.7")
        verifier, target = self.authorize(provider)
        _, location, text = browser.ask("GET", self.service.url + target)
        # The provider's page, answered without a click.
        _, location, text = browser.ask("GET", location)
        if provider == "apple":
            fields = {
                html.unescape(name): html.unescape(value) for name, value in
                re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', text.decode())}
            _, location, text = browser.ask("POST", f"{self.service.url}/web/callback/apple", fields)
        _, location, text = browser.ask("GET", location)
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location or "").query)).get("code")
        if not code:
            raise SystemExit(f"{provider}: no code: {location} {text[:500]}")
        status, _, text = browser.ask(
            "POST", f"{self.service.url}/v1/sign-in/web",
            body=json.dumps({"code": code, "codeVerifier": verifier, "redirectUri": APP_URI}),
            headers={"Content-Type": "application/json"})
        if status != 200:
            raise SystemExit(f"{provider}: {status} {text}")
        return json.loads(text)

    def prepare(self, provider):
        """The person of this provider gets an account."""
        self.control(f"{provider}/auto", person=f"kim-{provider}", times=1)
        ticket = self.flow(provider, 0)["linkTicket"]
        status, _, text = Browser("127.0.0.1").ask(
            "POST", f"{self.service.url}/v1/links/create", body=json.dumps({"linkTicket": ticket}),
            headers={"Content-Type": "application/json"})
        if status != 201:
            raise SystemExit(f"links/create: {status} {text}")

    def flows(self, provider, count):
        """CPU of the service and of PostgreSQL, and the median time, of a flow; Apple and Google are the sandbox."""
        self.control(f"{provider}/auto", person=f"kim-{provider}", times=count)
        before = self.service.cpu_seconds(), self.database.cpu_seconds()
        times = []
        for number in range(count):
            start = time.monotonic()
            answer = self.flow(provider, number)
            times.append(time.monotonic() - start)
            if answer["status"] != "signedIn":
                raise SystemExit(f"{provider}: {answer}")
        after = self.service.cpu_seconds(), self.database.cpu_seconds()
        return {
            "service": (after[0] - before[0]) / count * 1e6, "database": (after[1] - before[1]) / count * 1e6,
            "median": statistics.median(times) * 1e3}

    def sign_ins(self, provider, count, has_code):
        """CPU of the service for a sign-in by `/v1`, each over a connection of its own: with the provider's token, or with
        its token and its code, as its SDK gives them to an app."""
        person = f"kim-{provider}"
        client, *names = {
            "apple": (APP_ID, "identityToken", "authorizationCode"),
            "google": (CLIENT_ID, "idToken", "serverAuthCode")}[provider]
        given = [
            self.control(f"{provider}/authorize", person=person, clientId=client) for _ in range(count)]
        bodies = [
            json.dumps({name: one[name] for name in names[:2 if has_code else 1]}) for one in given]
        before = self.service.cpu_seconds()
        for number, body in enumerate(bodies):
            status, _, text = Browser(f"10.{number // 256 % 256}.{number % 256}.9").ask(
                "POST", f"{self.service.url}/v1/sign-in/{provider}", body=body,
                headers={"Content-Type": "application/json"})
            if status != 200:
                raise SystemExit(f"/v1/sign-in/{provider}: {status} {text}")
        return (self.service.cpu_seconds() - before) / count * 1e6

    def holders(self):
        """People with an account, each signed in on its page and by `/v1`: a browser, and an access token."""
        holders = []
        for number in range(HOLDERS):
            browser = Browser(f"12.0.{number}.7")
            typed = {"email": f"holder{number}@example.com", "password": "correct horse battery"}
            status, _, text = browser.ask(
                "POST", f"{self.service.url}/v1/accounts", body=json.dumps(typed),
                headers={"Content-Type": "application/json"})
            if status != 201:
                raise SystemExit(f"/v1/accounts: {status} {text}")
            token = json.loads(text)["session"]["accessToken"]
            _, location, _ = browser.ask("GET", f"{self.service.url}/web/account")
            _, _, page = browser.ask("GET", location)
            form = r'action="(/web/password[^"]*)"><input type="hidden" name="csrf" value="([^"]*)"'
            action, csrf = re.search(form, page.decode()).groups()
            status, location, text = browser.ask(
                "POST", self.service.url + html.unescape(action), typed | {"csrf": csrf},
                headers={"Cookie": browser.cookie()})
            if status != 303 or not location.endswith("/web/account"):
                raise SystemExit(f"/web/password: {status} {location} {text[:500]}")
            holders.append((browser, token))
        return holders

    def visitors(self):
        """Cookies of as many more people, so that hardly any has two pages under way: their rows are made here."""
        self.database.query(
            f"""
            WITH visitor AS (
                SELECT number, gen_random_uuid() AS account_id, gen_random_uuid() AS session_id
                FROM generate_series(1, {VISITORS}) number
            ), account AS (
                INSERT INTO accounts (account_id, email, email_verified, created_at)
                SELECT account_id, 'visitor' || number || '@example.com', false, now() FROM visitor
            ), session AS (
                INSERT INTO sessions (session_id, account_id, rotated_at, auth_time, amr, created_at, last_used_at,
                    expires_at)
                SELECT session_id, account_id, now(), now(), '{{pwd}}', now(), now(), now() + interval '10 minutes'
                FROM visitor
            )
            INSERT INTO web_sessions (session_hash, session_id, created_at)
            SELECT sha256(sha256(('visitor' || number)::bytea)), session_id, now() FROM visitor
            """,
            # As autovacuum does, in its time.
            "VACUUM ANALYZE")
        # The cookie's secret is the inner hash.
        texts = [hashlib.sha256(f"visitor{number}".encode()).digest() for number in range(1, VISITORS + 1)]
        return [f"csn_web={base64.urlsafe_b64encode(text).rstrip(b'=').decode()}" for text in texts]

    def asked(self, path, headers, count):
        """CPU of the service for an answer, each asked for by another of these header fields."""
        browser = Browser("10.255.253.7")
        before = self.service.cpu_seconds()
        for number in range(count):
            status, _, text = browser.ask("GET", self.service.url + path, headers=headers[number % len(headers)])
            if status != 200:
                raise SystemExit(f"{path}: {status} {text[:500]}")
        return (self.service.cpu_seconds() - before) / count * 1e6

    def sizes(self):
        """What a browser loads for the first page, and others."""
        browser = Browser("10.255.255.7")
        _, location, _ = browser.ask("GET", self.service.url + self.authorize()[1])
        _, _, page = browser.ask("GET", location)
        loaded = {"chooser": page}
        for link in re.findall(r'<a [^>]*href="(/web/sign-in[^"]*)"', page.decode()):
            loaded["email"] = browser.ask("GET", self.service.url + html.unescape(link))[2]
        for sheet in re.findall(r'<link rel="stylesheet" href="([^"]*)"', page.decode()):
            loaded["style sheet"] = browser.ask("GET", self.service.url + sheet)[2]
        loaded["failure"] = browser.ask("GET", f"{self.service.url}/web/authorize?app=unknown")[2]
        return loaded

    def first_page(self, seconds):
        """Latencies of the request that opens a flow, of the chooser, and of both at once, each asked for RATE times a
        second."""
        choosers = []
        for number in range(OPEN_FLOWS):
            browser = Browser(f"11.{number // 256}.{number % 256}.7")
            _, location, _ = browser.ask("GET", self.service.url + self.authorize()[1])
            choosers.append((location.removeprefix(self.service.url), browser.cookie(), browser.address))
        requests = [(self.authorize()[1], "-", "-") for _ in range(OPEN_FLOWS)]
        # What this machine makes of an answer that costs next to nothing.
        latencies("key set", self.turns(seconds, "keys", [("/.well-known/jwks.json", "-", "-")]))
        targets = {"open": requests, "chooser": choosers}
        for name, list in targets.items():
            latencies(name, self.turns(seconds, name, list), MOST_P99)
        before = self.service.cpu_seconds()
        for name, result in self.paced(seconds, **targets).items():
            latencies(f"{name} beside the other", result)
        row("CPU of the service meanwhile", 100 * (self.service.cpu_seconds() - before) / seconds, "% of a core")

    def turns(self, seconds, name, targets):
        """The medians of the latencies of several turns."""
        results = [self.paced(seconds, **{name: targets})[name] for _ in range(TURNS)]
        return {figure: statistics.median(result[figure] for result in results) for figure in ("p50", "p99")}

    def paced(self, seconds, **targets):
        """Latencies by name, each name's targets asked for RATE times a second: path, cookie and address."""
        files = {name: pathlib.Path(self.directory, name) for name in targets}
        for name, file in files.items():
            file.write_text("".join("\t".join(target) + "\n" for target in targets[name]))
        running = {
            name: subprocess.Popen(
                ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", HERE / "paced.lua", self.service.url, "--",
                 file, str(RATE)], stdout=subprocess.PIPE, text=True)
            for name, file in files.items()}
        results = {}
        for name, process in running.items():
            results[name] = json.loads(process.communicate()[0].splitlines()[-1])
            if results[name]["refused"] or results[name]["failed"]:
                raise SystemExit(f"{name}: not every request was answered: {results[name]}")
        return results


def row(title, value, unit, digits=0, most=None):
    exceeded = f"  EXCEEDS {most}" if most is not None and value > most else ""
    print(f"{title:44}{value:10.{digits}f} {unit}{exceeded}", flush=True)


def latencies(name, result, most=None):
    row(f"{name}, {RATE} a second: p50", result["p50"] / 1000, "ms", 2)
    row(f"{name}, {RATE} a second: p99", result["p99"] / 1000, "ms", 2, most)


def run(bench, options):
    for provider in "apple", "google":
        bench.prepare(provider)
        bench.flows(provider, 20)
        flow = bench.flows(provider, options.flows)
        row(f"{provider}: CPU of the service", flow["service"], "µs a flow")
        row(f"{provider}: CPU of PostgreSQL", flow["database"], "µs a flow")
        row(f"{provider}: from the app's request to the session", flow["median"], "ms, median", 1)
        for has_code, given, most in (False, "its token", None), (True, "its token and code", MOST_SIGN_INS):
            bench.sign_ins(provider, 20, has_code)
            cpu = bench.sign_ins(provider, options.flows, has_code)
            row(f"/v1, {given}: CPU of the service", cpu, "µs a sign-in")
            row(f"{provider}: CPU of the service", flow["service"] / cpu, "such sign-ins", 2, most)
    for name, loaded in bench.sizes().items():
        row(name, len(loaded), "bytes")
        row(f"{name}, compressed", len(gzip.compress(loaded, 6)), "bytes", 0,
            MOST_SHEET if name == "style sheet" else MOST_PAGE)
    holders = bench.holders()
    page = holders[0][0].ask("GET", f"{bench.service.url}/web/account")[2]
    row("account", len(page), "bytes")
    row("account, compressed", len(gzip.compress(page, 6)), "bytes", 0, MOST_PAGE)
    asked = {
        "/web/account": [{"Cookie": browser.cookie()} for browser, _ in holders],
        "/v1/account": [{"Authorization": f"Bearer {token}"} for _, token in holders]}
    for path, headers in asked.items():
        bench.asked(path, headers, 100)
    by_path = {path: bench.asked(path, headers, options.flows) for path, headers in asked.items()}
    for path, cpu in by_path.items():
        row(f"{path}: CPU of the service", cpu, "µs an answer")
    row("/web/account: CPU of the service", by_path["/web/account"] / by_path["/v1/account"], "such answers", 2,
        MOST_ACCOUNTS)
    targets = [("/web/account", cookie, "-") for cookie in bench.visitors()]
    latencies("account", bench.turns(options.seconds, "account", targets), MOST_P99)
    bench.first_page(options.seconds)
    row("memory of the service, most", bench.service.memory("VmHWM"), "MB", 1)


def main():
    parser = argparse.ArgumentParser()
    for name, kind in {"bin": str, "cluster": str, "flows": int, "seconds": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(options, directory)
        try:
            run(bench, options)
        finally:
            bench.stop()


if __name__ == "__main__":
    main()
