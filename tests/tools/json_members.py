#!/usr/bin/env python3
"""Check JSON documents against docs/formats: json_members.py FOLDER [--print] FILE...

A file holds one document, or one on each line. Each needs `format` and `version`. A heading of a
page of FOLDER names a format; each member of its documents must be in the first column of a table
below that heading, in an example there, or in the table of members that many documents have. A row
is the end of a path: `missing.why` describes `gpus.missing.why`. `*` is any name, and `failure.*`
all below it. --print prints the members instead.
"""
import glob
import json
import os
import re
import sys

COMMON = "members of many documents"


def read_page(path, formats):
    """Add to formats: of each format the patterns of its members."""
    at, example = [], None
    for line in open(path, encoding="utf-8"):
        if line.startswith("```"):
            if example is not None and at:
                rows = [r for text in example.split("\n\n") for r in members(json.loads(text))]
                for of in at:
                    of.extend(rows)
            example = "" if line.startswith("```json") and example is None else None
        elif example is not None:
            example += line
        elif line.startswith("#"):
            names = re.findall(r"`(heshare-[a-z-]+)`", line)
            names += [COMMON] if COMMON in line.lower() else []
            if names or line.startswith("# "):
                at = [formats.setdefault(f, []) for f in names]
        elif line.startswith("|"):
            for member in re.findall(r"`([^`]+)`", line.split("|")[1]):
                for rows in at:
                    rows.append(member)


def members(value, path=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from members(inner, (path + "." if path else "") + name)
    elif isinstance(value, list) and any(isinstance(inner, (dict, list)) for inner in value):
        for inner in value:
            yield from members(inner, path)
    else:
        yield path


def as_pattern(row):
    below = ".+" if row.endswith(".*") else "[^.]+"
    return re.compile(r"(.*\.)?" + re.escape(row).replace(r"\*", below) + "$")


def documents(path):
    text = open(path, encoding="utf-8").read()
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def main():
    names = [a for a in sys.argv[2:] if a != "--print"]
    formats, problems, seen = {COMMON: []}, [], {}
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.md"))):
        read_page(path, formats)
    common = formats.pop(COMMON)
    for name in names:
        for doc in documents(name):
            if not isinstance(doc, dict) or not isinstance(doc.get("version"), int):
                problems.append("%s: no document with format and version" % name)
                continue
            seen.setdefault(doc.get("format"), set()).update(members(doc))
    for form, paths in sorted(seen.items()):
        if "--print" in sys.argv:
            print(form, *sorted(paths), sep="\n  ")
            continue
        patterns = [as_pattern(row) for row in formats.get(form, []) + common]
        for path in sorted(paths - {"format", "version"}):
            if not any(p.match(path) for p in patterns):
                problems.append("%s: %s is not described" % (form, path))
    unseen = sorted(set(formats) - set(seen))
    if unseen and "--print" not in sys.argv:
        problems.append("described, but in no document of the test: %s" % ", ".join(unseen))
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
