"""Debian's buildah and podman, with a store and settings of their own under .local/containers, so that a machine without
systemd, a registry or a Docker engine can build and run what the repository has for Docker."""
import json
import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STATE = pathlib.Path(os.environ.get("COUNTERSIGN_CONTAINERS", ROOT / ".local" / "containers"))
RUN = pathlib.Path("/run/countersign-containers")
NEEDED = {"buildah": "buildah", "podman": "podman", "runc": "runc", "debootstrap": "debootstrap",
          "docker-compose": "docker-compose", "/usr/lib/podman/netavark": "netavark",
          "/usr/lib/podman/aardvark-dns": "aardvark-dns", "iptables": "iptables", "curl": "curl", "git": "git",
          "readelf": "binutils"}
SETTINGS = {
    "containers.conf": f"""[containers]
default_ulimits = ["nofile=8192:8192", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
image_default_format = "docker"
[network]
network_backend = "netavark"
network_config_dir = "{STATE / 'networks'}"
""",
    "storage.conf": f"""[storage]
driver = "overlay"
graphroot = "{STATE / 'storage'}"
runroot = "{RUN / 'storage'}"
""",
    "registries.conf": 'unqualified-search-registries = ["docker.io"]\n',
    "policy.json": '{"default": [{"type": "insecureAcceptAnything"}]}\n',
}


class Failure(Exception):
    pass


def prepare():
    STATE.mkdir(parents=True, exist_ok=True)
    RUN.mkdir(parents=True, exist_ok=True)
    for name, text in SETTINGS.items():
        (STATE / name).write_text(text)
    os.environ.update({
        "CONTAINERS_CONF": str(STATE / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(STATE / "storage.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(STATE / "registries.conf"),
        # Build contexts of gigabytes don't fit into a /var/tmp in memory.
        "TMPDIR": str(STATE / "tmp"), "BUILDAH_ISOLATION": "chroot"})
    (STATE / "tmp").mkdir(exist_ok=True)


def missing():
    """The Debian packages that are not installed."""
    return sorted({package for program, package in NEEDED.items() if not shutil.which(program)})


def run(*words, log=None, **options):
    """Its standard output. With `log` everything goes to that file."""
    words = [str(word) for word in words]
    if log:
        with open(log, "ab") as file:
            if subprocess.run(words, stdout=file, stderr=file, **options).returncode:
                raise Failure(f"{' '.join(words[:4])} … failed; its output is in {log}")
        return ""
    done = subprocess.run(words, text=True, capture_output=True, **options)
    if done.returncode:
        raise Failure(f"{' '.join(words)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout


def podman(*words, **options):
    return run("podman", *words, **options)


def build(tag, context, *words, layers=True):
    """In Docker's format, for OCI's has no health checks. Layers of earlier builds are used, unless `layers` is false."""
    return run("nice", "-n", "10", "buildah", "bud", "--layers" if layers else "--no-cache", "--format", "docker",
               "--isolation", "chroot", "--pull-never", "-t", tag, *words, context, log=STATE / "build.log")


def has_image(name):
    return subprocess.run(["podman", "image", "exists", name]).returncode == 0


def inspect(name):
    return json.loads(podman("inspect", name))[0]


def until(what, seconds, condition):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return value
