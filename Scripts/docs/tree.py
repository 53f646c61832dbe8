"""The source tree as the checks of Scripts/check-docs read it, and the list of faults that they add to."""
import collections
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
faults = []


def swift(*targets):
    """The text of all Swift files of these targets."""
    files = [file for target in targets for file in sorted((ROOT / "Sources" / target).rglob("*.swift"))]
    return "\n".join(file.read_text() for file in files)


def source(name):
    """The text of the one Swift file of this name, in whichever target it is."""
    files = list((ROOT / "Sources").rglob(f"{name}.swift"))
    if len(files) != 1:
        faults.append(f"Sources has {len(files)} files {name}.swift, where Scripts/docs expects one")
    return "\n".join(file.read_text() for file in files)


def compare(one, what, other, where):
    """Each thing of one side has to be on the other."""
    one, other = set(one), set(other)
    faults.extend(f"{where} lacks {thing}" for thing in sorted(one - other))
    faults.extend(f"{where} has {thing}, which is not in {what}" for thing in sorted(other - one))


Act = collections.namedtuple("Act", "name scope method template")


@functools.cache
def acts():
    """The acts of administrators by their names in Swift, with their operations of the admin API, if they have one."""
    text = swift("Administration")
    folders = dict(re.findall(r'case (\w+) = "([\w-]+)"', source("Act")))
    found = {}
    for match in re.finditer(
            r'static let (\w+) = Act\(\s*name: "([\w-]+)", subject: \.(\w+), scope: \.(\w+)(.*?)\n    \) \{', text, re.S):
        variable, name, subject, scope, rest = match.groups()
        method, end = "POST", f"/{name}"
        if given := re.search(r'operation: (nil|\.(delete|send)\((?:"([^"]*)")?\)|\.patch)', rest):
            method = {"delete": "DELETE", "send": "POST"}.get(given[2], None if given[1] == "nil" else "PATCH")
            end = given[3] or ""
        found[variable] = Act(name, scope, method, method and f"/{folders[subject]}/{{id}}{end}")
    return found
