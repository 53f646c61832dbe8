"""Words that occur nowhere in code, comments or documents, neither by themselves nor as a part of an identifier: the field
has a term for what each of them has stood for. And words that comments have a budget of, which only falls."""
import os
import re

from .tree import ROOT, faults

WORDS = re.compile(
    r"seat(?:s|ed|ing|ings)?|tell(?:s|ing)?|told|whoever|anew|patien(?:ce|t|tly)|habits?|tenants?|strangers?")

# A comment names the party: “no session”, “another process”, “an attacker”. The number is that of the words left in the
# comments of the tree's Swift files; lower it when one goes.
PRONOUNS = re.compile(r"\b(?:nobody|somebody|anybody)\b", re.I)
PRONOUN_BUDGETS = {"Sources": 13}
COMMENT = re.compile(r"(?:^|\s)///? .*")

# Data: the passwords that are refused, third-party test vectors.
DATA = {"CommonPasswords.swift"}
DATA_FOLDERS = {"Tests/Vectors"}
# Literals that may contain a word, by file: mail is written for users.
LITERALS = {"en.json": ["whoever has", "tell {{service}}"]}

# What the words have stood for is listed there, to its end.
HISTORY = {"architecture.md": "## History of names"}

FOLDERS = ["Sources", "Tests", "Scripts", "Benchmarks", "Examples", "clients", "deploy", "docs", ".ci"]
SUFFIXES = {
    ".swift", ".py", ".sh", ".lua", ".sql", ".c", ".h", ".md", ".cfg", ".conf", ".env", ".ini", ".json", ".service", ".yaml",
    ".yml", ".js", ".ts", ".kt",
}
# The words of an identifier: `waitingLine`, `HTTPAPI`, `APIDocument`, `first_line`.
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def texts():
    """The files of code and documents: by their suffix, or by their first line where they have none."""
    yield from (ROOT / name for name in ("Package.swift", "README.md", "CONTRIBUTING.md", "SECURITY.md", "openapi.yaml"))
    for top in FOLDERS:
        for path, folders, names in os.walk(ROOT / top):
            base = ROOT / path
            folders[:] = sorted(
                name for name in folders
                if not name.startswith(".build") and (base / name).relative_to(ROOT).as_posix() not in DATA_FOLDERS)
            for file in (base / name for name in sorted(names)):
                bare = not file.suffix and file.is_file()
                if file.suffix in SUFFIXES or bare and file.open("rb").read(2) == b"#!":
                    yield file


def check():
    for file in texts():
        if file.name in DATA or file.samefile(__file__):
            continue
        text = file.read_text()
        for literal in LITERALS.get(file.name, ()):
            text = text.replace(literal, "")
        if heading := HISTORY.get(file.name):
            text = text.partition(heading)[0]
        for number, line in enumerate(text.splitlines(), 1):
            for token in re.findall(r"\w+", line) if WORDS.search(line.lower()) else ():
                for part in PART.findall(token):
                    if WORDS.fullmatch(part.lower()):
                        within = "" if part == token else f" in {token}"
                        faults.append(f"{file.relative_to(ROOT)}:{number}: the word “{part.lower()}”{within}")

    for tree, budget in PRONOUN_BUDGETS.items():
        found = [
            f"{file.relative_to(ROOT)}:{number}" for file in sorted((ROOT / tree).rglob("*.swift"))
            for number, line in enumerate(file.read_text().splitlines(), 1)
            for comment in COMMENT.findall(line) for _ in PRONOUNS.findall(comment)
        ]
        if len(found) > budget:
            faults.append(f"comments of {tree} have {len(found)} of nobody, somebody, anybody, where {budget} are "
                          f"allowed: {', '.join(found)}")
