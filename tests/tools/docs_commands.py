#!/usr/bin/env python3
"""Check that documents name commands and options that are there: docs_commands.py HESHARE FILE...

A command is what follows "heshare" in code, up to "--", a pipe or the end of the line. Its options
must be in its help.
"""
import functools
import re
import subprocess
import sys

HESHARE = sys.argv[1]


@functools.lru_cache(None)
def help_of(*command):
    """Help of a command, or "" if there is none."""
    run = subprocess.run([HESHARE, *command, "--help"], capture_output=True, text=True, check=False)
    return run.stdout if run.returncode == 0 else ""


def problems_of(name):
    text = open(name, encoding="utf-8").read().replace("\\\n", " ")
    code = re.findall(r"(?m)^    .*|`[^`]+`", re.sub(r"(?ms)^```.*?^```$", "", text))
    for line in code:
        for rest in re.findall(r"(?<![\w./-])heshare +([a-z].*)", line):
            words = re.split(r" -- | --$|[|;&>]", rest)[0].strip("` ").split()
            sub = words[1] if len(words) > 1 and re.fullmatch("[a-z]+", words[1]) else None
            text = sub and help_of(words[0], sub) or help_of(words[0])
            if not text and line.startswith(" ") and re.fullmatch("[a-z]+", words[0]):
                yield "%s: no command: heshare %s" % (name, words[0])
            for option in re.findall(r"(?<![\w'-])--[a-z][a-z-]*", re.sub("'[^']*'", "", " ".join(words))):
                if text and not re.search(re.escape(option) + r"(?![\w-])", text):
                    yield "%s: heshare %s has no option %s" % (name, words[0], option)


found = [p for name in sys.argv[2:] for p in problems_of(name)]
print(*found, sep="\n", end="\n" if found else "")
sys.exit(1 if found else 0)
