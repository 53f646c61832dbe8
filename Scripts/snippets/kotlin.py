"""Kotlin: the blocks of all pages are one module, each a file of it, with the declarations that they use of Android and of
Google's libraries (Tests/Snippets/kotlin), where Calls.kt is a program that uses them and is run. The compiler is that of the
Kotlin kernel for Jupyter, which has kotlinx.coroutines too; it takes a while, so the same text is compiled once."""
import hashlib
import os
import shutil
import subprocess
import sysconfig

from . import calls
from .blocks import ROOT

STUBS = ROOT / "Tests/Snippets/kotlin"
FOLDER = ROOT / ".local/snippets/kotlin"


def check(blocks):
    stubs = sorted(STUBS.glob("*.kt"))
    # The compiler is of the test environment's requirements.
    needed = [ROOT / "Tests/requirements.txt", ROOT / "Scripts/snippets/calls.py", *stubs]
    texts = [*(file.read_text() for file in needed), *(f"{block}{block.text}" for block in blocks)]
    digest = hashlib.sha256("\0".join(texts).encode())
    passed = FOLDER / digest.hexdigest()
    if passed.exists():
        return []
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    files, lines = [], {}
    for block in blocks:
        file = FOLDER / f"{block.name}.kt"
        file.write_text(block.text)
        files.append(file)
        lines[file.name] = block
    jars = os.path.join(sysconfig.get_path("purelib"), "run_kotlin_kernel/jars")
    classes = ":".join(os.path.join(jars, name) for name in sorted(os.listdir(jars)))
    result = subprocess.run(
        ["java", "-cp", classes, "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler", "-no-stdlib", "-nowarn", "-cp", classes,
         "-d", FOLDER / "classes", *stubs, *files],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode == 0:
        faults = calls.faults("docs/getting-started/calling.md", ["java", "-cp", f"{FOLDER / 'classes'}:{classes}", "CallsKt"])
        if not faults:
            passed.touch()
        return faults
    faults = [line for line in result.stdout.splitlines() if ": error:" in line] or [result.stdout]
    return [mapped(fault, lines) for fault in faults]


def mapped(fault, blocks):
    """The place on the page."""
    file, _, rest = fault.partition(":")
    line, _, rest = rest.partition(":")
    block = blocks.get(os.path.basename(file))
    if block is None or not line.isdigit():
        return fault
    return f"{block.page.relative_to(ROOT)}:{block.line + int(line) - 1}:{rest}"
