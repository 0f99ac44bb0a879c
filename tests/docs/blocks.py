"""The fenced blocks of a page, each with the marker above it."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
# `<!-- block: WORDS, REASON -->` in a line above the block says how it is treated.
MARKER = re.compile(r"^\s*<!-- block: ([^,]+?)(?:, (.+?))? -->\s*$")


@dataclass
class Block:
    page: str
    line: int
    language: str
    text: str
    # The words of the marker, such as `["exit", "1"]`; empty without one.
    marker: list
    reason: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"


class Malformed(Exception):
    """A page whose blocks cannot be told apart."""


def pages():
    """README.md, and the pages of the book."""
    return ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]


def blocks_of(page):
    """The blocks of a page, in order."""
    found, opened, marker = [], None, ([], "")
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = (number, fence[2], [])
        elif opened and fence:
            start, language, lines = opened
            text = textwrap.dedent("\n".join(lines)) + "\n"
            found.append(Block(page, start, language, text, *marker))
            opened, marker = None, ([], "")
        elif opened:
            opened[2].append(line)
        elif written := MARKER.match(line):
            marker = (written[1].split(), written[2] or "")
        elif line.strip() and marker[0]:
            raise Malformed(f"{page}:{number}: there is no block below the marker")
    if opened:
        raise Malformed(f"{page}:{opened[0]}: the block has no end")
    return found
