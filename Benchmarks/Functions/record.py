"""Writes the functions of the service that a start and what people ask for most run, by callgrind. Called by run.sh."""

import argparse
import concurrent.futures
import gzip
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "Web"), str(HERE.parent / "SignIn")]
from measure import Bench  # noqa: E402
from service import Server, call, register_persons  # noqa: E402

PERSONS = range(1, 33)
TIMES = 3
# Each instruction is interpreted.
Server.START_TIMEOUT, Bench.IDLE_SECONDS = 600, 1.5


def instrumented(bin, directory, profile):
    """A folder with the executables of another one, whose service writes a profile when it ends."""
    folder = pathlib.Path(directory, "bin")
    folder.mkdir()
    (folder / "countersign-sandbox").symlink_to(f"{bin}/countersign-sandbox")
    # Debug information is not needed, and takes minutes to read.
    program = folder / "program"
    subprocess.run(["objcopy", "--strip-debug", f"{bin}/countersign", program], check=True)
    script = folder / "countersign"
    script.write_text(
        f"""#!/bin/sh
case $1 in
serve) exec valgrind --tool=callgrind --demangle=no --compress-strings=no --callgrind-out-file={profile} {program} "$@" ;;
*) exec {program} "$@" ;;
esac
""")
    script.chmod(0o755)
    return folder


def ask(bench):
    """What people ask for most, alone and at once."""
    for provider in "apple", "google":
        bench.prepare(provider)
        bench.flows(provider, TIMES)
        for has_code in False, True:
            bench.sign_ins(provider, TIMES, has_code)
    bench.sizes()
    holders = bench.holders()
    bench.asked("/web/account", [{"Cookie": browser.cookie()} for browser, _ in holders], TIMES)
    bench.asked("/v1/account", [{"Authorization": f"Bearer {token}"} for _, token in holders], TIMES)
    bench.asked("/.well-known/jwks.json", [{}], TIMES)
    tokens = pathlib.Path(bench.directory, "tokens")
    register_persons(bench.service, bench.sandbox, tokens, PERSONS)

    def session(token):
        return call(bench.service, "/v1/sign-in/google", {"idToken": token})["session"]

    def refresh(session):
        return call(bench.service, "/v1/sessions/refresh", {"refreshToken": session["refreshToken"]})

    with concurrent.futures.ThreadPoolExecutor(len(PERSONS)) as pool:
        for _ in range(TIMES):
            list(pool.map(refresh, pool.map(session, tokens.read_text(encoding="ascii").split())))


def functions(profile, program):
    """The names of the program's own functions in a profile that the linker can find again."""
    names, is_own = set(), False
    for line in profile.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            is_own = value == str(program)
        elif key == "fn" and is_own:
            # A number behind it says how deep a recursion was.
            names.add(re.sub(r"'\d+$", "", value))
    symbols = subprocess.run(
        ["nm", "--defined-only", "--format=just-symbols", program], check=True, capture_output=True, text=True).stdout
    return sorted(names.intersection(symbols.splitlines()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        profile = pathlib.Path(directory, "profile")
        options.bin = instrumented(options.bin, directory, profile)
        bench = Bench(options, directory)
        try:
            ask(bench)
        finally:
            bench.stop()
        names = functions(profile, options.bin / "program")
    before = set()
    if options.output.exists():
        before = set(gzip.decompress(options.output.read_bytes()).decode().split())
    options.output.write_bytes(gzip.compress("".join(f"{name}\n" for name in names).encode(), mtime=0))
    print(f"{len(names)} functions, {len(before.intersection(names))} of the {len(before)} before among them")


if __name__ == "__main__":
    main()
