"""Pages: relative links, and the links to the map of the code."""
import re

from .tree import ROOT, faults

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
for folder in "docs", "Sources", "Tests/TestSupport", "clients":
    PAGES += sorted((ROOT / folder).rglob("*.md"))

# The map of the code is linked from the first screen of the pages that a newcomer opens.
MAP = "docs/architecture.md"
FRONT = ["README.md", "CONTRIBUTING.md"]
FIRST_SCREEN = 40


def check():
    """Returns the names of all tests."""
    tests = set()
    for file in (ROOT / "Tests").rglob("*.swift"):
        tests.update(re.findall(r"func `([^`]+)`", file.read_text()))

    for page in PAGES:
        if not page.exists():
            faults.append(f"{page.relative_to(ROOT)} is missing")
            continue
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in link and not link.startswith("mailto:") and not (page.parent / link).exists():
                faults.append(f"{page.relative_to(ROOT)} links to {link}, which does not exist")

    if not (ROOT / MAP).exists():
        faults.append(f"{MAP} is missing")
    for name in FRONT:
        screen = "\n".join((ROOT / name).read_text().splitlines()[:FIRST_SCREEN]) if (ROOT / name).exists() else ""
        if not re.search(rf"\]\({re.escape(MAP)}[#)]", screen):
            faults.append(f"{name} does not link to {MAP} within its first {FIRST_SCREEN} lines")
    return tests
