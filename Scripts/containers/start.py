"""How long the service takes from its start until it is ready."""
import http.client
import os
import pathlib
import statistics
import subprocess
import time

from .engine import Failure, inspect, podman


def times(composed, service="countersign-2", rounds=5):
    """Medians of seconds until /health/ready says 200: from the engine's command, and from the first instant of the process
    (its start time in /proc, of a hundredth of a second)."""
    found = []
    address = inspect(composed.identifier(service))["NetworkSettings"]["Networks"]
    (host,) = (network["IPAddress"] for network in address.values() if network["IPAddress"].startswith("172.30.82."))
    for _ in range(rounds):
        podman("stop", "-t", "40", composed.identifier(service))
        began = time.time()
        process = subprocess.Popen(["podman", "start", composed.identifier(service)], stdout=subprocess.DEVNULL)
        deadline = began + 60
        while ready(host) != 200:
            if time.time() > deadline:
                raise Failure(f"{service} is not ready within a minute of its start")
            time.sleep(0.002)
        at = time.time()
        process.wait()
        pid = inspect(composed.identifier(service))["State"]["Pid"]
        ticks = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        started = time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
        found.append((at - began, at - started))
    return tuple(statistics.median(column) for column in zip(*found))


def ready(host):
    connection = http.client.HTTPConnection(host, 8082, timeout=1)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()
