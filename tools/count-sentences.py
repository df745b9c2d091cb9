#!/usr/bin/env python3
"""Count words, sentences and sentences of more than 25 words: count-sentences.py [--list] [FILE...]

Without files: the documents, but for papers, results and the changelog. "-" is a help text on
standard input. Prints a row for each file and their sum; --list prints the long sentences instead,
and ends with status 1 if there are any. Code, tables, headings and what a command wrote are no
sentences; the words of tables count.
"""
import glob
import os
import re
import sys

MOST = 25
LEFT_OUT = ("papers/", "docs/results/", "CHANGELOG.md", "bench/", "data/", "tests/", "tools/")


def documents():
    found = sorted(set(glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True)))
    return [name for name in found if not name.startswith(LEFT_OUT)]


def paragraphs(lines, is_help):
    """Texts that sentences do not cross, as (line number, text)."""
    text, start, fenced = [], 0, False
    for number, line in enumerate(lines, 1):
        fenced ^= line.startswith(("```", "<!-- table", "<!-- end"))
        code = fenced or line.startswith(("```", "    ", "|", "#", "!", "<!--"))
        if is_help:  # examples, and rows of options whose text is further to the right
            code = bool(re.match(r"\s*heshare ", line))
            line = re.sub(r"^  +(-\S.*?  +|\s*(?=\S))", "", line) if line.startswith(" ") else line
            new = not line.strip() or bool(re.match(r" {2,10}\S", lines[number - 1]))
        else:
            new = bool(re.match(r"\s*([-*]|\d+\.) ", line))
        if code or new or not line.strip():
            if text:
                yield start, " ".join(text)
            text = []
        if not code and line.strip():
            if not text:
                start = number
            text.append(line.strip())
    if text:
        yield start, " ".join(text)


def sentences(text):
    text = re.sub(r"`[^`]*`", lambda m: re.sub(r"[.!?]", "", m.group()), text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^([-*]|\d+\.) ", "", text)
    return [s for s in re.split(r"(?<=[.!?])[)*\"]*\s+(?=[^a-z]|heshare|[a-z-]+:)", text) if s.strip()]


def words(text):
    return [w for w in text.split() if re.search(r"\w", w)]


def main():
    names = [a for a in sys.argv[1:] if a != "--list"]
    listed = "--list" in sys.argv
    sums = [0, 0, 0]
    for name in names or documents():
        lines = sys.stdin.readlines() if name == "-" else open(name, encoding="utf-8").readlines()
        n = [sum(len(words(line)) for line in lines), 0, 0]
        for start, text in paragraphs(lines, name == "-"):
            for sentence in sentences(text):
                n[1] += 1
                if len(words(sentence)) > MOST:
                    n[2] += 1
                    if listed:
                        print("%s:%d: %d words: %s" % (name, start, len(words(sentence)), sentence))
        sums = [a + b for a, b in zip(sums, n)]
        if not listed:
            print("%6d words, %4d sentences, %4.1f %% long  %s" % (n[0], n[1], 100 * n[2] / max(n[1], 1), name))
    if listed:
        sys.exit(1 if sums[2] else 0)
    print("%6d words, %4d sentences, %4.1f %% of more than %d words" % (*sums[:2], 100 * sums[2] / max(sums[1], 1), MOST))


if __name__ == "__main__":
    main()
