"""The index of rules in docs/architecture.md: the file of each row has to exist, and to declare the row's symbol."""
import re

from .tree import ROOT, faults

PAGE = "docs/architecture.md"
HEADING = "## Where is the rule for …"
# | a rule | `Type.member` | `Target/Folder/File.swift` |
ROW = re.compile(r"\| .+ \| `([\w.]+)` \| `([\w/.+-]+)` \|")


def check():
    index = (ROOT / PAGE).read_text().partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]
    rows = [line for line in index.splitlines() if line.startswith("| ") and line != "| rule | decided by | file |"]
    if not rows:
        faults.append(f"{PAGE} has no rows under {HEADING}")
    for row in rows:
        if not (match := ROW.fullmatch(row)):
            faults.append(f"{PAGE} has a rule without one symbol and one file: {row}")
            continue
        symbol, name = match.groups()
        file = next((path for path in (ROOT / "Sources" / name, ROOT / name) if path.is_file()), None)
        if not file:
            faults.append(f"{PAGE} names {name}, which does not exist")
        elif not declares(file.read_text(), symbol):
            faults.append(f"{PAGE} names {symbol} in {name}, which does not declare it")


def declares(text, symbol):
    """Whether each part of the symbol is declared: its types may be extended instead, also as the elements of arrays."""
    *types, last = symbol.split(".")
    extended = [rf"\bextension (?:\w+\.)*\[?{name}\b|\b(?:struct|enum|class|actor) {name}\b" for name in types]
    declared = (
        rf"\b(?:struct|enum|class|actor|typealias|func|var|let) {last}\b|\bcase (?:\w+, )*{last}\b|\bFUNCTION {last}\b"
        if last != "init" else r"\binit[?(<]")
    return all(re.search(pattern, text) for pattern in [*extended, declared])
