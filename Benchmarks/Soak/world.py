"""The service under load, a person who signs in meanwhile, and the bounds that must hold."""

import http.client
import json
import math
import os
import pathlib
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "SignIn"))
from service import CLIENT_ID, Sandbox, Service  # noqa: E402  (the processes of the benchmark)

SIGN_IN = "/v1/sign-in/google"

__all__ = ["Report", "Person", "World", "SIGN_IN", "call", "median", "percentile"]


def call(port, method, path, body=None, headers=None, connection=None):
    """Status, headers and body of an answer; on a connection of its own unless one is given."""
    own = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        data = json.dumps(body) if isinstance(body, dict) else body
        own.request(method, path, data, {"Content-Type": "application/json"} | (headers or {}))
        response = own.getresponse()
        return response.status, response.headers, response.read()
    finally:
        if not connection:
            own.close()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def median(values):
    return percentile(values, 0.5)


class Report:
    """The results of the measurements, and the number of bounds that were broken."""

    def __init__(self):
        self.broken = 0

    def say(self, name, value):
        print(f"{name:<44} {value}", flush=True)

    def latency(self, name, seconds):
        self.say(
            name, f"p50 {1000 * median(seconds):.2f} ms, p99 {1000 * percentile(seconds, 0.99):.2f} ms, "
            f"max {1000 * max(seconds):.1f} ms ({len(seconds)} requests)")

    def bound(self, name, holds):
        self.say(f"{'holds' if holds else 'BROKEN'}: {name}", "")
        self.broken += not holds


class Person:
    """A person with a valid token, signing in again and again on a connection that is kept."""

    def __init__(self, service, token):
        self._service = service
        self._body = json.dumps({"idToken": token})

    def sign_in(self, connection):
        """Seconds until the answer, which has to be a session."""
        start = time.monotonic()
        status, _, body = call(0, "POST", SIGN_IN, self._body, connection=connection)
        if status != 200 or json.loads(body)["status"] != "signedIn":
            raise SystemExit(f"a good token was answered {status} {body}")
        return time.monotonic() - start

    def sign_in_until(self, is_over, pause=0.005):
        """The latencies of one sign-in after the other."""
        connection = http.client.HTTPConnection("127.0.0.1", self._service.port, timeout=120)
        latencies = []
        while not is_over():
            latencies.append(self.sign_in(connection))
            time.sleep(pause)
        connection.close()
        return latencies

    def sign_in_for(self, seconds):
        end = time.monotonic() + seconds
        return self.sign_in_until(lambda: time.monotonic() > end)

    def sign_in_while(self, work):
        """What `work` returns, and the latencies meanwhile."""
        result = []
        thread = threading.Thread(target=lambda: result.append(work()))
        thread.start()
        latencies = self.sign_in_until(lambda: not thread.is_alive())
        thread.join()
        if not result:
            raise SystemExit("the load failed")
        return result[0], latencies


class ObservedService(Service):
    def configure(self, **environment):
        """Sets variables for the next start."""
        self._environment |= environment

    def kill(self):
        self._process.kill()
        self._process.wait()

    def open_sockets(self):
        count = 0
        for entry in pathlib.Path(f"/proc/{self._process.pid}/fd").iterdir():
            try:
                count += os.readlink(entry).startswith("socket:")
            except FileNotFoundError:
                pass  # Closed since it was listed.
        return count


class World:
    def __init__(self, executables, directory, database_url):
        self.directory = directory
        self._database_url = database_url
        self.sandbox = Sandbox(executables, directory)
        self.service = ObservedService(executables, directory, database_url, self.sandbox)

    def stop(self):
        self.service.stop()
        self.sandbox.stop()

    def lift_limits(self):
        """Switches the limits off, for loads on what is behind them."""
        self.service.stop()
        self.service.configure(
            COUNTERSIGN_LIMITS_PASSWORD_PER_ACCOUNT="0", COUNTERSIGN_LIMITS_GUESS_PER_NETWORK="0",
            COUNTERSIGN_LIMITS_GUESS_PER_WIDE_NETWORK="0")
        self.service.start()

    def control(self, path, body=None):
        status, _, answer = call(self.sandbox.port, "GET" if body is None else "POST", "/control/" + path, body)
        if status >= 300:
            raise SystemExit(f"{path}: {status} {answer}")
        return json.loads(answer)

    def post(self, path, body):
        return call(self.service.port, "POST", path, body)

    def fetches(self):
        """How often the service has asked for the keys."""
        return len(self.control("history?path=/google/oauth2/v3/certs")["items"])

    def person(self, name):
        """A person with an account and no password."""
        self.control("google/persons", {"name": name, "email": f"{name}@example.com"})
        token = self.control("google/authorize", {"person": name, "clientId": CLIENT_ID})["idToken"]
        _, _, answer = self.post(SIGN_IN, {"idToken": token})
        status, _, answer = self.post("/v1/links/create", {"linkTicket": json.loads(answer)["linkTicket"]})
        if status != 201:
            raise SystemExit(f"create: {status} {answer}")
        return Person(self.service, token)

    def register(self, email, password):
        status, _, answer = self.post("/v1/accounts", {"email": email, "password": password})
        if status != 201:
            raise SystemExit(f"registration: {status} {answer}")

    def execute(self, statement):
        subprocess.run(["psql", "-qX", self._database_url, "-c", statement], check=True)

    def query(self, statement):
        """The rows of the answer, each a list of texts."""
        output = subprocess.run(
            ["psql", "-qXAtF\t", self._database_url, "-c", statement], check=True, stdout=subprocess.PIPE, text=True)
        return [line.split("\t") for line in output.stdout.splitlines()]
