#!/usr/bin/env python3
"""Find words that tools/words.md replaced: check-words.py [ROOT] [FOLDER...]

Prints FILE:LINE: the word and what to write. Exit status 1 when one is found.
Its table is the only list: old words in backticks, the new word, and text in which an old word is
allowed.
"""
import os
import re
import sys

FOLDERS = [
    "include",
    "src",
    "lab",
    "interpose",
    "papers",
    "examples",
    "bench",
    "tools",
    "tests",
    "docs",
    "data",
    "Makefile",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "meson.build",
]
WORDS = "tools/words.md"
NOT_CHECKED = {WORDS, "tools/check-words.py"}
TEXTS = (".c", ".h", ".py", ".sh", ".bats", ".md", ".build", ".yaml", ".txt", ".R")
IN_BACKTICKS = re.compile(r"`([^`]+)`")


def table(root):
    """Rows of the table: a pattern of the old words, the new word, a pattern of what is allowed or None."""
    rows = []
    for line in open(os.path.join(root, WORDS), encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) < 2 or not cells[0].startswith("`"):
            continue
        old = "|".join(re.escape(w) for w in IN_BACKTICKS.findall(cells[0]))
        allowed = (
            "|".join(re.escape(w) for w in IN_BACKTICKS.findall(cells[2])) if len(cells) > 2 else ""
        )
        rows.append(
            (
                re.compile(r"(?<![A-Za-z0-9])(%s)(?![A-Za-z0-9])" % old, re.I),
                cells[1],
                re.compile(allowed) if allowed else None,
            )
        )
    return rows


def files(root, folders):
    for folder in folders:
        path = os.path.join(root, folder)
        if os.path.isfile(path):
            yield folder
        for at, _, names in sorted(os.walk(path)):
            for name in sorted(names):
                full = os.path.join(at, name)
                if (
                    name.endswith(TEXTS)
                    or os.access(full, os.X_OK)
                    and "." not in name
                    or name == "Makefile"
                ):
                    yield os.path.relpath(full, root)


def check(root, name, rows):
    problems = 0
    for number, line in enumerate(
        open(os.path.join(root, name), encoding="utf-8", errors="replace"), 1
    ):
        for old, new, allowed in rows:
            found = old.search(allowed.sub("", line) if allowed else line)
            if found:
                print('%s:%d: "%s"; write: %s' % (name, number, found.group(1), new))
                problems += 1
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    rows = table(root)
    if not rows:
        sys.exit(WORDS + ": the table is missing")
    names = sorted(set(files(root, sys.argv[2:] or FOLDERS)) - NOT_CHECKED)
    sys.exit(1 if sum(check(root, name, rows) for name in names) else 0)


if __name__ == "__main__":
    main()
