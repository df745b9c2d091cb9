#!/usr/bin/env python3
"""pagmo.py [FRONT [OUTDIR]] - our NSGA-II, SPEA2, MOEA/D and HeShare's GA and pagmo's, in one run.

pagmo's NSGA-II on integers, at its own mutation rate and at ours (two jobs on average), and its MOEA/D, on the same
matrices by papers/heshare/pagmo_front.cpp, which is compiled here. Every round runs each program once on one thread, one
after the other, so that whatever else the machine does hits all alike. A time is the processor's, of a run less that
of the same run with no generations, which has read the same files; per evaluation, the least of the rounds. SPEA2
and HeShare's GA, which pagmo has not, are set against its NSGA-II.

FRONT    the program front (build-papers/papers/heshare/front)
OUTDIR   where peers_front.json goes (build-papers/heshare)
HES_BENCH  as for fronts.py
SEEDS    "1 2 3 4 5"; a round each
"""
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import fronts

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GENERATIONS = 500
JUDGED = 50 * 501
# Row, program, arguments, the row it is set against.
ROWS = [
    ("pagmo NSGA-II", "pagmo", ["nsga2", "own"], None),
    ("pagmo NSGA-II, two jobs moved", "pagmo", ["nsga2", "two"], None),
    ("pagmo MOEA/D", "pagmo", ["moead", "own"], None),
    ("NSGA-II", "ours", ["nsga2"], "pagmo NSGA-II"),
    ("SPEA2", "ours", ["spea2"], "pagmo NSGA-II"),
    ("MOEA/D", "ours", ["moead"], "pagmo MOEA/D"),
    (
        "HeShare's GA, as many evaluations",
        "ours",
        ["heshare", "--evaluations", str(JUDGED)],
        "pagmo NSGA-II",
    ),
    ("HeShare's GA, as many generations", "ours", ["heshare"], "pagmo NSGA-II"),
]


def compile_pagmo(folder):
    out = folder / "pagmo_front"
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-O3",
            "-DNDEBUG",
            "-o",
            str(out),
            str(ROOT / "papers/heshare/pagmo_front.cpp"),
            "-lpagmo",
            "-lpthread",
            "-ltbb",
            "-lboost_serialization",
        ],
        check=True,
    )
    return str(out)


def plain(path, folder):
    """pagmo's driver reads no .gz."""
    if not path.endswith(".gz"):
        return path
    out = folder / pathlib.Path(path).stem
    out.write_bytes(gzip.open(path).read())
    return str(out)


def command(programs, problem, row, seed, generations):
    _, program, args, _ = row
    if program == "pagmo":
        rate = 2 / problem.jobs if args[1] == "two" else 0
        return [
            programs["pagmo"],
            *problem.files,
            problem.ref,
            args[0],
            str(seed),
            str(generations),
            str(rate),
        ]
    return [
        programs["ours"],
        *problem.files,
        "--ref",
        problem.ref,
        "--threads",
        "1",
        "--seed",
        str(seed),
        "--generations",
        str(generations),
        "--algorithm",
        *args,
    ]


def run(args):
    """What a program said, and its seconds on a processor."""
    with subprocess.Popen(args, stdout=subprocess.PIPE) as p:
        out = p.stdout.read()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise subprocess.CalledProcessError(p.returncode, args)
    return json.loads(out), usage.ru_utime + usage.ru_stime


def measure(programs, problem, seeds):
    found = {row[0]: [] for row in ROWS}
    for seed in seeds:
        for row in ROWS:
            start, start_s = run(command(programs, problem, row, seed, 0))
            end, end_s = run(command(programs, problem, row, seed, GENERATIONS))
            evaluations = end["evaluations"] - start["evaluations"]
            found[row[0]].append(
                {
                    "hypervolume": end["hypervolume"],
                    "evaluations": end["evaluations"],
                    "cpu_s": end_s - start_s,
                    "us": 1e6 * (end_s - start_s) / evaluations,
                }
            )
    return {
        name: {
            "hypervolume": statistics.median(r["hypervolume"] for r in runs),
            "evaluations": statistics.median(r["evaluations"] for r in runs),
            "cpu_s": min(r["cpu_s"] for r in runs),
            "us": min(r["us"] for r in runs),
        }
        for name, runs in found.items()
    }


def show(problem, rows):
    print(
        f"\n| n={problem.jobs}, k={problem.gpus} | hypervolume | evaluations | s | us an evaluation | of pagmo's |"
    )
    print("|---|---|---|---|---|---|")
    for name, _, _, against in ROWS:
        r = rows[name]
        part = f"{r['us'] / rows[against]['us']:.2f}" if against else ""
        print(
            f"| {name} | {r['hypervolume']:.4f} | {r['evaluations']:,.0f} | {r['cpu_s']:.3f} | {r['us']:.2f} | {part} |"
        )


def main(args):
    args = args + [None] * (2 - len(args))
    program = args[0] or str(ROOT / "build-papers/papers/heshare/front")
    outdir = pathlib.Path(args[1] or ROOT / "build-papers/heshare")
    seeds = [int(s) for s in os.environ.get("SEEDS", "1 2 3 4 5").split()]
    outdir.mkdir(parents=True, exist_ok=True)
    subprocess.run([ROOT / "tools/deps.sh", "pagmo"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        programs = {"ours": program, "pagmo": compile_pagmo(folder)}
        result = {}
        for name in ("n60_k8", "n1000_k64"):
            problem = fronts.given(name) or fronts.drawn(name, folder)
            problem.files = [plain(f, folder) for f in problem.files]
            result[name] = measure(programs, problem, seeds)
            show(problem, result[name])
    (outdir / "peers_front.json").write_text(json.dumps(result, indent=2) + "\n")
    print(f"\n{outdir / 'peers_front.json'}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as e:
        sys.exit(
            f"pagmo.py: {' '.join(str(a) for a in e.cmd[:3])} failed with status {e.returncode}"
        )
