"""Swift: each page is a module of its own. A block of declarations is a file of it, one of statements the body of a function;
Tests/Snippets/swift/PAGE.swift has what the page leaves to the app. A block about a manifest is a manifest. Calls.swift there is a
program that uses blocks of a page, and is run."""
import pathlib
import re
import shutil
import subprocess

from . import calls
from .blocks import ROOT, page_name

STUBS = ROOT / ".local/apple-stubs"
# Of the service's own targets, for the pages for who tests with them. SwiftPM calls a package as its folder.
SERVICE = ROOT / ".build/debug/Modules"
PRELUDES = ROOT / "Tests/Snippets/swift"
FOLDER = ROOT / ".local/snippets/swift"
CALLING = "docs/getting-started/calling.md"
# What may stand at the begin of a line of a file that declares.
DECLARATION = re.compile(
    r"(?:\s|$|//|import |@|\}|(?:public |private |package )?(?:final )?(?:struct|enum|class|actor|protocol|extension|func) )")

# The system calls it on a queue of its own: a literal that inherits the main actor's isolation traps there. No type says so.
ISOLATED_COMPLETION = re.compile(r"ASWebAuthenticationSession\([^{]*\{(?! *@Sendable\b)")


def check(blocks):
    if not (STUBS / "CountersignClient.swiftmodule").exists():
        return ["there are no modules of the library: run Scripts/check-apple"]
    shutil.rmtree(FOLDER, ignore_errors=True)
    pages = {}
    for block in blocks:
        if is_manifest(block.text):
            pages.setdefault(("manifest", block.line, block.page), []).append(block)
        else:
            pages.setdefault(("page", 0, block.page), []).append(block)
    faults = [
        f"{block}: the completion handler of an ASWebAuthenticationSession begins with @Sendable"
        for block in blocks if ISOLATED_COMPLETION.search(block.text)]
    for (kind, line, page), found in pages.items():
        folder = FOLDER / f"{page_name(page)}_{line or 'page'}"
        folder.mkdir(parents=True)
        faults += compile_manifest(found[0], folder) if kind == "manifest" else compile_page(found, page.stem, folder)
    return faults or run_calls([block for block in blocks if str(block).startswith(f"{CALLING}:")])


def run_calls(blocks):
    """The blocks that need nothing of Apple's, in a program of this system."""
    folder = FOLDER / "calls"
    folder.mkdir(parents=True)
    for block in blocks:
        if not re.search(r"^import (?!Foundation$)", block.text, re.M):
            (folder / f"Block{block.line}.swift").write_text(
                located(block, block.text, before="import Foundation\nimport FoundationNetworking\n"))
    program = folder / "Calls"
    return swiftc(
        folder, "-swift-version", "6", "-parse-as-library", "-o", program, PRELUDES / "Calls.swift", action="-emit-executable"
    ) or calls.faults(CALLING, [program])


def is_manifest(text):
    return "PackageDescription" in text or text.startswith((".package(", "dependencies: ["))


def located(block, text, before="", after=""):
    place = f'#sourceLocation(file: "{block.page.relative_to(ROOT)}", line: {block.line})\n'
    return f"{before}{place}{text}\n#sourceLocation()\n{after}"


def compile_page(blocks, stem, folder):
    prelude = PRELUDES / f"{stem}.swift"
    if prelude.exists():
        shutil.copy(prelude, folder / "Prelude.swift")
    left = prelude.read_text() if prelude.exists() else ""
    imports = re.findall(r"^ *import \w+$", left, re.M)
    for block in blocks:
        text = block.text
        if all(DECLARATION.match(line) for line in text.splitlines()):
            text = located(block, text, before="".join(f"{line}\n" for line in imports))
        else:
            text = located(
                block, text, before="".join(f"{line}\n" for line in imports) + f"@MainActor func block{block.line}() async throws {{\n",
                after="}\n")
        (folder / f"Block{block.line}.swift").write_text(text)
    modules = [SERVICE, *libraries(), "-package-name", ROOT.name.lower()] if "import TestSupport" in left or "import Metrics" in left else [STUBS]
    return swiftc(folder, "-I", *modules, "-swift-version", "6", "-parse-as-library")


def libraries():
    """The C libraries that the service's modules import."""
    for name in "COpenSSL", "CCurl", "CPostgres":
        yield from ("-I", ROOT / "Sources" / name)
    flags = subprocess.run(
        ["pkg-config", "--cflags", "libpq", "libcurl", "openssl"], check=True, text=True, stdout=subprocess.PIPE).stdout
    for flag in flags.split():
        yield from ("-Xcc", flag)


def compile_manifest(block, folder):
    text = block.text.rstrip()
    if text.startswith(".package("):
        text = f'let package = Package(name: "App", dependencies: [{text}])'
    elif text.startswith("dependencies:"):
        text = f'let package = Package(name: "App", {text})'
    head = "" if "import PackageDescription" in text else "import PackageDescription\n"
    (folder / "main.swift").write_text(located(block, text, before=head))
    library = pathlib.Path(shutil.which("swiftc")).resolve().parent.parent / "lib/swift/pm/ManifestAPI"
    return swiftc(folder, "-I", library, "-package-description-version", "6.2")


def swiftc(folder, *flags, action="-typecheck"):
    result = subprocess.run(
        ["swiftc", action, "-suppress-warnings", *flags, *sorted(folder.glob("*.swift"))],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode == 0:
        return []
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    return errors or [result.stdout]
