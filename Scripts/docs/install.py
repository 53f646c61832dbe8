"""The three ways of docs/operations/install.md, by the words of the page: `Scripts/check-docs --install`."""
import gzip
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from .tree import ROOT, faults

PAGE = ROOT / "docs" / "operations" / "install.md"
VERSION = re.search(r'number = "(.+)"', (ROOT / "Sources/Version/ProgramVersion.swift").read_text())[1]
PYTHON = ROOT / ".local" / "python" / "bin"


def block(section):
    """The first block of commands of a section."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S)[1]
    return re.search(r"^```sh\n(.*?)^```", text, re.M | re.S)[1]


def say(way, what):
    print(f"install: {way}: {what}", flush=True)


def check_package():
    """In a Debian 12 that has nothing but systemd."""
    if os.geteuid() != 0 or not (shutil.which("debootstrap") and shutil.which("systemd-nspawn")):
        return say("package", "left out, needs root and what `Scripts/setup --package` installs")
    if platform.machine() != "x86_64":
        return say("package", f"left out, the page names the package for amd64 (this is {platform.machine()})")
    folders = (ROOT / ".local/release" / VERSION, ROOT / ".local/packages")
    made = [folder / f"countersign_{VERSION}_amd64.deb" for folder in folders]
    if not (package := next((path for path in made if path.exists()), None)):
        return say("package", f"left out, there is no {made[0].name}: Scripts/package makes it")
    if subprocess.run([ROOT / "Scripts/docs/in-debian", package], input=block("Debian package"), text=True).returncode:
        return faults.append("docs/operations/install.md: the way by the Debian package does not end at `ready`")
    say("package", f"{package.name}, from apt-get to ready")


def check_container():
    """By podman and docker-compose in place of Docker, with the image that is at hand."""
    from containers import engine, image
    if (missing := engine.missing()) or os.geteuid() != 0:
        return say("container", f"left out, needs root and {' '.join(missing) or 'nothing else'}")
    engine.prepare()
    archive = ROOT / ".local/release" / VERSION / f"countersign_{VERSION}_amd64.image.tar.gz"
    needed = ["docker.io/library/postgres:15-bookworm", "docker.io/library/haproxy:2.6"]
    if not archive.exists():
        needed.append(image.SERVICE)
    if absent := [name for name in needed if not engine.has_image(name)]:
        return say("container", f"left out, there is no {' '.join(absent)}: Scripts/check-containers makes them")
    from containers.composed import Composed
    # Any option in place of those of the sandbox.
    services = Composed("--no-ansi")
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copytree(ROOT / "deploy", folder / "deploy")
            if archive.exists():
                (folder / archive.name).symlink_to(archive)
            else:
                (folder / archive.name).write_bytes(gzip.compress(b""))
            docker(folder / "bin" / "docker", services, archive.exists())
            done = subprocess.run(["timeout", "300", "bash", "-eu", "-c", block("Container")], cwd=folder, text=True,
                                  capture_output=True, env=os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"})
            said = (done.stdout + done.stderr).strip()
            if done.returncode or not done.stdout.rstrip().endswith("ready"):
                faults.append(f"docs/operations/install.md: the way by container ends with {done.returncode}: {said[-2000:]}")
            else:
                say("container", "from the image to ready" + ("" if archive.exists() else
                    "; left out: `docker load`, as there is no archive of a release here"))
    finally:
        services.end()


def docker(path, services, has_archive):
    """What `docker` is to the page: the composition is not Docker's, and builds nothing."""
    from containers.composed import PROJECT
    path.parent.mkdir()
    compose = " ".join(["docker-compose", "-p", PROJECT, *services.override, "--project-directory", str(ROOT)])
    path.write_text(f"""#!/usr/bin/env bash
set -euo pipefail
case "$1 ${{2:-}}" in
    "load ") {'exec podman load --quiet' if has_archive else 'exec cat >/dev/null'} ;;
    "compose up") cd "{ROOT}" && shift 2 && exec {compose} up --no-build "$@" ;;
    "compose exec") [ "$3" = -T ] && exec podman exec "{PROJECT}_$4_1" "${{@:5}}" ;;
esac
echo "docker: not known here: $*" >&2
exit 64
""")
    path.chmod(0o755)


def check_kubernetes():
    """Without a cluster: what needs none is done, of the rest kubectl reads the words, and what they name is looked for."""
    subprocess.run([ROOT / "Scripts/python-environment"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(ROOT / "deploy/kubernetes", folder / "kubernetes")
        (folder / "kubernetes" / "AuthKey_FGHIJ67890.p8").write_text("made up\n")
        (folder / "bin").mkdir()
        (folder / "bin" / "kubectl").symlink_to(ROOT / "Scripts/docs/kubectl")
        done = subprocess.run(
            ["bash", "-eu", "-c", block("Kubernetes")], cwd=folder / "kubernetes", text=True, capture_output=True,
            env=os.environ | {"PATH": f"{folder}/bin:{PYTHON}:{os.environ['PATH']}", "PASSWORD": "a", "OWNER_PASSWORD": "b",
                              "KUBECTL_STATE": str(folder / "cluster.json"), "KUBECONFIG": "/dev/null"})
        if done.returncode or "every pod has what it mounts" not in done.stdout:
            return faults.append("docs/operations/install.md: the way by Kubernetes ends with "
                                 f"{done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    say("kubernetes", "built, secrets made, every name found; left out: a cluster")


def check():
    # Of the tree that is checked, wherever it is started.
    sys.path.insert(0, str(ROOT / "Scripts"))
    check_kubernetes()
    check_package()
    check_container()
