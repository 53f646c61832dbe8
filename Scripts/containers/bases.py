"""The images that Dockerfile and docker-compose.yml begin from: the registry's where there is one, else made here from
Debian's packages, under the same names."""
import pathlib
import re
import shutil
import subprocess
import tempfile

from .engine import ROOT, STATE, Failure, build, has_image, podman, run

FOLDER = pathlib.Path(__file__).resolve().parent / "bases"
LIBRARY = "docker.io/library/"
DEBIAN = "debian:bookworm-slim"
# What the slim image leaves out, by dpkg's own setting; debootstrap unpacks it all the same.
EXCLUDED = ["usr/share/doc", "usr/share/info", "usr/share/linda", "usr/share/lintian", "usr/share/locale",
            "usr/share/man", "usr/share/groff"]
DPKG = "".join(f"path-exclude /{folder}/*\n" for folder in EXCLUDED) + "path-include /usr/share/doc/*/copyright\n"
APT = """DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
APT::Update::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
APT::AutoRemove::SuggestsImportant "false";
"""
SOURCES = """deb http://deb.debian.org/debian bookworm main
deb http://deb.debian.org/debian bookworm-updates main
deb http://deb.debian.org/debian-security bookworm-security main
"""


def names():
    """Those that the two files name and don't make themselves."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", dockerfile, re.M)) | {"scratch"}
    found = set(re.findall(r"^FROM (\S+)", dockerfile, re.M)) - stages
    composed = re.findall(r"^\s*image: (\S+)", (ROOT / "docker-compose.yml").read_text(), re.M)
    return sorted(found | {name for name in composed if not name.endswith(":local")})


def provide(made):
    """Whether they are the registry's. With `made` none is asked."""
    absent = [name for name in names() if not has_image(LIBRARY + name)]
    if absent and not made:
        pulled = [subprocess.run(["timeout", "600", "podman", "pull", "-q", LIBRARY + name], capture_output=True)
                  .returncode == 0 for name in absent[:1]]
        if all(pulled):
            for name in absent[1:]:
                podman("pull", "-q", LIBRARY + name)
            return True
    for name in sorted(absent, key=lambda name: name != DEBIAN):
        make(name)
    return inspect_origin()


def inspect_origin():
    labels = podman("image", "inspect", "--format", "{{json .Labels}}", LIBRARY + DEBIAN)
    return "countersign.made" not in labels


def make(name):
    kind = name.split(":")[0]
    if name == DEBIAN:
        return make_debian()
    with tempfile.TemporaryDirectory(dir=STATE) as context:
        shutil.copytree(FOLDER, context, dirs_exist_ok=True)
        pathlib.Path(context, "gitconfig").write_text(git_configuration())
        arguments = ["--build-arg", f"TOOLCHAIN={toolchain()}"] if kind == "swift" else []
        build(LIBRARY + name, context, "-f", FOLDER / kind, *arguments)


def make_debian():
    root = pathlib.Path(tempfile.mkdtemp(dir=STATE))
    run("debootstrap", "--variant=minbase", "bookworm", root, "http://deb.debian.org/debian", log=STATE / "build.log")
    (root / "etc/dpkg/dpkg.cfg.d/docker").write_text(DPKG)
    (root / "etc/apt/apt.conf.d/docker").write_text(APT)
    (root / "etc/apt/sources.list").write_text(SOURCES)
    for folder in EXCLUDED:
        for path in sorted((root / folder).rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                if not any(path.iterdir()):
                    path.rmdir()
            elif path.name != "copyright" or folder != "usr/share/doc":
                path.unlink()
    for pattern in ("var/cache/apt/*", "var/cache/ldconfig/*", "var/lib/apt/lists/*", "var/log/*.log", "var/log/apt/*"):
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with tempfile.NamedTemporaryFile(dir=STATE, suffix=".tar") as archive:
        run("tar", "--numeric-owner", "-C", root, "-cf", archive.name, ".")
        shutil.rmtree(root)
        podman("import", "--change", 'CMD ["bash"]', "--change", "LABEL countersign.made=debootstrap",
               archive.name, LIBRARY + DEBIAN)


def toolchain():
    """The `usr` folder of the machine's Swift, mounted where it is."""
    if not (swift := shutil.which("swift")):
        raise Failure("no swift here, and no registry to take its image from")
    usr = pathlib.Path(swift).resolve().parent.parent
    if usr == pathlib.Path("/usr"):
        raise Failure("the machine's Swift is in /usr, which can't be mounted into the builder's image")
    return usr


def local_sources():
    """git's `insteadOf` settings whose replacement is a folder: (folder, the URL's beginning)."""
    said = subprocess.run(["git", "config", "--get-regexp", r"^url\..*\.insteadof$"], text=True, capture_output=True)
    pairs = [re.fullmatch(r"url\.(.*)\.insteadof (.*)", line).groups() for line in said.stdout.splitlines()]
    return [pair for pair in pairs if pair[0].startswith("/")]


def git_configuration():
    lines = ["[safe]", "\tdirectory = *"]
    for folder, beginning in local_sources():
        lines += [f'[url "{folder}"]', f"\tinsteadOf = {beginning}"]
    return "\n".join(lines) + "\n"


def mounts(real):
    """For the build: the toolchain and the packages' sources, where the builder's image is made here."""
    if real:
        return []
    folders = {str(toolchain())} | {folder.rstrip("/") for folder, _ in local_sources()}
    return [word for folder in sorted(folders) for word in ("--volume", f"{folder}:{folder}:ro")]
