"""The services of docker-compose.yml as processes with namespaces of their own, as Docker would run them."""
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANDBOX = ["--env-file", "deploy/compose/sandbox.env", "--profile", "sandbox"]
# The work of the image's entry point, which the machine's PostgreSQL doesn't have.
POSTGRES = r"""
set -euo pipefail
data=/var/lib/postgresql/data
export PATH=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1):$PATH
as=(setpriv --reuid=postgres --regid=postgres --init-groups)
mkdir -p /var/run/postgresql && chown postgres /var/run/postgresql "$data" && chmod 0700 "$data"
if [ ! -s "$data/PG_VERSION" ]; then
    "${as[@]}" initdb -D "$data" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --locale=C.UTF-8 \
        $POSTGRES_INITDB_ARGS --no-sync >/dev/null
    echo 'host all all all scram-sha-256' >>"$data/pg_hba.conf"
    "${as[@]}" pg_ctl -w -D "$data" -o '-c listen_addresses=' start >/dev/null
    psql=("${as[@]}" psql -qX -v ON_ERROR_STOP=1 --username="$POSTGRES_USER")
    "${psql[@]}" -d postgres -c "CREATE DATABASE $POSTGRES_DB"
    for script in /docker-entrypoint-initdb.d/*.sql; do "${psql[@]}" -d "$POSTGRES_DB" -f "$script"; done
    "${as[@]}" pg_ctl -w -D "$data" -m fast stop >/dev/null
fi
exec "${as[@]}" postgres -D "$data" -c 'listen_addresses=*'
"""
# A root file system with the machine's programs and the service's own mounts, and nothing else.
ROOT_FILE_SYSTEM = r"""
set -euo pipefail
mount -t tmpfs -o mode=0755 tmpfs "$root"
cd "$root"
mkdir -p usr etc proc dev tmp var/tmp $extra
chmod 1777 tmp
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
for name in usr etc $extra; do mount --bind "/$name" "$name"; mount -o remount,ro,bind "$name"; done
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t proc proc proc
mount --bind "$resolv" etc/resolv.conf
mount -t tmpfs -o mode=0755 tmpfs usr/local/bin
mount -t tmpfs -o mode=0755 tmpfs usr/local/etc
for program in $programs; do
    touch "usr/local/bin/${program##*/}"
    mount --bind "$program" "usr/local/bin/${program##*/}"
done
"""


class Failure(Exception):
    pass


def run(*words, **options):
    return subprocess.run(words, check=True, text=True, **options)


def wait_until(what, seconds, condition):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return value


def dockerfile_stages():
    """The settings of the process in each stage: user, environment, entry point, command and health check."""
    stages, stage = {}, {}
    for line in re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text()).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stage = stages[name] = dict(stages.get(base, {"environment": {}}))
            stage["environment"] = dict(stage["environment"])
        elif word == "ENV":
            stage["environment"].update(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "USER":
            stage["user"] = rest
        elif word in ("ENTRYPOINT", "CMD"):
            stage[word] = json.loads(rest)
        elif word == "HEALTHCHECK":
            stage["healthcheck"] = ["CMD"] + json.loads(rest.split(" CMD ", 1)[1])
    return stages


class Names(threading.Thread):
    """The name server of all networks. It has the addresses (A) of the services that share one with the client."""

    def __init__(self):
        super().__init__(daemon=True)
        self.addresses = {}  # (service, network) -> address
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("0.0.0.0", 53))

    def of(self, service):
        """The addresses of a service by network."""
        return {network: address for (name, network), address in list(self.addresses.items()) if name == service}

    def seen(self, service, client):
        """The service's address in a network that the client's service is in as well."""
        name = next((name for (name, _), address in list(self.addresses.items()) if address == client), None)
        return next((address for network, address in self.of(service).items() if network in self.of(name)), None)

    def run(self):
        while True:
            query, (client, port) = self.socket.recvfrom(1024)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode())
                at += 1 + query[at]
            question, kind = query[12 : at + 5], query[at + 2]
            address = self.seen(".".join(labels).lower(), client)
            found = address is not None and kind == 1
            flags = 0x8580 if address else 0x8583
            answer = query[:2] + struct.pack(">5H", flags, 1, int(found), 0, 0) + question
            if found:
                answer += struct.pack(">HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(address)
            self.socket.sendto(answer, (client, port))


class Network:
    """A bridge, whose own address is that of the host."""

    def __init__(self, number, composed):
        self.bridge, self.is_internal = f"net{number}", composed.get("internal", False)
        ipam = composed["ipam"]["config"][0]
        self.gateway, self.bits = ipam["subnet"].replace(".0/", ".1/").split("/")
        self.free = int(ipam.get("ip_range", ipam["subnet"]).split("/")[0].rsplit(".", 1)[1]) + 1
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "address", "add", f"{self.gateway}/{self.bits}", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")

    def next_address(self):
        self.free += 1
        return f"{self.gateway.rsplit('.', 1)[0]}.{self.free}"


class Deployment:
    def __init__(self, executables, state):
        composed = run("docker-compose", *SANDBOX, "config", cwd=ROOT, stdout=subprocess.PIPE).stdout
        import yaml  # beside docker-compose, which needs it too

        self.services = (file := yaml.safe_load(composed))["services"]
        self.state, self.stages = state, dockerfile_stages()
        self.programs = [executables / name for name in ("countersign", "countersign-sandbox")]
        self.processes = {}
        libraries = run("ldd", *map(str, self.programs), stdout=subprocess.PIPE).stdout
        folders = {os.path.dirname(path) for path in re.findall(r"=> (/\S+)", libraries)}
        self.extra = [folder[1:] for folder in folders if not re.match(r"/(usr|lib|lib64)(/|$)", folder)]

        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        run("ip", "link", "set", "lo", "up")
        self.networks = {name: Network(number, network) for number, (name, network) in enumerate(file["networks"].items())}
        self.names = Names()
        self.names.start()

    def image(self, service):
        kind = service["image"].split(":")[0]
        if kind in ("countersign", "countersign-sandbox"):
            return self.stages[service["build"]["target"]], signal.SIGTERM
        if kind == "postgres":
            return {"environment": {}, "ENTRYPOINT": ["bash", "-c", POSTGRES]}, signal.SIGINT
        command = ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
        return {"environment": {}, "user": "haproxy:haproxy", "ENTRYPOINT": command}, signal.SIGUSR1

    def network(self, name, service):
        """The name of the service's network namespace, which is made at its first start and outlives the process."""
        mode = service.get("network_mode", "")
        if mode.startswith("service:"):
            return mode.split(":")[1]
        if pathlib.Path("/run/netns", name).exists():
            return name
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        if mode == "none":
            return name
        for number, (joined, chosen) in enumerate((service.get("networks") or {"default": None}).items()):
            network, link, end = self.networks[joined], f"veth{len(self.names.addresses)}", f"eth{number}"
            address = (chosen or {}).get("ipv4_address") or network.next_address()
            run("ip", "link", "add", link, "type", "veth", "peer", "name", end, "netns", name)
            run("ip", "link", "set", link, "master", network.bridge, "up")
            run("ip", "-n", name, "address", "add", f"{address}/{network.bits}", "dev", end)
            run("ip", "-n", name, "link", "set", end, "up")
            self.names.addresses[name, joined] = address
        return name

    def outside(self, name):
        """The network for outgoing traffic, the only one that isn't internal, and the service's address there, to which
        Docker forwards its published ports."""
        (found,) = ((self.networks[network], address) for network, address in self.names.of(name).items()
                    if not self.networks[network].is_internal)
        return found

    def name_server(self, name):
        """The name server of its first network; `name` is the service whose network it uses."""
        networks = self.names.of(name)
        return self.networks[next(iter(networks))].gateway if networks else "127.0.0.1"

    def start(self, name):
        service = self.services[name]
        image, stop_signal = self.image(service)
        root = self.state / "roots" / name
        root.mkdir(parents=True, exist_ok=True)
        script = [ROOT_FILE_SYSTEM]
        for volume in service.get("volumes", []):
            source, target, *mode = volume.split(":")
            if not source.startswith("/"):
                source = str(self.state / "volumes" / source)
                pathlib.Path(source).mkdir(parents=True, exist_ok=True)
            inside = shlex.quote("." + target)
            make = f"mkdir -p {inside}"
            if os.path.isfile(source):
                make = f"mkdir -p $(dirname {inside}) && touch {inside}"
            script.append(f"{make} && mount --bind {shlex.quote(source)} {inside}")
            if "ro" in mode:
                script.append(f"mount -o remount,ro,bind {inside}")
        if service.get("read_only"):
            script.append("mount -o remount,ro .")

        user = str(service.get("user", image.get("user", "root")))
        identity = ["setpriv"]
        if user != "root":
            uid, _, gid = user.partition(":")
            identity += [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
        if service.get("cap_drop") == ["ALL"]:
            identity += ["--bounding-set=-all", "--inh-caps=-all"]
        if "no-new-privileges:true" in service.get("security_opt", []):
            identity += ["--no-new-privs"]
        given = {**image["environment"], **(service.get("environment") or {})}
        identity += ["env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin"]
        identity += [f"{key}={value}" for key, value in given.items() if value is not None]
        command = service.get("entrypoint", image.get("ENTRYPOINT", [])) + service.get("command", image.get("CMD", []))
        command = [word.replace("$$", "$") for word in command]
        if "nofile" in service.get("ulimits", {}):
            script.append(f"ulimit -n {service['ulimits']['nofile']['soft']}")
        script.append("exec chroot . " + shlex.join(identity + command))
        network = self.network(name, service)
        (resolv := self.state / f"{name}.resolv").write_text(f"nameserver {self.name_server(network)}\n")
        variables = {"root": root, "resolv": resolv, "extra": " ".join(self.extra),
                     "programs": " ".join(map(str, self.programs)), "PATH": os.environ["PATH"]}
        with open(self.state / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", network, "unshare", "--mount", "--propagation=private",
                 "--pid", "--fork", "bash", "-c", "\n".join(script)],
                env={key: str(value) for key, value in variables.items()}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)
        process.identity, process.stop_signal = identity, stop_signal
        health = service.get("healthcheck") or {}
        test = None if health.get("disable") else health.get("test") or image.get("healthcheck")
        process.test = test and [word.replace("$$", "$") for word in test]
        self.processes[name] = process

    def first(self, name):
        """The process with the number 1 in its namespace; None before it starts and after it ends."""
        pid = self.processes[name].pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else None

    def is_healthy(self, name):
        process = self.processes[name]
        if process.poll() is not None:
            raise Failure(f"{name} has ended with {process.returncode}")
        if (first := self.first(name)) is None:
            return False
        try:
            words = ["nsenter", "-t", str(first), "-m", "-n", "-p", "--root", "--wd=/"] + process.identity
            return subprocess.run(words + process.test[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=5).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def up(self, name):
        """Starts the service after those that it depends on."""
        if name in self.processes:
            return
        service = self.services[name]
        for other, link in (service.get("depends_on") or {}).items():
            self.up(other)
            if link["condition"] == "service_healthy":
                wait_until(f"{other} is healthy", 60, lambda: self.is_healthy(other))
            elif link["condition"] == "service_completed_successfully":
                if (code := self.processes[other].wait(120)) != 0:
                    raise Failure(f"{other} has ended with {code}")
        self.start(name)

    def stop(self, *names):
        """Sends all of them their stop signals, then waits for each to end with success."""
        for name in names:
            if self.processes[name].poll() is None and (first := self.first(name)):
                os.kill(first, self.processes[name].stop_signal)
        for name in names:
            try:
                code = self.processes[name].wait(40)
            except subprocess.TimeoutExpired:
                raise Failure(f"{name} does not end") from None
            del self.processes[name]
            if code != 0:
                raise Failure(f"{name} has ended with {code}")

    def kill(self, name):
        # The end of number 1 kills its whole namespace. (`unshare --kill-child` doesn't: a change of user resets it.)
        if self.processes[name].poll() is None and (first := self.first(name)):
            os.kill(first, signal.SIGKILL)
        self.processes[name].wait()

    def down(self):
        self.stop(*(name for name in self.processes if name != "postgres"))
        self.stop("postgres")

    def call(self, name, port, method, path, body=None, bearer=None, headers=()):
        request = urllib.request.Request(f"http://{self.outside(name)[1]}:{port}{path}", method=method)
        for header, value in headers:
            request.add_header(header, value)
        if bearer:
            request.add_header("Authorization", f"Bearer {bearer}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as answer:
            return answer.code, json.loads(answer.read() or b"null")
        except (OSError, ValueError) as error:
            return None, str(error)

    def is_reached(self, name, address, port):
        """Whether anything listens there, seen from the service's network."""
        connect = f"exec 3<>/dev/tcp/{address}/{port}"
        return subprocess.run(["ip", "netns", "exec", name, "timeout", "2", "bash", "-c", connect],
                              stderr=subprocess.DEVNULL).returncode == 0

    def expect(self, status, *request, **options):
        got, answer = self.call("haproxy", 8080, *request, **options)
        if got != status:
            raise Failure(f"{request[0]} {request[1]}: {got} instead of {status}: {answer}")
        return answer
