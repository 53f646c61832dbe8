"""The two processes of the service, each on a machine, the sandbox whose keys they trust, and the people of it."""
import base64
import http.client
import json
import os
import secrets
import subprocess

from .cluster import NAMES
from .network import Failure, Machine, run, until

GOOGLE, APPLE = "lamp-web.apps.googleusercontent.com", "com.example.lamp"
# What Google addresses the assertions of account linking to.
ASSERTIONS = "google-linking.apps.googleusercontent.com"
PUBLIC_URL = "https://auth.example.com"
SANDBOX = 8090


def call(address, port, method, path, body=None, headers=None, seconds=30):
    """Status, headers and body of an answer, by a connection of its own."""
    connection = http.client.HTTPConnection(address, port, timeout=seconds)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


class People:
    """The sandbox from the control's side: persons, and what the providers say of them."""

    def __init__(self, program, keys, directory):
        self._keys, self._program = keys, program
        # The keys are made by the first process and read by the others: the service takes addresses of providers without
        # TLS on its own loopback alone, so each of its machines has a sandbox.
        self.start(None, directory)

    def start(self, machine, directory):
        words = [self._program, "--seed", "availability", "--keys", self._keys, "--port", SANDBOX]
        if machine:
            machine.start("sandbox", *words)
            until("the sandbox", 20, lambda: machine.inside("ss", "-Htln", f"sport = :{SANDBOX}"))
        else:
            with open(directory / "sandbox.log", "ab") as log:
                subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            until("the sandbox", 20, lambda: run("ss", "-Htln", f"sport = :{SANDBOX}"))

    @staticmethod
    def control(path, body):
        status, _, answer = call("127.0.0.1", SANDBOX, "POST", "/control/" + path, json.dumps(body))
        if status >= 300:
            raise Failure(f"the sandbox answered {path} with {status}: {answer[:200]}")
        return json.loads(answer)

    def add(self, name):
        for provider in ("google", "apple"):
            self.control(f"{provider}/persons", {"name": name, "email": f"{name}@example.com", "givenName": "Kim"})

    def google(self, name, audience=GOOGLE):
        return self.control("google/authorize", {"person": name, "clientId": audience})["idToken"]

    def apple(self, name):
        return self.control("apple/authorize", {"person": name, "clientId": APPLE})["identityToken"]


class Process:
    """One process of the service, and what the program says on its machine."""

    def __init__(self, number, programs, cluster, people, host):
        self.name = f"countersign-{number}"
        self.machine = Machine(self.name, NAMES[self.name], cluster.directory)
        self.address = self.machine.address
        self.programs, self._process = programs, None
        home = self.machine.folder("/etc/countersign")
        passwords = home / "pgpass"
        passwords.write_text("".join(f"*:*:*:{role}:{password}\n" for role, password in cluster.roles.items()))
        passwords.chmod(0o600)
        ring = cluster.directory / "keyring"
        if not ring.exists():
            ring.write_text(f"k1 {base64.b64encode(secrets.token_bytes(32)).decode()}\n")
        (home / "keyring").write_bytes(ring.read_bytes())
        (home / "keyring").chmod(0o600)
        (home / "root.pem").write_bytes(cluster.authority.root.read_bytes())
        url = f"{host}/countersign?target_session_attrs=read-write&sslmode=verify-full" \
            "&sslrootcert=/etc/countersign/root.pem&passfile=/etc/countersign/pgpass"
        provider = f"http://127.0.0.1:{SANDBOX}"
        self._environment = {
            "COUNTERSIGN_POSTGRES_URL": f"postgresql://countersign@{url}",
            "COUNTERSIGN_POSTGRES_MIGRATION_URL": f"postgresql://countersign_owner@{url}",
            "COUNTERSIGN_KEYRING_PATH": "/etc/countersign/keyring",
            "COUNTERSIGN_SERVER_HOST": self.address, "COUNTERSIGN_SERVER_PUBLIC_URL": PUBLIC_URL,
            "COUNTERSIGN_SERVER_TRUSTED_PROXIES": cluster.proxy.address, "COUNTERSIGN_HEALTH_PORT": "8082",
            "COUNTERSIGN_ADMIN_HOST": self.address,
            # All load comes from one address, and a few people sign in all the time.
            "COUNTERSIGN_LIMITS_CONNECTIONS_PER_NETWORK": "0", "COUNTERSIGN_LIMITS_SESSIONS_PER_ACCOUNT": "0",
            "COUNTERSIGN_GOOGLE_CLIENT_IDS": GOOGLE, "COUNTERSIGN_GOOGLE_KEYS_URL": f"{provider}/google/oauth2/v3/certs",
            "COUNTERSIGN_APPLE_CLIENT_IDS": APPLE, "COUNTERSIGN_APPLE_KEYS_URL": f"{provider}/apple/auth/keys",
            "COUNTERSIGN_OAUTH_ENABLED": "true",
        }
        people.start(self.machine, cluster.directory)

    def command(self, *words, programs=None):
        return self.machine.inside((programs or self.programs) / "countersign", *words, env=os.environ | self._environment,
                                   timeout=120)

    def start(self, programs=None):
        """Starts it, by these programs from now on, and waits until it is ready."""
        self.programs = programs or self.programs
        self._process = self.machine.start("countersign", self.programs / "countersign", "serve", **self._environment)
        until(f"{self.name} is ready", 30, lambda: self.readiness()[0] == 200 or self._has_ended())

    def _has_ended(self):
        if self._process.poll() is not None:
            raise Failure(f"{self.name} has ended: " + self.machine.log("countersign").read_text()[-2000:])

    def readiness(self):
        """The status and the members of the body."""
        try:
            status, _, body = call(self.address, 8082, "GET", "/health/ready", seconds=3)
            return status, json.loads(body)
        except (OSError, ValueError, http.client.HTTPException):
            return None, {}

    def stop(self):
        """As at an upgrade: by SIGTERM, and with time for what is under way."""
        self._process.terminate()
        if self._process.wait(60) != 0:
            raise Failure(f"{self.name} ended with {self._process.returncode}")


def make(programs, sandbox, cluster):
    """Both processes, not yet started: the first reaches the database by all its hosts, the second through HAProxy."""
    people = People(sandbox, cluster.directory / "sandbox-keys", cluster.directory)
    hosts = ",".join(node.name for node in cluster.nodes)
    processes = [Process(1, programs, cluster, people, hosts), Process(2, programs, cluster, people, "db")]
    return people, processes
