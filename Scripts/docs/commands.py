"""The commands that pages name, against the tree of commands: the types that name their subcommands. A command without
a name has its type's, in kebab case, or that of the act that it does."""
import re

from .tree import ROOT, acts, faults


def declared():
    """Every command as its words from the first one below `countersign` on, and those that have a default one below them, so
    that a value may come in its place."""
    types, children, defaults = {}, {}, set()
    for file in sorted((ROOT / "Sources" / "countersign").rglob("*.swift")):
        own = {}
        for text in re.split(r"(?=\bstruct \w+: (?:Async)?ParsableCommand|\benum \w+: CommandedAct)", file.read_text())[1:]:
            name = re.match(r"(?:struct|enum) (\w+)", text)[1]
            given = re.search(r'commandName: "([^"]+)"', text)
            act = re.search(r"static let act = Act\.(\w+)", text) if text.startswith("enum") else None
            kebab = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
            own[name] = acts()[act[1]].name if act else given[1] if given else kebab
            listed = re.search(r"subcommands: \[([^\]]*)\]", text)
            children[file, name] = re.findall(r"(\w+)>?\.self", listed[1]) if listed else []
            if "defaultSubcommand:" in text:
                defaults.add((own[name],))
        for name, word in own.items():
            types[file, name] = word
            types.setdefault(name, (file, name))

    def below(file, name):
        for child in children[file, name]:
            place = (file, child) if (file, child) in children else types[child]
            yield (types[place],)
            yield from ((types[place], *rest) for rest in below(*place))

    return set(below(*types["Countersign"])), defaults


def check(pages):
    known, defaults = declared()
    for page in pages:
        if page.name == "CHANGELOG.md" or not page.exists():
            continue
        # In a code span or at the beginning of a shell's line, as far as the words are commands and no options or
        # values.
        for said in re.findall(r"(?:`|^\s*(?:\$ )?)countersign ([a-z-]+(?: [a-z-]+)*)", page.read_text(), re.M):
            words, path = said.split(), ()
            while words and (*path, words[0]) in known:
                path += (words.pop(0),)
            if not path or (words and path not in defaults and any(other[: len(path)] == path and len(other) > len(path) for other in known)):
                faults.append(f"{page.relative_to(ROOT)} names a command that does not exist: countersign {said}")
