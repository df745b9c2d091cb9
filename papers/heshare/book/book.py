#!/usr/bin/env python3
"""book.py [--judge RESULTS] [HESHARE [OUTDIR]] - HeShare's figures and tables, the paper's numbers and ours.

Figures 1 to 4 and 6 to 11 and Tables I to V of the paper, on modelled GPUs, then what changes where the model could be
wrong. claims.csv lists the claims with what our documents say of each. Exit status 1 if one that they call reproduced no
longer is, or if book.md is not as printed. Fig. 7 and Table V are read from what fronts.py and table5.py left in OUTDIR;
without it they are left out.

HESHARE  the program ($HESHARE, else build/src/cli/heshare)
OUTDIR   where book.json, book.md, summary.csv and the draws of jobs go (build-papers/heshare)
--judge  no measurements: these results (book.json); their summary goes into the same folder
WRITE    1: write book.md of this folder, too
DRAWS    of jobs for Fig. 6 (10); a third as many for each setting of Figures 8 to 11 and for each variant of the model.
         With another number book.md is not compared.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import measure

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(measure.ROOT / "tools"), str(measure.ROOT / "papers")]
import docs_table
import summary

PAGE = HERE.parent / "book.md"
WITHIN = 10  # points
CLAIMS = HERE / "claims.csv"
STATES = ("reproduced", "missed")
TITLES = {
    "fig1": "Figure 1: power alone",
    "fig2": "Figure 2: time of an iteration alone",
    "fig3": "Figure 3: time by clock, ResNet-152",
    "fig4": "Figure 4: two jobs with half of the SMs each",
    "fig6": "Figure 6: policies on 4 T4, 2 V100 and 2 A100, 60 jobs at once",
    "fig7": "Figure 7: fronts of 60 jobs on 8 GPUs",
    "fig8": "Figure 8: completion time by GPUs and load",
    "fig9": "Figure 9: energy by GPUs and load",
    "fig10": "Figure 10: completion time on eight GPUs of one type",
    "fig11": "Figure 11: energy on eight GPUs of one type",
    "table1": "Table I: what policies use",
    "table2": "Table II: features",
    "table3": "Table III: GPUs",
    "table4": "Table IV: workloads",
    "table5": "Table V: errors of learners, time of an iteration",
    "model": "Where the model could be wrong",
}
NOTES = {
    "fig6": "The paper places Morak's jobs at random. A stronger rival has the same sharing and clocks, but puts a job "
    "on the least queued GPU or where it ends first. Against these the paper's margins are not all reached.",
    "fig7": "On the paper's jobs and GPUs, the algorithms at the paper's settings are close to each other: the GA's "
    "lead is as small as the claims below show. Shares and clocks, which only HeShare sets, bring far more.",
    "fig9": "The paper contradicts itself here. By this figure Trade-off needs less energy than En-opt at every load. "
    "By Fig. 11 En-opt always has the least energy, and by section V-A it optimises nothing else. Both cannot hold of "
    "fronts from which En-opt takes the end of least energy, so these three claims are missed.",
}
INPUTS = {"table3": "the GPUs of the testbed", "table4": "the workloads of the testbed"}
DRAWING = ("Figure 5", "an input", "a drawing of the framework")


def load_claims():
    with CLAIMS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for line, c in enumerate(rows, 2):
        if (
            c["where"] not in TITLES
            or c["state"] not in STATES
            or c["limit"][:2] not in ("<=", ">=")
        ):
            raise ValueError(
                f"{CLAIMS}: line {line}: figure, state or limit is not one of those known: {c}"
            )
        c["least"], c["bound"] = c["limit"][0] == ">", float(c["limit"][2:])
    return rows


def points_off(c, ours):
    """How far a percentage is from the paper's, in points; None: the paper gives no percentage."""
    try:
        paper = float(c["paper"])
    except ValueError:
        return None
    return abs(ours - paper) if c["claim"].endswith("%") else None


def judge(claims, results):
    """Every claim whose figure was measured: with our value, whether it holds, and how far it is off."""
    judged = []
    for c in claims:
        if c["where"] not in results:
            continue
        ours = results[c["where"]]["values"][c["value"]]
        judged.append(
            c
            | {
                "ours": ours,
                "holds": ours >= c["bound"] if c["least"] else ours <= c["bound"],
                "off": points_off(c, ours),
            }
        )
    return judged


def gather(book, outdir):
    def say(what):
        print(f"book: {what}", file=sys.stderr, flush=True)

    results = {}
    say("Tables I to IV, Figures 1 to 4")
    for name, found in (
        ("table1", measure.abilities),
        ("table2", measure.features),
        ("table3", measure.hardware),
        ("table4", measure.workloads),
        ("fig3", measure.clocks),
        ("fig4", measure.pairs),
    ):
        results[name] = found(book)
    results["fig1"], results["fig2"] = measure.solo(book)
    say("Figure 6")
    results["fig6"] = measure.policies(book)
    say("Figures 8 and 9")
    results["fig8"], results["fig9"] = measure.loads(book)
    say("Figures 10 and 11")
    results["fig10"], results["fig11"] = measure.homogeneous(book)
    say("where the model could be wrong")
    results["model"] = measure.sensitivities(book)
    for name, file, found in (
        ("fig7", "front.json", measure.fronts),
        ("table5", "table5.json", measure.learners),
    ):
        if (outdir / file).exists():
            results[name] = found(outdir)
        else:
            say(f"{outdir / file} is not there: {TITLES[name]} is left out")
    return results


def number(v):
    return f"{v:.2f}".rstrip("0").rstrip(".") if isinstance(v, float) else str(v)


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(number(v) for v in line) + " |" for line in lines)


def verdict(c):
    if c["holds"]:
        return "yes" if c["state"] == "reproduced" else "yes, documented as missed"
    return "missed" if c["state"] == "missed" else "**LOST**"


def near(c):
    return "" if c["off"] is None else "yes" if c["off"] <= WITHIN else "no"


def summarise(judged):
    """A line for each figure and table: that of its least favourable claim."""
    rows = []
    for name, title in TITLES.items():
        claims = [c for c in judged if c["where"] == name and c["paper"] != "not tried"]
        if not claims:
            continue
        held, off = [c["holds"] for c in claims], [c["off"] for c in claims if c["off"] is not None]
        state = (
            "missed"
            if not all(held)
            else "within 10 points"
            if off and max(off) <= WITHIN
            else "at least"
        )
        note = f"{sum(held)} of {len(held)} claims hold"
        if off:
            note += f", {sum(v <= WITHIN for v in off)} of {len(off)} percentages within 10 points"
        if name in INPUTS:
            state, note = "an input", INPUTS[name]
        rows.append(("HeShare", title.partition(":")[0], state, note))
    rows.append(("HeShare", *DRAWING))

    def place(row):
        kind, number = row[1].split()
        return kind, int(number) if kind == "Figure" else ["I", "II", "III", "IV", "V"].index(
            number
        )

    return sorted(rows, key=place)


def page(results, judged, draws):
    def count(ours):
        of = [c["holds"] for c in judged if (c["paper"] == "not tried") == ours]
        return f"{sum(of)} of {len(of)}"

    off = [c["off"] for c in judged if c["off"] is not None]
    head = (
        f"Written by `WRITE=1 make papers` (book.py). **Modelled GPUs**, not the authors'. Fig. 6 has {draws} draws of 60 jobs, the "
        f"settings of Figures 8 to 11 and the variants of the model {max(2, draws // 3)} each. Changes are means over draws; "
        f"energy is that of busy GPUs. {count(False)} claims of the paper hold: the change is at least the paper's. "
        f"{sum(v <= WITHIN for v in off)} of {len(off)} percentages are within {WITHIN} points of the paper's. Of our own "
        f"claims {count(True)} hold. Limits are the paper's; where it gives no number, ours, some of them set when the results were known. Not in the paper: rivals "
        f"whose jobs are placed well, shortest first (`edp-sjf`); those of `{measure.RIVAL}` may overlap. The strongest rival is "
        "the one with the least product of mean energy and mean completion time, found for each variant of the model."
    )
    parts = [
        "# HeShare's figures and tables, the paper's numbers and ours",
        "\n".join(textwrap.wrap(head, 100)),
    ]
    for name, title in TITLES.items():
        if name not in results:
            continue
        claims = [c for c in judged if c["where"] == name]
        parts.append(f"## {title}")
        if name in NOTES:
            parts.append("\n".join(textwrap.wrap(NOTES[name], 100)))
        parts.append(table(results[name]["columns"], results[name]["rows"]))
        if claims:
            parts.append(
                table(
                    ["claim", "the paper", "ours", "at least", "within 10 points"],
                    [[c["claim"], c["paper"], c["ours"], verdict(c), near(c)] for c in claims],
                )
            )
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--judge", type=pathlib.Path)
    parser.add_argument(
        "heshare",
        nargs="?",
        default=os.environ.get("HESHARE") or str(measure.ROOT / "build/src/cli/heshare"),
    )
    parser.add_argument(
        "outdir", nargs="?", type=pathlib.Path, default=measure.ROOT / "build-papers/heshare"
    )
    args = parser.parse_args()
    if args.help:
        print(__doc__)
        return 0
    claims = load_claims()
    draws = int(os.environ.get("DRAWS", "10"))
    if args.judge:
        recorded = json.loads(args.judge.read_text())
        draws, results = recorded["draws"], recorded["results"]
    else:
        folder = args.outdir / "book"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("jobs-*.csv"):
            old.unlink()
        results = gather(measure.Book(args.heshare, folder, draws), args.outdir)
        (args.outdir / "book.json").write_text(
            json.dumps({"draws": draws, "results": results}, indent=1) + "\n"
        )
    judged = judge(claims, results)
    text = page(results, judged, draws)
    print(text)
    summary.save(
        (args.judge.parent if args.judge else args.outdir) / "summary.csv", summarise(judged)
    )
    if not args.judge:
        (args.outdir / "book.md").write_text(text)
    whole = draws == 10 and set(results) == set(TITLES)
    stale = whole and not docs_table.check(PAGE, "book", text)
    lost = [c for c in judged if not c["holds"] and c["state"] == "reproduced"]
    for c in lost:
        print(
            f"book: no longer reproduced: {TITLES[c['where']]}: {c['claim']}: {number(c['ours'])}, not {c['limit']}",
            file=sys.stderr,
        )
    return 1 if lost or stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as e:
        sys.exit(f"book: {' '.join(str(a) for a in e.cmd[:3])} failed with status {e.returncode}")
