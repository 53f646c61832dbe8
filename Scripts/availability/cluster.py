"""The database as deploy/ha has it: three Patroni nodes, three etcd, and HAProxy before both the database and the service."""
import http.client
import json
import os
import pathlib
import secrets
import shutil
import threading
import time

from .network import Failure, Machine, run, until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FILES = ROOT / "deploy" / "ha"
# The last part of each machine's address. `db` is HAProxy, at the address that is always the primary's.
NAMES = {"db-1": 11, "db-2": 12, "db-3": 13, "etcd-1": 21, "etcd-2": 22, "etcd-3": 23, "proxy": 30, "db": 30,
         "countersign-1": 41, "countersign-2": 42}
# Megabytes of a database node's disk.
DISK = 1024


class Authority:
    """Certificates for the nodes of the database, by one root."""

    def __init__(self, directory):
        self._key, self.root = directory / "root.key", directory / "root.pem"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=availability", "-keyout", self._key, "-out", self.root)

    def issue(self, folder, *names):
        """`server.pem` and `server.key` in the folder, for these names."""
        request, extensions = folder / "request", folder / "extensions"
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={names[0]}",
            "-keyout", folder / "server.key", "-out", request)
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names))
        run("openssl", "x509", "-req", "-in", request, "-CA", self.root, "-CAkey", self._key, "-CAcreateserial", "-days", "2",
            "-extfile", extensions, "-out", folder / "server.pem")


class Etcd:
    def __init__(self, name, directory):
        self.machine = Machine(name, NAMES[name], directory)
        self.machine.folder("/var/lib/etcd")
        lines = [line.partition("=") for line in (FILES / "etcd.default").read_text().splitlines() if "=" in line[1:]]
        self._settings = {key: value for key, _, value in lines if key[0] != "#"} | {
            "ETCD_NAME": name, "ETCD_INITIAL_ADVERTISE_PEER_URLS": f"http://{name}:2380",
            "ETCD_ADVERTISE_CLIENT_URLS": f"http://{name}:2379"}

    def start(self):
        self.machine.start("etcd", "etcd", **self._settings)


class Node:
    """A machine with Patroni and PostgreSQL, on a disk of its own."""

    def __init__(self, name, directory, authority, passwords):
        self.name = name
        self.machine = Machine(name, NAMES[name], directory)
        disk = self.machine.directory / "disk.image"
        with open(disk, "wb") as file:
            file.truncate(DISK * 1_048_576)
        run("mkfs.ext4", "-q", "-m", "0", disk)
        place = "/var/lib/postgresql"
        pathlib.Path(place).mkdir(parents=True, exist_ok=True)
        self.machine.inside("mount", "-o", "loop", disk, place)
        self.machine.inside("chown", "postgres:", place)
        self.machine.folder("/run/postgresql", "postgres:")
        self.machine.folder("/etc/patroni")
        # The file as it stands; what is another's on another node comes from the environment.
        shutil.copy(FILES / "patroni.yml", self.machine.directory / "etc-patroni" / "config.yml")
        authority.issue(certificates := self.machine.folder("/etc/ssl/db"), name, "db")
        run("chown", "-R", "postgres:", certificates)
        self._environment = passwords | {
            "PATRONI_NAME": name, "PATRONI_RESTAPI_CONNECT_ADDRESS": f"{name}:8008",
            "PATRONI_POSTGRESQL_CONNECT_ADDRESS": f"{name}:5432", "LC_ALL": "C.UTF-8", "HOME": place}

    def start(self):
        """Also after a power failure, which leaves a file of the last process behind that Patroni looks through."""
        self.machine.start("patroni", "patroni", "/etc/patroni/config.yml", user="postgres", **self._environment)

    def patronictl(self, *words):
        return self.machine.inside("patronictl", "-c", "/etc/patroni/config.yml", *words, env=os.environ | self._environment)

    def sql(self, statement, database="countersign", seconds=10):
        return self.machine.inside("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "psql", "-qXAt", "-F\t",
                                   "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "-", input=statement, timeout=seconds,
                                   env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})

    def status(self, path="/patroni", seconds=1):
        """The code and the members of an answer of Patroni's; `None` and nothing if there is none."""
        connection = http.client.HTTPConnection(self.machine.address, 8008, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "{}")
        except (OSError, ValueError, http.client.HTTPException):
            return None, {}
        finally:
            connection.close()

    def fill_disk(self):
        """All but nothing of the disk's room; `free_disk` gives it back."""
        self.machine.inside("sh", "-c", "fallocate -l $(df --output=avail -B1 /var/lib/postgresql | tail -n 1) "
                            "/var/lib/postgresql/filler; cat /dev/zero >>/var/lib/postgresql/filler 2>/dev/null || true")

    def free_disk(self):
        self.machine.inside("rm", "-f", "/var/lib/postgresql/filler")


class Watch:
    """Since when which node has been the primary that takes writes, by its own Patroni, asked twenty times a second."""

    def __init__(self, nodes):
        self._lock = threading.Lock()
        self._changes = []  # (moment, node or None)
        self._is = {node.name: False for node in nodes}
        self._ends = threading.Event()
        for node in nodes:
            threading.Thread(target=self._follow, args=[node], daemon=True).start()

    def _follow(self, node):
        while not self._ends.is_set():
            code, members = node.status("/primary")
            # Running in recovery it still replays what it had received.
            is_primary = code == 200 and members.get("role") in ("master", "primary") and members.get("state") == "running"
            with self._lock:
                if is_primary != self._is[node.name]:
                    self._is[node.name] = is_primary
                    self._changes.append((time.monotonic(), node.name, is_primary))
            time.sleep(0.05)

    def end(self):
        self._ends.set()

    def now(self):
        with self._lock:
            return [name for name, is_primary in self._is.items() if is_primary]

    def since(self, moment):
        """The first time after the moment at which a node became the primary, or None."""
        with self._lock:
            return next((at for at, _, is_primary in self._changes if at > moment and is_primary), None)


class Cluster:
    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority(directory)
        self.passwords = {f"PATRONI_{role}_PASSWORD": secrets.token_hex(16) for role in ("SUPERUSER", "REPLICATION", "REWIND")}
        self.roles = {role: secrets.token_hex(16) for role in ("countersign", "countersign_owner")}
        self.etcds = [Etcd(f"etcd-{number}", directory) for number in (1, 2, 3)]
        self.nodes = [Node(f"db-{number}", directory, self.authority, self.passwords) for number in (1, 2, 3)]
        self.proxy = Machine("proxy", NAMES["proxy"], directory)

    def start(self):
        for etcd in self.etcds:
            etcd.start()
        self.nodes[0].start()
        until("the first primary", 90, lambda: self.nodes[0].status("/primary")[0] == 200)
        for node in self.nodes[1:]:
            node.start()
        self.watch = Watch(self.nodes)
        self.nodes[0].sql("".join(
            f"CREATE ROLE {role} LOGIN PASSWORD '{password}';" for role, password in self.roles.items())
            + "CREATE DATABASE countersign OWNER countersign_owner ENCODING 'UTF8' TEMPLATE template0;", "postgres")
        self.start_proxy()
        self.whole()

    def start_proxy(self):
        self.proxy.start("haproxy-postgresql", "haproxy", "-db", "-f", FILES / "haproxy-postgresql.cfg")
        services = {f"COUNTERSIGN_{number}": f"10.34.0.{NAMES[f'countersign-{number}']}:8080" for number in (1, 2)}
        self.proxy.start("haproxy", "haproxy", "-db", "-f", ROOT / "docs/operations/haproxy.cfg", **services)

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    def primary(self):
        """The node that is it now, alone."""
        names = until("a primary", 90, lambda: self.watch.now())
        if len(names) > 1:
            raise Failure(f"two nodes say that they are the primary: {names}")
        return self.node(names[0])

    def standbys(self, kind=None):
        """The nodes that the primary has as standbys; of this kind of pg_stat_replication (`sync`, `async`)."""
        rows = self.primary().sql("SELECT application_name, sync_state FROM pg_stat_replication WHERE state = 'streaming'",
                                  "postgres")
        found = dict(row.split("\t") for row in rows.splitlines())
        # A base backup streams too, under another name.
        return [node for node in self.nodes if node.name in found and kind in (None, found[node.name])]

    def whole(self, seconds=120):
        """Waits until there is a primary with two standbys, of which one confirms commits."""
        def holds():
            try:
                return len(self.standbys()) == 2 and len(self.standbys("sync")) == 1
            except (Failure, TimeoutError):
                return False
        until("a primary with two standbys, one of them synchronous", seconds, holds, 0.5)
