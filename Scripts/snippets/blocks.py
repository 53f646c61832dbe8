"""The code blocks of the documents, where they stand."""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def pages():
    """Of users and of app developers; the pages of the service's targets are for who changes them."""
    yield ROOT / "README.md"
    for folder in "docs", "Sources/CountersignClient/CountersignClient.docc", "clients":
        yield from sorted((ROOT / folder).rglob("*.md"))


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    language: str
    line: int
    text: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page):
    text = page.read_text()
    for match in re.finditer(r"^( *)```(\S*)\n(.*?)^\1```", text, re.S | re.M):
        # A block in a list is indented as the list.
        lines = [line.removeprefix(match[1]) for line in match[3].splitlines(keepends=True)]
        yield Block(page, match[2], text.count("\n", 0, match.start()) + 2, "".join(lines))


def all_blocks():
    return [block for page in pages() for block in blocks(page)]


def block(page, language, containing):
    """The one block of a page in a language that has these words."""
    found, = (block for block in blocks(ROOT / page) if block.language == language and containing in block.text)
    return found
