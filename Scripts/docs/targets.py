"""The page of each target: a README.md beside its code that names every file, or the folder that the file lies in, in
code spans. A file is named with or without `.swift`, a folder by its path with a final slash, as in `Apple/`."""
import pathlib
import re

from .tree import ROOT, faults


def check():
    for folder in [*sorted((ROOT / "Sources").iterdir()), ROOT / "Tests" / "TestSupport"]:
        files = sorted(folder.rglob("*.swift"))
        if files:
            compare(folder, files, folder / "README.md")


def compare(folder, files, page):
    name = page.relative_to(ROOT)
    if not page.exists():
        faults.append(f"{name} is missing; it has to name the {len(files)} files of the target")
        return
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.M | re.S)
    spans = set(re.findall(r"`([^`\n]+)`", prose))
    folders = {span.rstrip("/") for span in spans if re.fullmatch(r"(?:[\w.+-]+/)+", span)}
    stems = {pathlib.PurePath(span).name.removesuffix(".swift") for span in spans}

    for file in files:
        path = file.relative_to(folder)
        if file.stem not in stems and not any(parent.as_posix() in folders for parent in path.parents):
            faults.append(f"{name} does not name {path}")
    # What stands elsewhere is named by its path from the top level or from the page.
    for named in sorted(folders):
        if not (folder / named).is_dir() and not (ROOT / named).is_dir():
            faults.append(f"{name} names the folder {named}/, which does not exist")
    for named in sorted(span for span in spans if re.fullmatch(r"[\w./+-]+\.swift", span)):
        if named not in {file.name for file in files} and not any((base / named).exists() for base in (folder, ROOT)):
            faults.append(f"{name} names {named}, which does not exist")
