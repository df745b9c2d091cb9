#!/usr/bin/env python3
"""front_distinct [FRONT [OUTDIR]] - fronts of many jobs on GPUs that all differ, by auction, with the bound.

Instances are drawn at random: log-normal work, speeds and powers of four kinds with some scatter a GPU and more a job. The reference
point is what a spread by turns gives. Seconds are the processor's, of all threads together, without reading the tables.

FRONT    the program front (build-papers/papers/heshare/front)
OUTDIR   where matrices and front_distinct.json go (build-papers/heshare)
SHAPES   jobs x GPUs: "1000x64 3000x300 10000x1000"
OPTIONS  for front: "--algorithm auction"
"""
import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPEED = [1.0, 2.2, 3.5, 6.5]
POWER_W = [70, 200, 250, 400]


def draw(n, k, outdir):
    r = random.Random(n)
    kinds = [r.randrange(len(SPEED)) for _ in range(k)]
    speed = [SPEED[i] * r.uniform(0.95, 1.05) for i in kinds]
    power = [POWER_W[i] * r.uniform(0.9, 1.1) for i in kinds]
    queues, total = [[] for _ in range(k)], 0.0
    files = [outdir / f"distinct_{n}_{what}.csv" for what in ("time", "energy", "ref")]
    with open(files[0], "w", encoding="ascii") as time_csv, open(
        files[1], "w", encoding="ascii"
    ) as energy_csv:
        for i in range(n):
            work = r.lognormvariate(6.5, 1.2)
            time = [work / s * r.lognormvariate(0, 0.25) for s in speed]
            energy = [t * w * r.lognormvariate(-0.4, 0.15) for t, w in zip(time, power)]
            time_csv.write(",".join("%.6g" % t for t in time) + "\n")
            energy_csv.write(",".join("%.6g" % e for e in energy) + "\n")
            queues[i % k].append(time[i % k])
            total += energy[i % k]
    ends = sum(t * (len(q) - i) for q in queues for i, t in enumerate(sorted(q)))
    files[2].write_text(f"energy,completion\n{total!r},{ends / n!r}\n", encoding="ascii")
    return [str(f) for f in files]


def main(args):
    args = args + [None] * (2 - len(args))
    program = args[0] or str(ROOT / "build-papers/papers/heshare/front")
    outdir = pathlib.Path(args[1] or ROOT / "build-papers/heshare")
    options = os.environ.get("OPTIONS", "--algorithm auction").split()
    outdir.mkdir(parents=True, exist_ok=True)
    print(
        f"{'jobs':>8}{'GPUs':>7}{'evaluations':>13}{'trade-offs':>12}{'hypervolume':>13}{'bound':>11}{'of bound %':>12}"
        f"{'CPU s':>9}{'wall s':>9}"
    )
    rows = []
    for shape in os.environ.get("SHAPES", "1000x64 3000x300 10000x1000").split():
        n, k = (int(x) for x in shape.split("x"))
        time_csv, energy_csv, ref = draw(n, k, outdir)
        row = json.loads(
            subprocess.run(
                [program, time_csv, energy_csv, "--ref", ref, *options],
                check=True,
                stdout=subprocess.PIPE,
            ).stdout
        )
        row.update(jobs=n, gpus=k, trade_offs=len(row.pop("front")))
        print(
            f"{n:8}{k:7}{row['evaluations']:13}{row['trade_offs']:12}{row['hypervolume']:13.6f}{row['bound']:11.6f}"
            f"{100 * row['hypervolume'] / row['bound']:12.3f}{row['cpu_s']:9.2f}{row['wall_s']:9.2f}",
            flush=True,
        )
        rows.append(row)
    (outdir / "front_distinct.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="ascii")
    print(f"\n{outdir / 'front_distinct.json'}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as e:
        sys.exit(f"front_distinct: {' '.join(e.cmd[:2])} failed with status {e.returncode}")
