#!/usr/bin/env python3
"""test_book.py - a claim that is lost ends the book with exit status 1 and is named; others do not.

Also the tables of documents (tools/docs_table.py) and the lines of figures (papers/summary.py). In TAP.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import book

BOOK = pathlib.Path(book.__file__)


def results_where(claims, broken=None):
    """Results in which every claim but one is as its state says."""
    found = {}
    for c in claims:
        holds = (c["state"] == "reproduced") != (c is broken)
        step = 1 if holds == c["least"] else -1
        values = found.setdefault(
            c["where"], {"columns": ["figure"], "rows": [["row"]], "values": {}}
        )["values"]
        values[c["value"]] = c["bound"] + step
    return found


def run(*command, **more):
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **more
    )


def judge(folder, claims, broken=None, draws=3):
    path = pathlib.Path(folder) / "book.json"
    path.write_text(json.dumps({"draws": draws, "results": results_where(claims, broken)}))
    return run(BOOK, "--judge", path)


DOCUMENT = """# A page

<!-- table speeds, written by make -->

old

<!-- end -->

More text.
"""


def table_checks(folder):
    page, tool = pathlib.Path(folder) / "page.md", book.measure.ROOT / "tools/docs_table.py"
    page.write_text(DOCUMENT)

    def run_tool(text, name="speeds", write=""):
        return run(tool, page, name, input=text, env=os.environ | {"WRITE": write})

    stale = run_tool("| T4 | 100.0 |\n")
    written = run_tool("| T4 | 100.0 |\n| A100 | 1,200 |\n", write="1")
    same, near, far, word, longer, unknown = (
        run_tool(*args)
        for args in (
            ("| T4 | 100.0 |\n| A100 | 1,200 |",),
            ("| T4 | 101.9 |\n| A100 | 1,177 |",),
            ("| T4 | 102.2 |\n| A100 | 1,200 |",),
            ("| T5 | 100.0 |\n| A100 | 1,200 |",),
            ("| T4 | 100.0 |\n| A100 | 1,200 |\n| L4 | 1 |",),
            ("", "none"),
        )
    )
    return [
        ("a table that is not as printed ends with 1", stale.returncode == 1),
        ("... and the lines are shown", "old" in stale.stderr and "| T4 | 100.0 |" in stale.stderr),
        (
            "WRITE=1 writes the table and leaves the rest",
            written.returncode == 0
            and page.read_text() == DOCUMENT.replace("old", "| T4 | 100.0 |\n| A100 | 1,200 |"),
        ),
        (
            "the table as written, or off by rounding, ends with 0",
            not same.returncode + near.returncode,
        ),
        (
            "other numbers, words and lines end with 1",
            [r.returncode for r in (far, word, longer)] == [1, 1, 1],
        ),
        (
            "a table that is not there is named",
            unknown.returncode == 1 and "none" in unknown.stderr,
        ),
    ]


def summary_checks(folder, claims):
    build = pathlib.Path(folder) / "build"
    results = build / "heshare"
    results.mkdir(parents=True)
    stale = judge(results, claims, draws=10)
    tool = book.measure.ROOT / "papers/summary.py"
    whole = run(tool, build)
    lines = [line.split() for line in whole.stdout.splitlines()]
    (build / "other").mkdir()
    (build / "other/summary.csv").write_text("paper,item,state,note\nX,Figure 1,done,\n")
    wrong, none = run(tool, build), run(tool, pathlib.Path(folder) / "nothing")
    return [
        (
            "a book of ten draws that is not book.md ends with 1",
            stale.returncode == 1 and "book.md: table book is not as printed" in stale.stderr,
        ),
        (
            "each figure and table has a line with its state",
            whole.returncode == 0
            and [line[:3] for line in lines[:-1]]
            == [["HeShare", "Figure", str(i)] for i in range(1, 12)]
            + [["HeShare", "Table", i] for i in ("I", "II", "III", "IV", "V")],
        ),
        (
            "a figure with a missed claim is missed, an input is an input",
            any(line[1:4] == ["Figure", "11", "missed"] for line in lines)
            and any(line[1:5] == ["Table", "III", "an", "input"] for line in lines),
        ),
        ("an unknown state is refused", wrong.returncode == 1 and '"done"' in wrong.stderr),
        ("a build without results is refused", none.returncode == 1),
    ]


def main():
    claims = book.load_claims()
    lost, found = (
        next(c for c in claims if c["where"] == "fig6" and c["state"] == s) for s in book.STATES
    )
    with tempfile.TemporaryDirectory() as folder:
        as_documented, one_lost, one_found = (judge(folder, claims, c) for c in (None, lost, found))
        more = table_checks(folder) + summary_checks(folder, claims)
    values = [(c["where"], c["value"]) for c in claims]
    checks = [
        (
            "claims as documented end with 0",
            as_documented.returncode == 0 and "LOST" not in as_documented.stdout,
        ),
        ("a lost claim ends with 1", one_lost.returncode == 1),
        (
            "a lost claim is named",
            lost["claim"] in one_lost.stderr and "**LOST**" in one_lost.stdout,
        ),
        (
            "a claim that was missed and holds is shown",
            one_found.returncode == 0 and "documented as missed" in one_found.stdout,
        ),
        ("no value has two claims", len(set(values)) == len(values)),
        *more,
    ]
    print(f"1..{len(checks)}")
    for i, (what, ok) in enumerate(checks, 1):
        print(f"{'ok' if ok else 'not ok'} {i} - {what}")
    return 0 if all(ok for _, ok in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
