#!/usr/bin/env python3
"""The tour of the sources in ARCHITECTURE.md: tour.py [--write] [ROOT]

Every source file opens with "NAME - its role". The tour is these roles, a
table a folder, between the two marks in ARCHITECTURE.md. Without --write the
differences are printed and make exit status 1.
"""
import difflib
import os
import re
import sys

BEGIN = "<!-- tour: written by `make tour` from the comment each file opens with -->"
END = "<!-- end of the tour -->"
FOLDERS = ["include/heshare"] + ["src/" + name for name in (
    "base", "core", "trace", "model", "trees", "predict", "predict/baseline", "store", "gpu", "fair", "plan", "policy", "measure", "sim", "report", "cli")] + ["vgpu", "interpose"]


def with_rooms(root, folders):
    """Each folder, followed by the folders below it."""
    for folder in folders:
        for at, below, _ in os.walk(os.path.join(root, folder)):
            below.sort()
            yield os.path.relpath(at, root)


def role(path):
    """The role a file's opening comment gives, None when it has none."""
    with open(path, encoding="utf-8") as f:
        head = f.read(2000)
    found = re.match(r"/\*\s*(?:\*\s*)?%s - (.*?)(?:\*/|\n\s*\*\s*\n)" % re.escape(os.path.basename(path)),
                     head, re.S)
    if not found:
        return None
    text = re.sub(r"\s*\n\s*\*\s*", " ", found.group(1)).strip()
    text = re.sub(r"[;.:]? \(?[Ss]ee [\w/]+\.h\)?\.?$", "", text)
    return re.split(r"\.(?:\s|$)", text)[0].replace("|", "\\|")


def sources(folder):
    """Public headers, .c files, and private headers without a .c file of their name."""
    if not os.path.isdir(folder):
        return []
    names = sorted(os.listdir(folder))
    return [n for n in names if n.endswith(".c") or
            n.endswith(".h") and (folder.endswith("include/heshare") or n[:-2] + ".c" not in names)]


def table(root, folder):
    rows = []
    for name in sources(os.path.join(root, folder)):
        what = role(os.path.join(root, folder, name))
        if what is None:
            sys.exit("%s/%s:1: does not open with its role; begin with /* %s - what it is for */" % (folder, name, name))
        rows.append("| `%s` | %s |" % (name, what))
    return ["", "### " + folder, "", "| file | what it is |", "|---|---|"] + rows if rows else []


def main(args):
    write = args[:1] == ["--write"]
    rest = args[1:] if write else args
    root = rest[0] if rest else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    path = os.path.join(root, "ARCHITECTURE.md")
    with open(path, encoding="utf-8") as f:
        old = f.read()
    before, _, rest = old.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit("ARCHITECTURE.md:1: the marks of the tour are missing")
    lines = [line for folder in with_rooms(root, FOLDERS) for line in table(root, folder)]
    new = before + "\n".join([BEGIN] + lines + ["", END]) + after
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)
        return 0
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True),
                                               "ARCHITECTURE.md", "what `make tour` would write", n=0))
    return 1 if new != old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
