#!/usr/bin/env python3
"""docs_table.py DOCUMENT NAME - hold a table of a document against what a command printed, or write it there.

A table in a document that a command prints stands between two lines:

    <!-- table NAME, written by COMMAND -->
    <!-- end -->

The text on standard input is the table. With WRITE=1 in the environment it is written there. Else the table must be
the same: exit status 1, with the first line that differs. Numbers may differ by 2 % or by one in the last digit that
is shown, since processors and libraries of mathematics round differently. Other scripts import check().
"""
import os
import pathlib
import re
import sys

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


def find(text, name):
    """The part of a document before a table, the table, and the part after it."""
    found = re.search(
        rf"\A(.*?<!-- table {re.escape(name)}, written by [^\n]* -->\n)(.*?)(<!-- end -->\n.*)\Z",
        text,
        re.DOTALL,
    )
    if not found:
        raise ValueError(f'no line "<!-- table {name}, written by COMMAND -->" with an end')
    return found.groups()


def close(a, b):
    x, y = (float(v.replace(",", "")) for v in (a, b))
    digit = 10.0 ** -len(a.partition(".")[2])
    return abs(x - y) <= max(0.02 * abs(x), digit) * (1 + 1e-9)


def same(a, b):
    """Two lines, of which numbers may differ a little, and blanks."""
    x, y = NUMBER.findall(a), NUMBER.findall(b)
    words = [" ".join(NUMBER.sub("0", line).split()) for line in (a, b)]
    return words[0] == words[1] and len(x) == len(y) and all(map(close, x, y))


def difference(document, printed):
    """The first lines that differ, or None."""
    a, b = document.strip().splitlines(), printed.strip().splitlines()
    for x, y in zip(a, b):
        if not same(x, y):
            return x, y
    if len(a) != len(b):
        longer = a if len(a) > len(b) else b
        line = longer[min(len(a), len(b))]
        return (line, "") if longer is a else ("", line)
    return None


def check(path, name, printed):
    """@return whether the table is as printed; with WRITE=1 it is written, and then is."""
    path = pathlib.Path(path)
    text = path.read_text(encoding="utf-8")
    before, table, after = find(text, name)
    if os.environ.get("WRITE") == "1":
        path.write_text(f"{before}\n{printed.strip()}\n\n{after}", encoding="utf-8")
        return True
    differs = difference(table, printed)
    if differs:
        print(
            f"{path}: table {name} is not as printed; WRITE=1 writes it\n"
            f"  in the document: {differs[0]}\n  printed:         {differs[1]}",
            file=sys.stderr,
        )
    return not differs


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        sys.exit(0 if check(sys.argv[1], sys.argv[2], sys.stdin.read()) else 1)
    except (OSError, ValueError) as e:
        sys.exit(f"docs_table: {sys.argv[1]}: {e}")
