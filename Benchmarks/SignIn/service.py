"""The service and the sandbox as processes, and the persons who sign in."""

import base64
import concurrent.futures
import http.client
import json
import os
import secrets
import socket
import subprocess
import threading
import time

CLIENT_ID = "lamp-web.apps.googleusercontent.com"
# As in sign-in.sql.
# More than sign in within a second: who does so twice has no row of their own in the audit trail for it.
SUBJECTS = range(1_000_000_001, 1_000_010_001)


class Server:
    """A process that listens on a free port of the loopback address; its output goes to a file."""

    # Seconds until its first answer.
    START_TIMEOUT = 30

    def __init__(self, log):
        self._log = log
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port = chosen.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def run(self, *command, **environment):
        if "SERVERS_PRELOAD" in os.environ:
            environment["LD_PRELOAD"] = os.environ["SERVERS_PRELOAD"]
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)

    def await_answer(self, port, path):
        """Seconds until the process answers 200."""
        start = time.monotonic()
        while time.monotonic() < start + self.START_TIMEOUT:
            if self._process.poll() is not None:
                break
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return time.monotonic() - start
            except OSError:
                pass
            time.sleep(0.001)
        with open(self._log, encoding="utf-8") as log:
            raise SystemExit("a server did not start: " + log.read()[-2000:])

    def stop(self):
        self._process.terminate()
        self._process.wait(self.START_TIMEOUT * 2)

    def cpu_seconds(self):
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, field):
        """`VmRSS` or its maximum `VmHWM`, in MB."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024 / 1e6


class Sandbox(Server):
    def __init__(self, executables, directory):
        super().__init__(f"{directory}/sandbox.log")
        self.run(f"{executables}/countersign-sandbox", "--port", str(self.port))
        self.await_answer(self.port, "/google/oauth2/v3/certs")


class Service(Server):
    """The service as in production, except for the URL of Google's keys and the duration of the drain."""

    def __init__(self, executables, directory, database_url, sandbox):
        super().__init__(f"{directory}/countersign.log")
        self._executable = f"{executables}/countersign"
        self._private = Server(self._log)
        self.private_port = self._private.port
        keyring = f"{directory}/keyring"
        # That of a database that is used again is there.
        if not os.path.exists(keyring):
            with open(os.open(keyring, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
                file.write("bench " + base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
        self._environment = {
            "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
            "COUNTERSIGN_POSTGRES_URL": database_url,
            "COUNTERSIGN_KEYRING_PATH": keyring,
            "COUNTERSIGN_SERVER_PORT": str(self.port),
            "COUNTERSIGN_SERVER_DRAIN_SECONDS": "0",
            "COUNTERSIGN_ADMIN_PORT": str(self.private_port),
            # All load comes from one address.
            "COUNTERSIGN_LIMITS_CONNECTIONS_PER_NETWORK": "0",
            # Each of its persons signs in thousands of times; no session is to end meanwhile.
            "COUNTERSIGN_LIMITS_SESSIONS_PER_ACCOUNT": "0",
            "COUNTERSIGN_GOOGLE_CLIENT_IDS": CLIENT_ID,
            "COUNTERSIGN_GOOGLE_KEYS_URL": sandbox.url + "/google/oauth2/v3/certs",
        }
        subprocess.run([self._executable, "migrate", "up"], env=os.environ | self._environment, check=True)
        self.start()

    def start(self):
        """Seconds from the start of the process until it is ready."""
        self.run(self._executable, "serve", **self._environment)
        return self.await_answer(self.private_port, "/health/ready")


def call(server, target, body, local=threading.local()):
    """Posts to a server, on a connection that the thread keeps."""
    connections = local.__dict__.setdefault("connections", {})
    if server.port not in connections:
        connections[server.port] = http.client.HTTPConnection("127.0.0.1", server.port)
    connection = connections[server.port]
    connection.request("POST", target, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.load(response)
    if response.status not in (200, 201):
        raise SystemExit(f"{target}: {response.status} {answer}")
    return answer


def write_tokens(sandbox, path, subjects, use=lambda token: None):
    """Writes a token of Google's for each of new persons to a file, once it has been used.

    Tokens last an hour and have no nonce, so that each can be posted again and again.
    """
    def token(subject):
        name = f"person{subject}"
        call(
            sandbox, "/control/google/persons",
            {"name": name, "subject": str(subject), "email": name + "@example.com", "givenName": "Kim"})
        token = call(sandbox, "/control/google/authorize", {"person": name, "clientId": CLIENT_ID})["idToken"]
        use(token)
        return token + "\n"

    with concurrent.futures.ThreadPoolExecutor(4) as pool, open(path, "w", encoding="ascii") as file:
        file.writelines(pool.map(token, subjects))


def register_persons(service, sandbox, path, subjects=SUBJECTS):
    """Registers persons with an account each, and writes their tokens."""
    def create(token):
        ticket = call(service, "/v1/sign-in/google", {"idToken": token})["linkTicket"]
        call(service, "/v1/links/create", {"linkTicket": ticket})

    write_tokens(sandbox, path, subjects, create)
