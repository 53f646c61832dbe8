"""The image of the service: what it is built from, what is in it, and how it runs by itself."""
import hashlib
import json
import re
import subprocess
import tempfile

from . import bases
from .engine import ROOT, STATE, Failure, build, inspect, podman, run

# As Docker calls what docker-compose.yml calls `countersign:local`.
SERVICE = "docker.io/library/countersign:local"
OTHERS = {"sandbox": "docker.io/library/countersign-sandbox:local", "mailbox": "docker.io/library/countersign-mailbox:local"}
ABOVE, WHOLE = 32_000_000, 60_000_000
# What names a build in the program, and is neither run nor read by it: the checksum of the file with the symbols, the linker's
# hash over its input, and the compiler's over each module.
NAMES_OF_A_BUILD = {".gnu_debuglink", ".note.gnu.build-id", ".swift_modhash"}
HARDENED = ["--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]


def checkout():
    """A clean clone of what is committed, and its commit: the same input for every build."""
    source = STATE / "source"
    if source.exists():
        run("git", "-C", source, "fetch", "-q", "--force", ROOT, "HEAD:refs/heads/built", "--update-head-ok")
    else:
        run("git", "clone", "-q", ROOT, source)
        run("git", "-C", source, "checkout", "-q", "-B", "built")
    run("git", "-C", source, "reset", "-q", "--hard", "built")
    return source, run("git", "-C", source, "rev-parse", "HEAD").strip()


def dockerfile(source):
    """buildah before 1.29 knows no `RUN --network`; then the steps that must not use the network have it here."""
    said = run("buildah", "--version")
    if tuple(map(int, re.search(r"version (\d+)\.(\d+)", said).groups())) >= (1, 29):
        return source / "Dockerfile"
    (changed := STATE / "Dockerfile").write_text((source / "Dockerfile").read_text().replace("RUN --network=none", "RUN"))
    return changed


def make(real, target, tag, layers=True):
    source, commit = checkout()
    build(tag, source, "-f", dockerfile(source), "--target", target, "--build-arg", f"COMMIT={commit}",
          *bases.mounts(real), layers=layers)
    return commit


def make_all(real):
    for target, tag in OTHERS.items():
        make(real, target, tag)
    return make(real, "countersign", SERVICE)


def mounted(image, work):
    """What `work` returns for the root of the image."""
    root = podman("image", "mount", image).strip()
    try:
        return work(root)
    finally:
        podman("image", "unmount", image)


def digest(image):
    path = "usr/local/bin/countersign"
    return mounted(image, lambda root: hashlib.sha256(open(f"{root}/{path}", "rb").read()).hexdigest())


def symbols(real, folder):
    """Writes the debug symbols and the resolved versions into the folder."""
    tag = "localhost/countersign-symbols:local"
    make(real, "symbols", tag)
    folder.mkdir(parents=True, exist_ok=True)
    mounted(tag, lambda root: run("cp", f"{root}/countersign.debug", f"{root}/dependencies.lock", folder))


def check_symbols(real):
    symbols(real, folder := STATE / "symbols")
    if (folder / "dependencies.lock").read_text() != (ROOT / "dependencies.lock").read_text():
        raise Failure("the image was not built from the versions of dependencies.lock: compare "
                      f"{folder / 'dependencies.lock'}")
    program = mounted(SERVICE, lambda root: run("readelf", "--sections", "--wide", f"{root}/usr/local/bin/countersign"))
    if ".debug_info" in program or ".symtab" in program or ".gnu_debuglink" not in program:
        raise Failure("the program in the image is not stripped, or has no link to its symbols")
    if ".debug_info" not in run("readelf", "--sections", "--wide", folder / "countersign.debug"):
        raise Failure("countersign.debug has no debug information")


def sizes():
    """Compressed bytes: of the layers above the base, and of all."""
    with tempfile.TemporaryDirectory(dir=STATE) as folder:
        podman("push", "-q", "--compress", "--format", "v2s2", "--compression-format", "gzip", SERVICE, f"dir:{folder}")
        manifest = json.load(open(f"{folder}/manifest.json"))
    layers = [layer["size"] for layer in manifest["layers"]]
    below = len(inspect(bases.LIBRARY + bases.DEBIAN)["RootFS"]["Layers"])
    return sum(layers[below:]), sum(layers)


def check_sizes(real):
    above, whole = sizes()
    if above > ABOVE or (real and whole > WHOLE):
        raise Failure(f"the image has {above / 1e6:.1f} MB above its base and {whole / 1e6:.1f} MB in all, compressed")
    return above, whole


def check_settings(commit):
    found = inspect(SERVICE)["Config"]
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in found["Labels"].items()}
    version = re.search(r'number = "(.+)"', (ROOT / "Sources/Version/ProgramVersion.swift").read_text())[1]
    wanted = {"version": version, "revision": commit, "licenses": "Apache-2.0", "title": "Countersign"}
    if different := {key: labels.get(key) for key, value in wanted.items() if labels.get(key) != value}:
        raise Failure(f"labels of the image: {different} instead of {wanted}")
    if found["User"] != "10001:10001":
        raise Failure(f"the image runs as {found['User']}")
    if inspect(SERVICE)["HealthCheck" if "HealthCheck" in inspect(SERVICE) else "Healthcheck"]["Test"] != [
            "CMD", "countersign", "health", "--live"]:
        raise Failure("the health check of the image is another one")
    said = podman("run", "--rm", *HARDENED, SERVICE, "--version")
    if f"countersign {version}" not in said or f"commit {commit}" not in said:
        raise Failure(f"the program in the image says: {said}")
    return version


def check_needs_no_shell():
    """Without any program but its own."""
    empty = ["--mount", "type=tmpfs,destination=/usr/bin", "--mount", "type=tmpfs,destination=/usr/sbin"]
    podman("run", "--rm", *HARDENED, *empty, SERVICE, "--version")
    # Nothing serves there, which is its exit code 2; 126 and 127 would be the engine's.
    done = subprocess.run(["podman", "run", "--rm", *HARDENED, *empty, SERVICE, "health"], capture_output=True, text=True)
    if done.returncode != 2 or "can't be reached" not in done.stderr:
        raise Failure(f"countersign health without other programs: {done.returncode} {done.stderr}")


def write_bill(to):
    text = mounted(SERVICE, lambda root: run(ROOT / "Scripts/sbom", "--root", root, "/usr/local/bin/countersign"))
    to.write_text(text)
    names = {package["name"]: package["versionInfo"] for package in json.loads(text)["packages"]}
    locked = dict(line.split() for line in (ROOT / "dependencies.lock").read_text().splitlines())
    wrong = {name for name, version in locked.items() if names.get(name) != version}
    if wrong or not {"libssl3", "libcurl4", "libpq5", "libc6", "swift"} <= names.keys():
        raise Failure(f"the bill of materials lacks {wrong or 'packages of the image'}")
    return len(names)


def difference(first, second):
    """The sections in which two programs differ."""
    found = []
    for image in (first, second):
        text = mounted(image, lambda root: run("readelf", "--sections", "--wide", f"{root}/usr/local/bin/countersign"))
        names = re.findall(r"^\s*\[ *\d+\] (\.\S+)", text, re.M)
        found.append({})
        for name in names:
            with tempfile.NamedTemporaryFile() as file:
                mounted(image, lambda root: run("objcopy", "-O", "binary", f"--only-section={name}",
                                                "--set-section-flags", f"{name}=alloc",
                                                f"{root}/usr/local/bin/countersign", file.name))
                found[-1][name] = hashlib.sha256(file.read()).hexdigest()
    return sorted(name for name in found[0].keys() | found[1].keys() if found[0].get(name) != found[1].get(name))
