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

    @property
    def name(self):
        """Of a file or folder for it: no two pages of the same file name share one."""
        return f"{page_name(self.page)}_{self.line}"


class OddFence(Exception):
    """What follows it would be read as text, or text as code."""


def page_name(page):
    return re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix("")))


def blocks(page):
    return list(blocks_in(page, page.read_text()))


def blocks_in(page, text):
    """Each begins with three backticks and at most one word, and ends with the same indent and three backticks alone."""
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"( *)(`{3,}|~{3,})(.*)", line)
        if opened is None:
            if fence is None:
                continue
            if fence[2] != "```" or not re.fullmatch(r"\w*", fence[3]):
                raise OddFence(f"{page.relative_to(ROOT)}:{number}: a block begins with ``` and one word, not with {line.strip()}")
            opened, indent, lines = Block(page, fence[3], number + 1, ""), fence[1], []
        elif fence is None:
            # A block in a list is indented as the list.
            lines.append(line.removeprefix(indent) + "\n")
        elif line.rstrip() == f"{indent}```":
            yield dataclasses.replace(opened, text="".join(lines))
            opened = None
        else:
            raise OddFence(f"{page.relative_to(ROOT)}:{number}: the block of line {opened.line - 1} ends with ``` as it began, not with {line.strip()}")
    if opened:
        raise OddFence(f"{opened}: the block has no end")


def all_blocks():
    return [block for page in pages() for block in blocks(page)]


def block(page, language, containing):
    """The one block of a page in a language that has these words."""
    found, = (block for block in blocks(ROOT / page) if block.language == language and containing in block.text)
    return found
