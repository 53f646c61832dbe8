"""The threat model: the numbers and counts of its tables against the list of its tests, and that list against Tests/."""
import collections
import re

from .tree import ROOT, compare, faults

MODEL = "docs/threat-model.md"
LIST = "docs/threat-model-tests.md"
# | A1 | an attack | what stops it | [2](threat-model-tests.md#a1) |
ROW = re.compile(r"\| (\w+) \|.*\| \[(\d+)\]\(threat-model-tests\.md#([\w-]+)\) \|")


def check(tests):
    rows = []
    for line in (ROOT / MODEL).read_text().splitlines():
        if match := ROW.fullmatch(line):
            number, count, anchor = match.groups()
            rows.append(entry(number, anchor, int(count)))
        elif re.match(r"\| \w", line):
            faults.append(f"{MODEL} has a row without its number of tests: {line[:60]}")

    # A number may come twice: its heading then has GitHub's second anchor, `e1-1`.
    listed = []
    anchors = collections.Counter()
    for number, section in re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", (ROOT / LIST).read_text(), re.M | re.S):
        slug = number.lower()
        anchor = f"{slug}-{anchors[slug]}" if anchors[slug] else slug
        anchors[slug] += 1
        items = "\n".join(re.findall(r"^- .*", section, re.M))
        names = [name for name in re.findall(r"`([^`]+)`", items) if " " in name]
        listed.append(entry(number, anchor, len(names)))
        faults.extend(f"{LIST} names a test that does not exist: {name}" for name in names if name not in tests)
    compare(rows, MODEL, listed, LIST)


def entry(number, anchor, count):
    return f"{number} (#{anchor}) with {count} tests"
