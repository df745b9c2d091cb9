#!/usr/bin/env python3
"""summary.py BUILD - a line for each figure and table of the papers, as the programs of `make papers` found it.

Each paper writes BUILD/PAPER/summary.csv with the columns paper, item, state and note. STATES are the states. Exit
status 1 when a file has another state or column, or when there is none.
"""
import csv
import pathlib
import sys

STATES = (
    "within 10 points",  # reproduced, every percentage within 10 points of the paper's
    "at least",  # reproduced, the change at least as large as the paper's or in its direction
    "missed",
    "an input",  # what the paper gives is put in, so it is no result
    "needs hardware",
)
COLUMNS = ["paper", "item", "state", "note"]


def load(path):
    with path.open(encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    if reader.fieldnames != COLUMNS:
        raise ValueError(f"{path}: columns {reader.fieldnames}; they must be {COLUMNS}")
    for line, row in enumerate(rows, 2):
        if row["state"] not in STATES:
            raise ValueError(f"{path}:{line}: state \"{row['state']}\"; one of {', '.join(STATES)}")
    return rows


def save(path, rows):
    """@param rows  of COLUMNS"""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def main(build):
    paths = sorted(pathlib.Path(build).glob("*/summary.csv"))
    if not paths:
        raise ValueError(f"{build}: no paper has a summary.csv there")
    rows = [row for path in paths for row in load(path)]
    wide = {c: max(len(row[c]) for row in rows) for c in COLUMNS}
    for row in rows:
        print("  ".join(row[c].ljust(wide[c]) for c in COLUMNS).rstrip())
    counts = [(state, sum(row["state"] == state for row in rows)) for state in STATES]
    print(", ".join(f"{n} {state}" for state, n in counts if n))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except (OSError, ValueError) as e:
        sys.exit(f"summary: {e}")
