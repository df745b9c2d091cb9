#!/usr/bin/env python3
"""test_book.py - a claim that is lost ends the book with exit status 1 and is named; others do not. In TAP."""
import json
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


def judge(folder, claims, broken=None):
    path = pathlib.Path(folder) / "book.json"
    path.write_text(json.dumps({"draws": 3, "results": results_where(claims, broken)}))
    return subprocess.run(
        [BOOK, "--judge", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def main():
    claims = book.load_claims()
    lost, found = (
        next(c for c in claims if c["where"] == "fig6" and c["state"] == s) for s in book.STATES
    )
    with tempfile.TemporaryDirectory() as folder:
        as_documented, one_lost, one_found = (judge(folder, claims, c) for c in (None, lost, found))
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
    ]
    print(f"1..{len(checks)}")
    for i, (what, ok) in enumerate(checks, 1):
        print(f"{'ok' if ok else 'not ok'} {i} - {what}")
    return 0 if all(ok for _, ok in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
