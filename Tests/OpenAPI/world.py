"""A service and everything that it uses, in processes of their own: PostgreSQL, the sandbox, a mail server."""
import contextlib
import json
import os
import pathlib
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
APPLE_CLIENT = "com.example.lamp"
WEB_CLIENT = "com.example.lamp.web"
REDIRECT = "https://www.example.com/signed-in"
WEB_APP = "lamp"
LINKING_REDIRECT = "https://home.example.com/linked"
LINKING_AUDIENCE = "google-linking.apps.googleusercontent.com"
WEB_REDIRECT = "https://lamp.example.com/signed-in"
GOOGLE_CLIENT = "lamp-web.apps.googleusercontent.com"
# Seconds that a busy machine may take to start a process.
TIMEOUT = 60


def free_ports(count):
    """Free ports below Linux's ephemeral range, so that no connection takes one of them before its listener does."""
    ports = []
    for port in random.sample(range(16_384, 32_768), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.append(port)
    return ports[:count]


def post(url, members):
    request = urllib.request.Request(
        url, json.dumps(members).encode(), {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        return json.loads(answer.read() or b"{}")


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


class Processes(contextlib.ExitStack):
    """A group of processes, which end with the block, the last one first."""

    def start(self, log, *command, **options):
        process = subprocess.Popen(
            command, stderr=open(log, "w"), start_new_session=True, **{"stdout": subprocess.DEVNULL, **options})
        self.callback(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @staticmethod
    def await_answer(process, url, log):
        end = time.monotonic() + TIMEOUT
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=TIMEOUT):
                return
            time.sleep(0.05)
        sys.exit(f"{process.args[0]} did not start:\n" + pathlib.Path(log).read_text()[-2000:])


@contextlib.contextmanager
def world(binaries, state):
    """The addresses of its parts, for `live.py`. They write to the directory `state`."""
    state.mkdir(parents=True, exist_ok=True)
    with Processes() as processes:
        database = processes.enter_context(scratch_database())
        public, private, outside = free_ports(3)
        sandbox = f"http://127.0.0.1:{outside}"
        process = processes.start(
            state / "sandbox.log", binaries / "countersign-sandbox", "--port", str(outside),
            "--keys", str(state / "sandbox-keys"))
        processes.await_answer(process, f"{sandbox}/apple/auth/keys", state / "sandbox.log")
        with open(state / "mail.jsonl", "w") as mail:
            server = processes.start(
                state / "mail.log", "/usr/bin/python3", ROOT / "Tests/MailServer/mail-server.py",
                stdin=subprocess.PIPE, stdout=mail)
        while not (line := (state / "mail.jsonl").read_text()):
            if server.poll() is not None:
                sys.exit((state / "mail.log").read_text())
            time.sleep(0.05)

        apple_key = state / "AuthKey.p8"
        google_secret = secrets.token_hex(16)
        webhook_secret = "whsec_" + run("openssl", "rand", "-base64", "32")
        for path, content in (
            (state / "webhook-secrets", webhook_secret),
            (state / "keyring", f"check {run('openssl', 'rand', '-base64', '32')}"),
            (apple_key, run("openssl", "genpkey", "-quiet", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")),
        ):
            path.unlink(missing_ok=True)
            path.touch(0o600)
            path.write_text(content)
        post(f"{sandbox}/control/apple/clients", {"clientId": WEB_CLIENT, "teamId": "SANDBOX001"})
        post(f"{sandbox}/control/apple/teams", {
            "teamId": "SANDBOX001", "keyId": "CHECK00001",
            "publicKey": run("openssl", "pkey", "-in", apple_key, "-pubout")})
        post(f"{sandbox}/control/google/clients", {"clientId": GOOGLE_CLIENT, "clientSecret": google_secret})

        post(f"{sandbox}/control/receiver", {"secrets": [webhook_secret.strip()]})

        settings = {
            "POSTGRES_URL": database, "KEYRING_PATH": state / "keyring",
            "SERVER_PORT": public, "ADMIN_PORT": private, "SERVER_DRAIN_SECONDS": 0,
            "APPLE_CLIENT_IDS": f"{APPLE_CLIENT},{WEB_CLIENT}", "APPLE_SERVICES_ID": WEB_CLIENT, "APPLE_TEAM_ID": "SANDBOX001",
            "APPLE_KEY_ID": "CHECK00001", "APPLE_PRIVATE_KEY_PATH": apple_key, "APPLE_REDIRECT_URIS": REDIRECT,
            "APPLE_KEYS_URL": f"{sandbox}/apple/auth/keys", "APPLE_TOKEN_URL": f"{sandbox}/apple/auth/token",
            "APPLE_REVOKE_URL": f"{sandbox}/apple/auth/revoke",
            "GOOGLE_CLIENT_IDS": GOOGLE_CLIENT, "GOOGLE_SERVER_CLIENT_ID": GOOGLE_CLIENT,
            "GOOGLE_SERVER_CLIENT_SECRET": google_secret, "GOOGLE_KEYS_URL": f"{sandbox}/google/oauth2/v3/certs",
            "GOOGLE_TOKEN_URL": f"{sandbox}/google/token", "GOOGLE_REVOKE_URL": f"{sandbox}/google/revoke",
            "MAIL_SMTP_URL": f"smtp://127.0.0.1:{int(line)}", "MAIL_FROM": "lamp@example.com",
            # The checks are about what is behind the limits.
            "LIMITS_PASSWORD_PER_ACCOUNT": 0, "LIMITS_GUESS_PER_NETWORK": 0, "LIMITS_GUESS_PER_WIDE_NETWORK": 0,
            "LIMITS_REGISTRATION_PER_NETWORK": 0, "LIMITS_MAIL_PER_ADDRESS": 0,
            "LIMITS_JUNK_CODES_PER_NETWORK": 0, "LIMITS_WEB_FLOWS_PER_NETWORK": 0, "LIMITS_EXPORT_PER_ACCOUNT": 0,
            "LIMITS_PASSWORD_CHANGE_PER_ACCOUNT": 0, "LIMITS_LINK_PER_ACCOUNT": 0,
            "WEB_APPS": WEB_APP, "WEB_APP_LAMP_REDIRECT_URIS": WEB_REDIRECT,
            "WEB_APP_LAMP_APPLE_RELAY_PACKAGE": "com.example.lamp",
            "OAUTH_ENABLED": "true", "APP_FLIP_APPLE_APP_IDS": "ABCDE12345.com.example.lamp",
            "APP_FLIP_ANDROID_APPS": "com.example.lamp=" + ":".join(["1F"] * 32),
            "WEBHOOKS_ENDPOINTS": "crm", "WEBHOOKS_ENDPOINT_CRM_URL": f"{sandbox}/receiver",
            "WEBHOOKS_ENDPOINT_CRM_SECRET_PATH": state / "webhook-secrets", "WEBHOOKS_ALLOWED_NETWORKS": "127.0.0.0/8",
        }
        environment = {"PATH": os.environ["PATH"]}
        environment |= {f"COUNTERSIGN_{name}": str(value) for name, value in settings.items()}
        service = processes.start(state / "service.log", binaries / "countersign", "serve", "--migrate", env=environment)
        processes.await_answer(service, f"http://127.0.0.1:{private}/health/ready", state / "service.log")
        key = run(
            binaries / "countersign", "admin-key", "create", "--name", "openapi", "--scopes", "read,revoke,manage",
            env=environment).strip()
        client = json.loads(run(
            binaries / "countersign", "oauth-client", "create", "--name", "Home", "--redirect-uri", LINKING_REDIRECT,
            "--google-project", "openapi", "--app-flip", "--assertion-audience", LINKING_AUDIENCE, "--introspect",
            env=environment))
        yield {
            "oauthClient": client, "public": f"http://127.0.0.1:{public}", "private": f"http://127.0.0.1:{private}", "sandbox": sandbox,
            "adminKey": key, "mail": str(state / "mail.jsonl"),
        }
        if service.poll() is not None:
            sys.exit("The service has ended:\n" + (state / "service.log").read_text()[-2000:])


@contextlib.contextmanager
def cluster():
    """The URL of the test run's cluster, or of one of our own while the block runs."""
    if url := os.environ.get("COUNTERSIGN_TEST_DATABASE_URL"):
        yield url
        return
    own = ROOT / ".local/openapi/postgres"
    run(ROOT / "Scripts/postgres", "start", own, "--fast")
    try:
        yield run(ROOT / "Scripts/postgres", "url", own).strip()
    finally:
        run(ROOT / "Scripts/postgres", "stop", own)


@contextlib.contextmanager
def scratch_database():
    """The URL of an empty database."""
    with cluster() as url:
        name = f"openapi_{os.getpid()}"
        run("psql", "-qX", url, "-c", f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        yield urllib.parse.urlsplit(url)._replace(path=f"/{name}").geturl()
        run("psql", "-qX", url, "-c", f"DROP DATABASE {name} WITH (FORCE)")
