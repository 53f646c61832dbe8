"""Tables of the docs that list what the code declares: reason codes and settings."""
import re

from .tree import ROOT, compare, faults, source


def check():
    rejections = [
        given or name
        for name, given in re.findall(r'^    case (\w+)(?: = "(\w+)")?$', source("TokenRejection"), re.M)
    ]
    codes = (ROOT / "docs" / "operations" / "logs.md").read_text().partition("## Reason codes")[2]
    listed = [code for row in re.findall(r"^\| (`.*?) \|", codes, re.M) for code in re.findall(r"`(\w+)`", row)]
    compare(rejections, "TokenRejection", listed, "docs/operations/logs.md")

    # A row of a table there: | `key` | `VARIABLE` | …
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \|", (ROOT / "docs" / "configuration.md").read_text(), re.M)
    keys = set()
    for file, prefixes in [
        ("Settings", ("apple", "apple.team.NAME")), ("Settings+Google", ("google", "google.project.NAME")),
        ("Settings+Web", ("",)), ("Settings+OAuth", ("",)), ("Settings+Console", ("",)), ("Settings+Passwords", ("",)),
        ("Settings+Feed", ("",)),
    ]:
        for name in re.findall(r'Setting\(\s*"([^"]+)"', source(file)):
            keys |= {name.replace("\\(prefix)", prefix).replace("\\(name)", "NAME") for prefix in prefixes}
    # One key for each kind of limit.
    keys.remove("limits.\\(kind.rawValue)")
    limits = ROOT / "Sources" / "Accounts" / "Limits" / "RateLimit.swift"
    kinds = limits.read_text().partition("enum LimitKind")[2]
    keys |= {f"limits.{kind}" for kind in re.findall(r"^    case (\w+)$", kinds, re.M)}
    compare(keys, "Settings.swift", (key for key, _ in rows), "docs/configuration.md")
    for key, variable in rows:
        expected = "COUNTERSIGN_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).replace(".", "_").upper()
        if variable != expected:
            faults.append(f"docs/configuration.md: {key} is {expected}, not {variable}")
