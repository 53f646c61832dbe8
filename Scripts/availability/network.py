"""Machines on one machine: each has a network and a mount namespace of its own, and a cable to one switch, where the checker
is.

The checker runs in namespaces of its own too (Scripts/check-availability makes them), so that nothing of this outlives it.
"""
import os
import pathlib
import signal
import subprocess
import time

PREFIX = "10.34.0."
SWITCH = PREFIX + "1"


class Failure(Exception):
    pass


def until(what, seconds, holds, pause=0.1):
    """What `holds` returns, as soon as it is true."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(pause)
    return value


def run(*words, **options):
    """Its standard output, without the last line's end."""
    try:
        done = subprocess.run([str(word) for word in words], text=True, capture_output=True, **options)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{' '.join(map(str, words[:8]))} … took longer than {error.timeout} s") from None
    if done.returncode:
        raise Failure(f"{' '.join(map(str, words[:8]))} … ended with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout.rstrip("\n")


class Machine:
    """A machine with an address, folders of its own in the place of the system's, and processes that can be killed at once."""

    def __init__(self, name, number, directory):
        self.name, self.address = name, PREFIX + str(number)
        self.directory = pathlib.Path(directory, name)
        self.directory.mkdir()
        # It keeps the namespaces, also while the machine is off.
        self._holder = subprocess.Popen(["unshare", "--net", "--mount", "--propagation", "private", "sleep", "infinity"])
        own = os.stat("/proc/self/ns/net").st_ino
        until(f"the namespaces of {name}", 10, lambda: self._network() not in (None, own), 0.01)
        self._cable = f"port-{number}"
        run("ip", "link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", self._holder.pid)
        run("ip", "link", "set", self._cable, "master", "switch", "up")
        for words in (("addr", "add", f"{self.address}/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
                      ("link", "set", "lo", "up")):
            self.inside("ip", *words)

    def _network(self):
        try:
            return os.stat(f"/proc/{self._holder.pid}/ns/net").st_ino
        except FileNotFoundError:
            return None

    def _words(self, words):
        return ["nsenter", "-t", str(self._holder.pid), "-n", "-m", "--wd=/", "--", *map(str, words)]

    def inside(self, *words, **options):
        return run(*self._words(words), **options)

    def folder(self, place, owner=None, mode=0o755):
        """A folder of this machine alone, at this place of its file system."""
        folder = self.directory / place.strip("/").replace("/", "-")
        folder.mkdir(mode=mode)
        if owner:
            run("chown", owner, folder)
        pathlib.Path(place).mkdir(parents=True, exist_ok=True)  # In the checker's own mount namespace.
        self.inside("mount", "--bind", folder, place)
        return folder

    def start(self, name, *words, user=None, **environment):
        """A process of the machine, whose output goes to a file of its name."""
        if user:
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *words]
        with open(self.log(name), "ab") as log:
            return subprocess.Popen(self._words(words), env=os.environ | environment, stdout=log, stderr=log,
                                    stdin=subprocess.DEVNULL, start_new_session=True)

    def log(self, name):
        return self.directory / f"{name}.log"

    def processes(self):
        """The numbers of its processes: all that are in its network."""
        network, found = self._network(), []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if entry.joinpath("ns/net").stat().st_ino == network and int(entry.name) != self._holder.pid:
                    found.append(int(entry.name))
            except (FileNotFoundError, PermissionError):
                pass  # It has ended since.
        return found

    def signal(self, number):
        """Sends the signal to all processes, also to those that they start meanwhile."""
        reached = set()
        while fresh := set(self.processes()) - reached:
            for process in fresh:
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass
            reached |= fresh

    def kill(self):
        """As by a power failure; its files stay."""
        self.signal(signal.SIGKILL)
        until(f"the end of {self.name}", 10, lambda: not self.processes(), 0.01)

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def unplug(self):
        run("ip", "link", "set", self._cable, "down")

    def plug(self):
        run("ip", "link", "set", self._cable, "up")

    def ignore(self, other):
        """Drops what comes from there, without a word."""
        self.inside("iptables", "-I", "INPUT", "-s", other.address, "-j", "DROP")

    def heed(self, other):
        self.inside("iptables", "-D", "INPUT", "-s", other.address, "-j", "DROP")


def make_switch(names):
    """The switch, and names for addresses, which every machine knows.

    - names: from the name to the last part of the address.
    """
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "switch", "type", "bridge")
    run("ip", "addr", "add", f"{SWITCH}/24", "dev", "switch")
    run("ip", "link", "set", "switch", "up")
    text = "127.0.0.1 localhost\n" + "".join(f"{PREFIX}{number} {name}\n" for name, number in names.items())
    pathlib.Path("/etc/hosts").write_text(text)
