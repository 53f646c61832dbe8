"""The source tree as the checks of Scripts/check-docs read it, and the list of faults that they add to."""
import pathlib

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
