"""Links within the repository, and the table of contents of the book."""

import re

from blocks import ROOT

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")
ENTRY = re.compile(r"^\s*(?:- )?\[[^\]]+\]\(([^)#]+)\)$")
SUMMARY = "docs/SUMMARY.md"
# Templates of the book, and its contents.
NO_PAGES = {SUMMARY}


def broken_links(page):
    """The number of links of a page, and those that lead nowhere."""
    count, broken = 0, []
    path = ROOT / page
    for number, line in enumerate(prose(path.read_text()), 1):
        for target, heading in LINK.findall(line):
            if "://" in target:
                continue
            count += 1
            file = (path.parent / target) if target else path
            leads = file.exists() and (not heading or heading in anchors(file.read_text()))
            if not leads:
                broken.append(f"{page}:{number}: {target}#{heading}")
    return count, broken


def differences_of_summary(pages):
    """The pages of the book that its contents lack, and entries without a page or in two places."""
    lines = (ROOT / SUMMARY).read_text().splitlines()
    entries = [found[1] for line in lines if (found := ENTRY.match(line))]
    listed = [f"docs/{entry}" for entry in entries]
    missing = [f"{SUMMARY}: lacks {page}" for page in pages if page.startswith("docs/") and page not in {*listed, *NO_PAGES}]
    left = [f"{SUMMARY}: {entry} does not exist" for entry in listed if not (ROOT / entry).is_file()]
    twice = [f"{SUMMARY}: has {entry} twice" for entry in set(listed) if listed.count(entry) > 1]
    return len(entries), missing + left + twice


def prose(text):
    """The lines, those of code blocks empty."""
    is_code = False
    for line in text.splitlines():
        is_fence = line.strip().startswith("```")
        is_code ^= is_fence
        yield "" if is_code or is_fence else line


def anchors(text):
    """The anchors of headings, as code hosts spell them."""
    headings = [line.lstrip("#").strip().lower() for line in prose(text) if line.startswith("#")]
    allowed = ["".join(letter for letter in heading if letter.isalnum() or letter in " -_") for heading in headings]
    return {heading.replace(" ", "-") for heading in allowed}
