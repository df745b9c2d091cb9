#!/usr/bin/env python3
"""front_types [FRONT [OUTDIR]] - fronts of 50 exact weights of many jobs on many GPUs of four types, one thread.

Jobs are drawn at random (log-normal work; each job takes to each type in its own way), written as matrices of a
column a type, and given to `front --algorithm exact --counts`. The reference point is a tenth beyond
the ends of the front. Shown: seconds, memory, trade-offs, hypervolume, the bound that no front exceeds, and
how much of the bound is missed at most. Where there are few enough GPUs the matrices are also written with a
column a GPU: equal columns are found, and the front must be the same.

FRONT    the program front (build-papers/papers/heshare/front)
OUTDIR   where matrices and front_types.json go (build-papers/heshare)
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPEED = [1.0, 2.2, 3.5, 6.5]
POWER_W = [70, 200, 250, 400]
SHAPES = [(1000, 100), (10000, 1000)]  # jobs, GPUs
WIDE = 1000000  # cells up to which matrices are written with a column a GPU as well
BEYOND = 1.1
WEIGHTS = "50"


def draw(n, seed):
    r = random.Random(seed)
    times, energies = [], []
    for _ in range(n):
        work = r.lognormvariate(6.5, 1.2)
        t = [work / s * r.lognormvariate(0, 0.35) for s in SPEED]
        times.append(["%.6g" % x for x in t])
        energies.append(
            ["%.6g" % (x * p * r.lognormvariate(-0.4, 0.25)) for x, p in zip(t, POWER_W)]
        )
    return times, energies


def write(path, rows, each=1):
    with open(path, "w", encoding="ascii") as f:
        for row in rows:
            f.write(",".join(x for x in row for _ in range(each)) + "\n")
    return str(path)


def front(program, time_csv, energy_csv, *more):
    """The JSON of a run, with the seconds and the greatest memory (MiB) of its process."""
    began = time.monotonic()
    with subprocess.Popen(
        [program, time_csv, energy_csv, "--algorithm", "exact", "--threads", "1", *more],
        stdout=subprocess.PIPE,
    ) as p:
        out = p.stdout.read()
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit(f"front_types: front ended with status {p.returncode}")
    result = json.loads(out)
    result.update(
        total_s=time.monotonic() - began,
        cpu_s=used.ru_utime + used.ru_stime,
        rss_mib=used.ru_maxrss / 1024,
    )
    return result


def reference(program, files, counts, path):
    ends = front(program, *files, "--counts", counts, "--weights", "2")["front"]
    path.write_text(
        f"energy_ref,avgC_ref\n{BEYOND * ends[-1][0]!r},{BEYOND * ends[0][1]!r}\n", encoding="ascii"
    )
    return str(path)


def measure(program, n, k, outdir):
    times, energies = draw(n, n)
    each = k // len(SPEED)
    counts = ",".join([str(each)] * len(SPEED))
    files = write(outdir / f"types_{n}_time.csv", times), write(
        outdir / f"types_{n}_energy.csv", energies
    )
    ref = reference(program, files, counts, outdir / f"types_{n}_ref.csv")
    row = front(program, *files, "--counts", counts, "--ref", ref, "--weights", WEIGHTS)
    if n * k <= WIDE:
        wide = (
            write(outdir / f"types_{n}_wide_time.csv", times, each),
            write(outdir / f"types_{n}_wide_energy.csv", energies, each),
        )
        if front(program, *wide, "--ref", ref, "--weights", WEIGHTS)["front"] != row["front"]:
            sys.exit(f"front_types: {n} jobs: columns of equal GPUs give another front than counts")
    row.update(
        jobs=n,
        gpus=k,
        trade_offs=len(row.pop("front")),
        missed_pct=100 * (1 - row["hypervolume"] / row["bound"]),
    )
    return row


def main(args):
    args = args + [None] * (2 - len(args))
    program = args[0] or str(ROOT / "build-papers/papers/heshare/front")
    outdir = pathlib.Path(args[1] or ROOT / "build-papers/heshare")
    outdir.mkdir(parents=True, exist_ok=True)
    print(
        f"{'jobs':>8}{'GPUs':>8}{'weights':>9}{'trade-offs':>12}{'hypervolume':>13}{'bound':>11}{'missed %':>10}"
        f"{'CPU s':>9}{'wall s':>9}{'MiB':>7}"
    )
    rows = []
    for n, k in SHAPES:
        row = measure(program, n, k, outdir)
        print(
            f"{n:8}{k:8}{row['evaluations']:9}{row['trade_offs']:12}{row['hypervolume']:13.6f}{row['bound']:11.6f}"
            f"{row['missed_pct']:10.3f}{row['cpu_s']:9.2f}{row['total_s']:9.2f}{row['rss_mib']:7.0f}",
            flush=True,
        )
        rows.append(row)
    (outdir / "front_types.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="ascii")
    print(f"\n{outdir / 'front_types.json'}")


if __name__ == "__main__":
    main(sys.argv[1:])
