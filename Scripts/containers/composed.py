"""docker-compose.yml with its sandbox profile, run by docker-compose over podman's API."""
import http.client
import json
import os
import pathlib
import re
import shlex
import subprocess
import threading
import time

from .engine import ROOT, RUN, STATE, Failure, inspect, podman, run, until

PROJECT = "countersign-check"
SANDBOX = ["--env-file", "deploy/compose/sandbox/variables.env", "--profile", "sandbox"]
PUBLIC, SANDBOX_PORT, EDGE = 8080, 8090, "172.30.83.1"
NETWORKS = ("default", "public", "edge")
PROCESSES = ("countersign-1", "countersign-2")


class Composed:
    def __init__(self, *options):
        self.options = options or SANDBOX
        self.over = threading.Event()
        socket = RUN / "podman.sock"
        socket.unlink(missing_ok=True)
        self.log = open(STATE / "service.log", "ab")
        self.service = subprocess.Popen(["podman", "system", "service", "--time=0", f"unix://{socket}"], stdout=self.log,
                                        stderr=self.log)
        os.environ["DOCKER_HOST"] = f"unix://{socket}"
        until("podman's API", 20, socket.exists)
        services = self.compose("config").partition("services:")[2].partition("\nvolumes:")[0]
        lines = ["services:"]
        for name, settings in re.findall(r"^  ([\w-]+):\n((?:    .*\n?)*)", services, re.M):
            # Docker's log driver is not podman's.
            lines += [f"  {name}:", "    logging: { driver: k8s-file }"]
            if "    ulimits:" in settings.splitlines():
                # To a container with one limit podman gives a million processes, which a machine may not allow.
                lines += ["    ulimits: { nproc: 1024 }"]
        (override := STATE / "override.yml").write_text('version: "2.4"\n' + "\n".join(lines) + "\n")
        self.override = ["-f", "docker-compose.yml", "-f", str(override)]
        self.health = threading.Thread(target=self.run_health_checks, daemon=True)
        self.health.start()

    override = ()

    def compose(self, *words):
        return run("docker-compose", "-p", PROJECT, *self.override, "--project-directory", ROOT, *self.options, *words,
                   cwd=ROOT)

    def identifier(self, service):
        return f"{PROJECT}_{service}_1"

    def run_health_checks(self):
        """What systemd's timers do where it runs."""
        while not self.over.wait(1):
            listed = subprocess.run(["podman", "ps", "--filter", "health=starting", "--filter", "health=healthy",
                                     "--filter", "health=unhealthy", "-q"], capture_output=True, text=True).stdout
            for one in listed.split():
                subprocess.run(["podman", "healthcheck", "run", one], capture_output=True)

    def is_healthy(self, service):
        return inspect(self.identifier(service))["State"]["Health"]["Status"] == "healthy"

    def up(self):
        self.compose("up", "-d", "--no-build")

    def down(self, *words):
        # Docker removes a container in whose network another one is, podman does not.
        self.compose("rm", "--stop", "--force", "sandbox-relay-1", "sandbox-relay-2", "service-relay")
        self.compose("down", "-t", "40", *words)

    def end(self):
        def quietly(*words):
            return subprocess.run(["podman", *words], capture_output=True, text=True).stdout

        # The store is this script's own. A container in whose network another one is goes after that one, and a network
        # that is removed under a container leaves its addresses and its rules behind.
        quietly("stop", "--all", "--time", "20")
        for _ in range(5):
            quietly("rm", "--all", "--force", "--depend")
            if not quietly("ps", "--all", "--quiet").split():
                break
        quietly("network", "rm", *(f"{PROJECT}_{name}" for name in NETWORKS))
        quietly("volume", "prune", "--force")
        self.leave()

    def leave(self):
        """Ends what this process does for the services, not the services."""
        self.over.set()
        self.health.join()
        self.service.terminate()
        self.service.wait()
        self.log.close()

    def logs(self, service):
        done = subprocess.run(["podman", "logs", self.identifier(service)], capture_output=True, text=True)
        return done.stdout + done.stderr

    def execute(self, service, *words):
        return subprocess.run(["podman", "exec", self.identifier(service), *words], capture_output=True, text=True)


def call(port, method, path, body=None, bearer=None, headers=None, connection=None):
    """Status and decoded answer; (None, why) where nothing answers."""
    headers = dict(headers or {})
    if bearer:
        headers["Authorization"] = f"Bearer {bearer}"
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body)
    connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        try:
            return answer.status, json.loads(data or b"null")
        except ValueError:
            return answer.status, data.decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return None, repr(error)


def expect(status, port, method, path, *words, **more):
    got, answer = call(port, method, path, *words, **more)
    if got != status:
        raise Failure(f"{method} {path}: {got} instead of {status}: {str(answer)[:400]}")
    return answer


def authorize(provider, client, person="kim"):
    return expect(200, SANDBOX_PORT, "POST", f"/control/{provider}/authorize", {"person": person, "clientId": client})


def wait_for_keys():
    """Until every process has Apple's keys: they may have started before the sandbox did. Of a person's tokens the first
    alone has the address, so this signs in another one."""
    call(SANDBOX_PORT, "POST", "/control/apple/persons", {"name": "lee", "email": "lee@example.com"})
    answers = []

    def is_answered():
        answers.append(sign_in_with_apple("lee"))
        return isinstance(answers[-1][1], dict) and answers[-1][1].get("code") != "provider_unavailable"

    # HAProxy takes the processes in turn.
    until("the provider's keys are there", 60, lambda: all(is_answered() for _ in range(2 * len(PROCESSES))))
    if answers[-1][0] != 200:
        raise Failure(f"a sign-in with Apple: {answers[-1]}")


def sign_in_with_apple(person):
    token = {"identityToken": authorize("apple", "com.example.lamp", person)["identityToken"]}
    return call(PUBLIC, "POST", "/v1/sign-in/apple", token, headers={"X-Forwarded-For": "203.0.113.9"})


def walk(composed):
    """A person signs in by each way that the sandbox profile turns on. Returns an access token."""
    until("the service answers through HAProxy", 60, lambda: call(PUBLIC, "GET", "/.well-known/jwks.json")[0] == 200)
    until("the sandbox answers", 60, lambda: call(SANDBOX_PORT, "GET", "/apple/auth/keys")[0] == 200)
    person = {"name": "kim", "email": "kim@example.com"}
    for provider in ("apple", "google"):
        call(SANDBOX_PORT, "POST", f"/control/{provider}/persons", person)
    wait_for_keys()
    status, answer = sign_in_with_apple("kim")
    if status != 200:
        raise Failure(f"a sign-in with Apple: {status} {answer}")
    created = expect(201, PUBLIC, "POST", "/v1/links/create", {"linkTicket": answer["linkTicket"]})
    bearer = created["session"]["accessToken"]

    listed = expect(200, PUBLIC, "GET", "/v1/sessions", bearer=bearer)["items"]
    # A caller on this machine has the address that the machine has in HAProxy's network.
    if (addresses := {item["ip"] for item in listed}) != {EDGE}:
        raise Failure(f"the caller's X-Forwarded-For is believed, or HAProxy's is not: {addresses} instead of {EDGE}")
    # Codes: the key of Apple's and the client of Google's, which were registered with the sandbox.
    code = {"authorizationCode": authorize("apple", "com.example.lamp")["authorizationCode"], "clientId": "com.example.lamp"}
    signed = expect(200, PUBLIC, "POST", "/v1/sign-in/apple", code)
    if signed["identity"]["authorization"] != "active":
        raise Failure(f"Apple's code was not exchanged: {signed['identity']}")
    code = {"serverAuthCode": authorize("google", "lamp-web.apps.googleusercontent.com")["serverAuthCode"]}
    expect(200, PUBLIC, "POST", "/v1/sign-in/google", code)
    # A domain that is not ASCII needs the data of ICU that the image has kept.
    call(SANDBOX_PORT, "POST", "/control/google/persons", {"name": "uli", "email": "uli@bücher.example"})
    token = {"idToken": authorize("google", "lamp-web.apps.googleusercontent.com", "uli")["idToken"]}
    ticket = expect(200, PUBLIC, "POST", "/v1/sign-in/google", token)["linkTicket"]
    account = expect(201, PUBLIC, "POST", "/v1/links/create", {"linkTicket": ticket})["account"]
    if account["email"] != "uli@xn--bcher-kva.example":
        raise Failure(f"an international domain became {account['email']}")
    # Mail.
    expect(202, PUBLIC, "POST", "/v1/email-codes", {"email": "kim@example.com", "purpose": "signIn"})
    digits = until("a mail with a code", 120, lambda: re.search(r"^\s*(\d{6,10})\s*$", composed.logs("mailbox"), re.M))[1]
    expect(200, PUBLIC, "POST", "/v1/sign-in/email-code", {"email": "kim@example.com", "code": digits})
    # The browser, account linking, App Flip.
    for path in ("/web/account", "/.well-known/oauth-authorization-server", "/.well-known/apple-app-site-association"):
        if (status := call(PUBLIC, "GET", path)[0]) not in (200, 303):
            raise Failure(f"GET {path}: {status}")
    check_calls_of_sandbox(composed)
    return bearer


def check_calls_of_sandbox(composed):
    """An event of a provider's and Google's checks of account linking, which the sandbox sends to its own loopback address."""
    service = f"http://127.0.0.1:{PUBLIC}"
    event = {"type": "email-disabled", "person": "kim", "clientId": "com.example.lamp", "target": f"{service}/v1/events/apple"}
    deliveries = []

    def is_answered():
        deliveries.extend(expect(200, SANDBOX_PORT, "POST", "/control/apple/events", event)["deliveries"])
        return "status" in deliveries[-1]

    until("an event reaches the service", 60, is_answered)
    if deliveries[-1]["status"] != 200:
        raise Failure(f"an event of Apple's: {deliveries[-1]}")
    done = composed.execute("countersign-1", "countersign", "oauth-client", "create", "--name", "Google", "--app-flip",
                            "--redirect-uri", f"http://127.0.0.1:{SANDBOX_PORT}/google/r/lamp-linking")
    if done.returncode:
        raise Failure(f"countersign oauth-client create ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    settings = json.loads(done.stdout) | {"server": service, "project": "lamp-linking"}
    expect(200, SANDBOX_PORT, "POST", "/control/google/linking", settings)
    report = expect(200, SANDBOX_PORT, "POST", "/control/google/linking/checks", {})
    if report["failed"] or not report["passed"]:
        raise Failure(f"account linking: {[check for check in report['checks'] if check['result'] == 'failed'] or report}")


def check_listeners(composed):
    for path in ("/health/ready", "/metrics", "/admin/v1/accounts", "/console/"):
        expect(404, PUBLIC, "GET", path)
    for port in (8081, 8091):
        expect(401, port, "GET", "/admin/v1/accounts")
        # By the address that is published, which is not the listener's.
        expect(200, port, "GET", "/console/")
    reaches = ("haproxy", "bash", "-c")
    for number in (1, 2):
        for address, port, wanted in ((f"172.30.81.1{number}", 8081, False), (f"172.30.82.1{number}", 8081, False),
                                      (f"172.30.82.1{number}", 8082, True)):
            done = composed.execute(*reaches, f"timeout 2 bash -c 'exec 3<>/dev/tcp/{address}/{port}'")
            if (done.returncode == 0) != wanted:
                raise Failure(f"HAProxy {'does not reach' if wanted else 'reaches'} {address}:{port}")


def check_container(composed):
    """Of each process: user, rights, root, commands, memory in use (bytes)."""
    memory = []
    for name in PROCESSES:
        container = inspect(composed.identifier(name))
        status = dict(re.findall(r"^(\w+):\s+(.*)$", pathlib.Path(f"/proc/{container['State']['Pid']}/status").read_text(), re.M))
        if set(status["Uid"].split()) != {"10001"} or int(status["CapBnd"], 16) or status["NoNewPrivs"] != "1":
            raise Failure(f"{name} runs as {status['Uid']} with the capabilities {status['CapBnd']}")
        memory.append(int(status["VmRSS"].split()[0]) * 1024)
        # By root, who owns it. Podman mounts a /tmp over a read-only root, which Docker does not: nothing may need it.
        done = subprocess.run(["podman", "exec", "--user", "0", composed.identifier(name), "sh", "-c", "echo >/x"],
                              capture_output=True, text=True)
        if "Read-only file system" not in done.stderr:
            raise Failure(f"the root of {name} can be written to: {done.stderr}")
        if left := composed.execute(name, "find", "/tmp", "/var/tmp", "/run", "-type", "f").stdout:
            raise Failure(f"{name} writes to files: {left}")
        for words in (["health"], ["health", "--live"], ["config", "check"], ["migrate", "status"], ["migrate", "verify"],
                      ["doctor"]):
            done = composed.execute(name, "countersign", *words)
            if done.returncode:
                raise Failure(f"{name}: countersign {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return max(memory)


def check_owner(composed):
    """What needs the owner's role and the key ring has both."""
    composed.compose("run", "--rm", "--no-deps", "-T", "owner", "audit", "drop-before", "2026-01", "--dry-run")


def check_logs(composed):
    """Lines of JSON, each with its level and its message; nothing that is secret."""
    secrets = composed.execute("countersign-1", "cat", "/secrets/service/keyring", "/secrets/service/pgpass").stdout.split()
    hidden = [word.rpartition(":")[2] for word in secrets if len(word.rpartition(":")[2]) > 20]
    if len(hidden) != 2:
        raise Failure("the secrets of the service are not where they are expected")
    lines = 0
    for name in PROCESSES:
        text = composed.logs(name)
        for line in text.splitlines():
            if not {"level", "message"} <= json.loads(line).keys():
                raise Failure(f"a line of {name}'s log: {line}")
            lines += 1
        if found := [word for word in hidden if word in text]:
            raise Failure(f"the log of {name} has {len(found)} secrets")
    return lines


def restart_under_load(composed, bearer, workers=8):
    """Restarts each process in turn while calls go on. (calls, seconds of the slowest); none may fail."""
    going, calls = threading.Event(), []

    def keep_calling():
        connection = http.client.HTTPConnection("127.0.0.1", PUBLIC, timeout=15)
        for number in range(1_000_000):
            if going.is_set():
                return connection.close()
            began = time.monotonic()
            if number % 2:
                status, answer = call(PUBLIC, "GET", "/v1/account", bearer=bearer, connection=connection)
            else:
                status, answer = call(PUBLIC, "POST", "/v1/nonces", {"provider": "apple"}, connection=connection)
            calls.append((status, time.monotonic() - began, answer))
            time.sleep(0.01)

    threads = [threading.Thread(target=keep_calling) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(2)
        for name in PROCESSES:
            composed.compose("stop", "-t", "40", name)
            code = inspect(composed.identifier(name))["State"]["ExitCode"]
            if code != 0:
                raise Failure(f"{name} ended with {code} on SIGTERM")
            composed.compose("start", name)
            until(f"{name} is healthy again", 60, lambda: composed.is_healthy(name))
            until(f"HAProxy uses {name} again", 90, lambda: "/v1/account" in
                  composed.logs(name).rpartition("listening on 0.0.0.0:8080")[2])
    finally:
        going.set()
        for thread in threads:
            thread.join()
    lost = [one for one in calls if one[0] not in (200, 201)]
    if lost:
        raise Failure(f"{len(lost)} of {len(calls)} calls failed while the processes were restarted: {lost[0]}")
    # As the comment in docker-compose.yml says: the relays are in the networks of the processes that have ended.
    composed.compose("restart", "sandbox-relay-1", "sandbox-relay-2")
    wait_for_keys()
    return len(calls), max(one[1] for one in calls)
