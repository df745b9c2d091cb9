#!/usr/bin/env python3
"""Check the links of Markdown files to files and to headings of the tree: check-links.py FILE..."""
import functools
import os
import re
import sys


def text_of(name):
    with open(name, encoding="utf-8") as f:
        return re.sub(r"(?ms)^```.*?^```$", "", f.read())


@functools.lru_cache(None)
def anchors(name):
    headings = re.findall(r"(?m)^#+ (.*)", text_of(name))
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", h) for h in headings]
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in plain}


def problems_of(name):
    for link in re.findall(r"\]\(\s*([^)\s]+)", text_of(name)):
        path, _, anchor = link.partition("#")
        to = os.path.join(os.path.dirname(name), path) if path else name
        if link.startswith(("http:", "https:")):
            continue
        if not os.path.exists(to):
            yield "%s: the link %s leads nowhere" % (name, link)
        elif anchor and to.endswith(".md") and anchor not in anchors(to):
            yield "%s: the link %s names no heading" % (name, link)


found = [p for name in sys.argv[1:] for p in problems_of(name)]
print(*found, sep="\n", end="\n" if found else "")
sys.exit(1 if found else 0)
