"""A service, the sandbox, PostgreSQL, mail and a desktop app's listener, for a real browser.

To a browser two ports of 127.0.0.1 are one site, 127.0.0.1 and localhost are two. The service is 127.0.0.1 and the sandbox
localhost, so that Apple's form is posted cross-site, as in life.
"""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import secrets
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests" / "OpenAPI"))
from world import (  # noqa: E402
    APPLE_CLIENT, GOOGLE_CLIENT, TIMEOUT, Processes, free_ports, post, run, scratch_database)

SERVICES_ID = "com.example.lamp.web"
APP = "Lamp & Co"
PRIVATE_SCHEME = "com.example.lamp:/signed-in"
SCOPE_TEXTS = """devices.read:
  en: See the devices of your home
  de: Die Geräte in Ihrem Zuhause sehen
  fr: Voir les appareils de votre maison
  es: Ver los dispositivos de su casa
  ja: 自宅のデバイスを表示する
  zh-Hans: 查看您家中的设备
  ar: عرض الأجهزة في منزلك
  it: Vedere i dispositivi di casa tua
  ko: 집에 있는 기기 보기
  nl: De apparaten in uw huis bekijken
  pl: Wyświetlanie urządzeń w Twoim domu
  pt-BR: Ver os dispositivos da sua casa
"""


class DesktopApp(http.server.ThreadingHTTPServer):
    """A desktop app that waits on a port of its own for the browser; it keeps what came."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.answers = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def redirect_uri(self):
        return f"http://127.0.0.1:{self.server_port}/signed-in"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            target = urllib.parse.urlsplit(self.path)
            if target.path == "/signed-in":
                self.server.answers.append(dict(urllib.parse.parse_qsl(target.query)))
            body = b"<!DOCTYPE html><html lang=en><title>App</title><p>Return to the app."
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass


class Attempt:
    """What an app keeps of one attempt, and what it opens."""

    def __init__(self, stack, redirect_uri, app="lamp"):
        self.stack, self.redirect_uri, self.app = stack, redirect_uri, app
        self.verifier, self.state = secrets.token_urlsafe(32), secrets.token_urlsafe(16)

    def url(self, **more):
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "app": self.app, "redirect_uri": self.redirect_uri, "code_challenge": challenge,
            "code_challenge_method": "S256", "state": self.state} | more
        return f"{self.stack.service}/web/authorize?{urllib.parse.urlencode(query, quote_via=urllib.parse.quote)}"

    def exchange(self, answer):
        """The status and the answer to the code that the browser brought."""
        assert answer.get("state") == self.state, answer
        assert answer.get("iss") == self.stack.service, answer
        return self.stack.call("/v1/sign-in/web", {
            "code": answer["code"], "codeVerifier": self.verifier, "redirectUri": self.redirect_uri})


class LinkingClient:
    """Another service, to which people link their account; as `countersign oauth-client create` registers it."""

    SCOPES = "profile", "email", "devices.read"

    def __init__(self, stack, name="Acme Home", *options):
        self.service, self.redirect_uri = stack.service, stack.app.redirect_uri
        line = stack.countersign("oauth-client", "create", "--name", name, "--redirect-uri", self.redirect_uri, *options)
        answer = json.loads(line)
        self.id, self.secret = answer["clientId"], answer["clientSecret"]

    def redeem(self, code):
        """The tokens for a code that a browser brought."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri,
                "client_id": self.id, "client_secret": self.secret}
        with urllib.request.urlopen(
            f"{self.service}/oauth/token", urllib.parse.urlencode(form).encode(), timeout=TIMEOUT
        ) as answer:
            return json.load(answer)


class Stack:
    def __init__(self, service, private, sandbox, state, database, countersign):
        self.service, self.private, self.sandbox = service, private, sandbox
        self.state, self._mail, self._database = state, state / "mail.jsonl", database
        self.app = DesktopApp()
        # Runs a command of the service, and returns what it prints.
        self.countersign = countersign

    def attempt(self, redirect_uri=None):
        return Attempt(self, redirect_uri or self.app.redirect_uri)

    def call(self, path, members):
        try:
            return 200, post(self.service + path, members)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def sql(self, statement):
        """The first column of the first row, as text; empty when there is none."""
        return run("psql", "-qXAt", self._database, "-v", "ON_ERROR_STOP=1", "-c", statement).split("\n")[0]

    def eventually(self, statement, wanted):
        """Waits until the statement's value is the wanted one."""
        end = time.monotonic() + TIMEOUT
        while (value := self.sql(statement)) != wanted:
            if time.monotonic() > end:
                raise AssertionError(f"{statement}: {value!r}, and not {wanted!r}")
            time.sleep(0.05)

    def control(self, path, /, **members):
        return post(f"{self.sandbox}/control/{path}", members)

    def person(self, name, email=None, **more):
        for provider in "apple", "google":
            self.control(f"{provider}/persons", name=name, email=email or f"{name}@example.com", **more)

    def account(self, email, password):
        status, answer = self.call("/v1/accounts", {"email": email, "password": password})
        assert status == 200, answer
        return answer

    def device(self, person, name):
        """Signs a known person in by an app, on a device of this name."""
        token = self.control("google/authorize", person=person, clientId=GOOGLE_CLIENT)["idToken"]
        status, answer = self.call("/v1/sign-in/google", {"idToken": token, "device": {"name": name}})
        assert (status, answer["status"]) == (200, "signedIn"), answer

    def mailed_code(self, email, number=1):
        """Waits for the code of this number that was mailed to an address."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            codes = []
            # What follows the last line's end is still being written.
            for line in self._mail.read_text().split("\n")[1:-1]:
                message = json.loads(line)
                if message["recipients"] == [email]:
                    codes += [text.strip() for text in (message["text"] or "").splitlines()
                              if text.startswith("    ") and text.strip().isdigit()]
            if len(codes) >= number:
                return codes[number - 1]
            time.sleep(0.05)
        raise AssertionError(f"no code {number} to {email}")


@contextlib.contextmanager
def stack(binaries, state):
    """All of it, in processes that end with the block. They write to the directory `state`."""
    state.mkdir(parents=True, exist_ok=True)
    with Processes() as processes:
        database = processes.enter_context(scratch_database())
        public, private, outside = free_ports(3)
        service, sandbox = f"http://127.0.0.1:{public}", f"http://localhost:{outside}"
        process = processes.start(
            state / "sandbox.log", binaries / "countersign-sandbox", "--port", str(outside),
            "--keys", str(state / "sandbox-keys"))
        processes.await_answer(process, f"http://127.0.0.1:{outside}/apple/auth/keys", state / "sandbox.log")
        with open(state / "mail.jsonl", "w") as mail:
            server = processes.start(
                state / "mail.log", "/usr/bin/python3", ROOT / "Tests/MailServer/mail-server.py",
                stdin=subprocess.PIPE, stdout=mail)
        while not (line := (state / "mail.jsonl").read_text()):
            if server.poll() is not None:
                sys.exit((state / "mail.log").read_text())
            time.sleep(0.05)

        apple_key, google_secret = state / "AuthKey.p8", secrets.token_hex(16)
        webhook_secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        (state / "scopes.yaml").write_text(SCOPE_TEXTS)
        for path, content in (
            (state / "keyring", f"browser {run('openssl', 'rand', '-base64', '32')}"),
            (apple_key, run("openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")),
            (state / "webhook-secret", webhook_secret),
        ):
            path.unlink(missing_ok=True)
            path.touch(0o600)
            path.write_text(content)
        control = f"http://127.0.0.1:{outside}/control"
        post(f"{control}/apple/clients", {
            "clientId": SERVICES_ID, "teamId": "SANDBOX001", "redirectUris": [f"{service}/web/callback/apple"]})
        post(f"{control}/apple/teams", {
            "teamId": "SANDBOX001", "keyId": "CHECK00001",
            "publicKey": run("openssl", "pkey", "-in", apple_key, "-pubout")})
        post(f"{control}/google/clients", {
            "clientId": GOOGLE_CLIENT, "clientSecret": google_secret,
            "redirectUris": [f"{service}/web/callback/google"]})
        post(f"{control}/receiver", {"secrets": [webhook_secret]})
        # The script that sends Apple's form.
        post(f"{control}/apple/browser", {"autoSubmit": True})

        settings = {
            "POSTGRES_URL": database, "KEYRING_PATH": state / "keyring",
            "SERVER_PORT": public, "ADMIN_PORT": private, "SERVER_DRAIN_SECONDS": 0,
            "WEB_APPS": "lamp", "WEB_APP_LAMP_NAME": APP,
            "WEB_APP_LAMP_REDIRECT_URIS": f"http://127.0.0.1/signed-in,{PRIVATE_SCHEME}",
            "PAGES_NAME": "Lamp Accounts", "PAGES_PRIVACY_URL": "https://example.com/privacy",
            "PAGES_HELP_URL": "https://example.com/help",
            "APPLE_CLIENT_IDS": APPLE_CLIENT, "APPLE_SERVICES_ID": SERVICES_ID, "APPLE_TEAM_ID": "SANDBOX001",
            "APPLE_KEY_ID": "CHECK00001", "APPLE_PRIVATE_KEY_PATH": apple_key,
            "APPLE_AUTHORIZE_URL": f"{sandbox}/apple/auth/authorize",
            "GOOGLE_AUTHORIZE_URL": f"{sandbox}/google/o/oauth2/v2/auth",
            "GOOGLE_CLIENT_IDS": GOOGLE_CLIENT, "GOOGLE_SERVER_CLIENT_ID": GOOGLE_CLIENT,
            "GOOGLE_SERVER_CLIENT_SECRET": google_secret,
            "MAIL_SMTP_URL": f"smtp://127.0.0.1:{int(line)}", "MAIL_FROM": "lamp@example.com",
            "OAUTH_ENABLED": "true", "OAUTH_SCOPES": ",".join(LinkingClient.SCOPES),
            "OAUTH_SCOPE_TEXTS_PATH": state / "scopes.yaml",
            "WEBHOOKS_ENDPOINTS": "crm", "WEBHOOKS_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEBHOOKS_ENDPOINT_CRM_URL": f"http://127.0.0.1:{outside}/receiver",
            "WEBHOOKS_ENDPOINT_CRM_SECRET_PATH": state / "webhook-secret",
            # The tests are about what is behind the limits.
            "LIMITS_PASSWORD_PER_ACCOUNT": 0, "LIMITS_GUESS_PER_NETWORK": 0, "LIMITS_GUESS_PER_WIDE_NETWORK": 0,
            "LIMITS_REGISTRATION_PER_NETWORK": 0, "LIMITS_MAIL_PER_ADDRESS": 0, "LIMITS_WEB_FLOWS_PER_NETWORK": 0,
        } | {
            f"{provider}_{name}_URL": f"http://127.0.0.1:{outside}/{path}"
            for provider, name, path in (
                ("APPLE", "KEYS", "apple/auth/keys"), ("APPLE", "TOKEN", "apple/auth/token"),
                ("APPLE", "REVOKE", "apple/auth/revoke"), ("GOOGLE", "KEYS", "google/oauth2/v3/certs"),
                ("GOOGLE", "TOKEN", "google/token"), ("GOOGLE", "REVOKE", "google/revoke"))
        }
        environment = {"PATH": os.environ["PATH"]}
        environment |= {f"COUNTERSIGN_{name}": str(value) for name, value in settings.items()}
        process = processes.start(
            state / "service.log", binaries / "countersign", "serve", "--migrate", env=environment)
        processes.await_answer(process, f"http://127.0.0.1:{private}/health/ready", state / "service.log")
        yield Stack(
            service, f"http://127.0.0.1:{private}", sandbox, state, database,
            lambda *words: run(binaries / "countersign", *words, env=environment))
        if process.poll() is not None:
            sys.exit("The service has ended:\n" + (state / "service.log").read_text()[-2000:])
