#!/usr/bin/env python3
"""Check JSON documents against docs/formats: json_members.py FOLDER [--print] FILE...

A file holds one document, or one on each line. Each needs `format` and `version`. A heading of a
page of FOLDER names a format; each member of its documents must be in the first column of a table
below that heading, in an example there, or in the table of members that many documents have. A row
is the end of a path: `missing.why` describes `gpus.missing.why`. `*` stands for names that the data
chooses, below the members of CHOSEN_BY_DATA. --print prints the members instead; --some leaves out
that every format is there.
"""
import glob
import json
import os
import re
import sys

COMMON = "members of many documents"
# Names below these are GPU types and policies.
CHOSEN_BY_DATA = ("static_clocks_mhz", "power_limits_w", "dominated_by")


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
                    rows.append(member.replace("[]", ""))


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
    return re.compile(r"(.*\.)?" + re.escape(row).replace(r"\*", "[^.]+") + "$")


def hides(row):
    """Whether the row describes names that the program chooses, without naming them."""
    names = row.split(".")
    return any(n == "*" and names[i - 1] not in CHOSEN_BY_DATA for i, n in enumerate(names))


def documents(path):
    text = open(path, encoding="utf-8").read()
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def main():
    names = [a for a in sys.argv[2:] if not a.startswith("--")]
    formats, problems, seen = {COMMON: []}, [], {}
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.md"))):
        read_page(path, formats)
    common = formats.pop(COMMON)
    for form, rows in {COMMON: common, **formats}.items():
        problems += ["%s: `%s` names no member" % (form, r) for r in rows if hides(r)]
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
    if unseen and not {"--print", "--some"} & set(sys.argv):
        problems.append("described, but in no document of the test: %s" % ", ".join(unseen))
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
