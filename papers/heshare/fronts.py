#!/usr/bin/env python3
"""fronts.py [FRONT [OUTDIR]] - Fig. 7 of the HeShare paper, every algorithm's front, the exact one and joint's.

Two assignment problems. "paper" is the paper's: 60 jobs of its Table IV on its 4 T4, 2 V100 of 250 W and 2 A100, by the
GPU model; there the front after stage 2, with shares and clocks, is on top, as in the paper. The other is drawn: 1000
jobs on 64 GPUs that all differ. Each algorithm runs with five seeds on one thread; medians. First all at the paper's
mutation rate of 0.1, then the rivals at theirs. "As many evaluations" is what one population of 50 over 500 generations
judges, 25,050; HeShare's GA evaluates more than it judges, since its migrating jobs compare all queues
(src/plan/assign/operators.h), so it is shown twice: cut off at as many evaluations, and at as many generations. Then
with each of its three improvements left out, alone and together, and with each form of recovery, a part of the third.
Seconds are the processor's, the least of the seeds.

FRONT    the program front (build-papers/papers/heshare/front)
OUTDIR   where front.json, front.md and the drawing, fronts.svg, go (build-papers/heshare)
HESHARE  the program heshare (build/src/cli/heshare)
HES_BENCH  folder with front/NAME_time.csv[.gz], NAME_energy.csv[.gz], NAME_ref.csv of NAME n1000_k64; without it that
         problem is drawn here
SEEDS    "1 2 3 4 5"
WRITE    1: write the table of README.md, too, which must be as printed here else
"""
import csv
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ["HESHARE_STORE"] = "/nonexistent"  # modelled GPUs alone
sys.path.insert(0, str(ROOT / "tools"))
import docs_table

JUDGED = 50 * 501
SIZES = {"paper": (60, 8), "n60_k8": (60, 8), "n1000_k64": (1000, 64)}
SHOWN = ["paper", "n1000_k64"]
TESTBED = {"T4": 4, "V100-PCIe-32": 2, "A100-SXM-80": 2}  # Table III
EQUAL = ["--evaluations", str(JUDGED)]
# Row, algorithm, options; these are drawn.
ROWS = [
    ("NSGA-II", "nsga2", ["--mutation", "0.1"]),
    ("SPEA2", "spea2", ["--mutation", "0.1"]),
    ("MOEA/D", "moead", ["--mutation", "0.1"]),
    ("HeShare's GA, as many evaluations", "heshare", EQUAL),
    ("HeShare's GA, as many generations", "heshare", []),
]
OWN_RATE = [
    ("NSGA-II, two jobs moved", "nsga2", []),
    ("SPEA2, two jobs moved", "spea2", []),
    ("MOEA/D, two jobs moved", "moead", []),
]
STAGE_2 = "HeShare, with shares and clocks"
BY_TIME = "recovery by run time"
WITHOUT = [("all three", [])] + [
    (f"without {what}", ["--without", names])
    for what, names in (
        ("initialisation", "init"),
        ("elitism", "crossover"),
        ("priority mutation", "mutation"),
        ("recovery", "recovery"),
        ("any: NSGA-II", "init,crossover,mutation"),
    )
]
EXACT = {"n1000_k64": ["--tolerance", "1e-4"]}
BOUNDED = ["exact", "joint"]  # not random: one run


class Problem:
    def __init__(self, name, time, energy, ref):
        self.name, self.files, self.ref = name, [str(time), str(energy)], str(ref)
        self.options, self.usage, self.final = [], [], []
        self.jobs, self.gpus = SIZES[name]
        last = pathlib.Path(ref).read_text().split()[-1].split(",")
        self.energy_ref, self.completion_ref = (float(v) for v in last)


def given(name):
    base = pathlib.Path(os.environ.get("HES_BENCH", "none")) / "front"
    for end in ("", ".gz"):
        files = [
            base / f"{name}_time.csv{end}",
            base / f"{name}_energy.csv{end}",
            base / f"{name}_ref.csv",
        ]
        if all(f.exists() for f in files):
            return Problem(name, *files)
    return None


def by_turns(time, energy, k):
    """The reference: total energy and mean completion time of jobs that are spread over the GPUs by turns."""
    ends = 0.0
    for g in range(k):
        queue = sorted(row[g] for row in time[g::k])
        ends += sum(t * (len(queue) - i) for i, t in enumerate(queue))
    return [sum(row[i % k] for i, row in enumerate(energy)), ends / len(time)]


def save(name, folder, files):
    """@return the paths"""
    for what, rows in files.items():
        text = "\n".join(",".join(f"{v:.6f}" for v in row) for row in rows) + "\n"
        (folder / f"{name}_{what}.csv").write_text(text)
    return [folder / f"{name}_{what}.csv" for what in files]


def drawn(name, folder):
    """Jobs of log-normal work on GPUs that differ in speed and power; the reference is what a spread by turns gives."""
    n, k = SIZES[name]
    r = random.Random(n)
    speed = [r.choice((1, 2.2, 4)) * r.uniform(0.95, 1.05) for _ in range(k)]
    time = [
        [w / s * math.exp(r.gauss(0, 0.25)) for s in speed]
        for w in (math.exp(r.gauss(6, 1)) for _ in range(n))
    ]
    energy = [
        [t * s**0.8 * 60 * math.exp(r.gauss(0, 0.15)) for t, s in zip(row, speed)] for row in time
    ]
    return Problem(
        name,
        *save(name, folder, {"time": time, "energy": energy, "ref": [by_turns(time, energy, k)]}),
    )


def testbed(heshare, folder):
    """The paper's jobs on its GPUs, each alone, by the GPU model; what each uses, and the front after stage 2."""
    jobs, fleet, front = (folder / name for name in ("jobs.csv", "fleet.yaml", "final.csv"))
    fleet.write_text(
        "name: paper\nnodes:\n"
        + "".join(
            f"  - {{ name: n{i}, gpus: [ {{ type: {t}, count: {n} }} ] }}\n"
            for i, (t, n) in enumerate(TESTBED.items())
        )
    )

    def command(*args):
        return subprocess.run(
            [heshare, *map(str, args)],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ).stdout

    n, k = SIZES["paper"]
    command("trace", "helios-like", "--jobs", n, "--burst", "--seed", 1, "-o", jobs)
    command("plan", jobs, "--fleet", fleet, "--policy", "heshare", "--front", front, "-o", "-")
    memory = {g["gpu_type"]: g["memory_mib"] for g in json.loads(command("gpus", "--types", "--json"))["gpu_types"]}
    alone, time, energy, usage = {}, [], [], []
    with jobs.open(encoding="utf-8") as file:
        for job in csv.DictReader(file):
            rows = []
            for gpu in TESTBED:
                key = (job["workload"], job["batch_size"], gpu)
                if key not in alone:
                    alone[key] = json.loads(
                        command("model", key[0], "--batch", key[1], "--gpu", gpu, "--json")
                    )
                one = alone[key]["jobs"][0]
                seconds = one["iteration_us"] * 1e-6 * int(job["iterations"])
                part = int(job["memory_mib"]) / memory[gpu]
                joules = alone[key]["power_w"] * seconds
                rows.append((seconds, joules, (one["sm_util"], one["dram_util"], part)))
            time.append([r[0] for r in rows])
            energy.append([r[1] for r in rows])
            usage.append([v for r in rows for v in r[2]])
    counts = list(TESTBED.values())
    by_gpu = [
        [[v for v, c in zip(row, counts) for _ in range(c)] for row in rows]
        for rows in (time, energy)
    ]
    p = Problem(
        "paper",
        *save("paper", folder, {"time": time, "energy": energy, "ref": [by_turns(*by_gpu, k)]}),
    )
    (path,) = save("paper", folder, {"usage": usage})
    p.options = ["--counts", ",".join(map(str, counts))]
    p.usage = ["--usage", str(path)]
    with front.open(encoding="utf-8") as file:
        p.final = [[float(r["busy_energy_j"]), float(r["avg_jct_s"])] for r in csv.DictReader(file)]
    return p


def hypervolume(front, problem):
    """Of [energy, completion] by rising energy: the part of the box up to the reference."""
    area, least = 0.0, problem.completion_ref
    for e, t in sorted(front):
        if e < problem.energy_ref and t < least:
            area += (problem.energy_ref - e) * (least - t)
            least = t
    return area / (problem.energy_ref * problem.completion_ref)


def run(program, problem, algorithm, options, seed):
    return json.loads(
        subprocess.run(
            [
                program,
                *problem.files,
                "--ref",
                problem.ref,
                "--algorithm",
                algorithm,
                "--threads",
                "1",
                "--seed",
                str(seed),
                *problem.options,
                *options,
            ],
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    )


def median_of(runs):
    """Of runs over seeds: medians, the least time, and the run of the median hypervolume."""
    middle = sorted(runs, key=lambda r: r["hypervolume"])[len(runs) // 2]
    return {
        "hypervolume": statistics.median(r["hypervolume"] for r in runs),
        "least": min(r["hypervolume"] for r in runs),
        "most": max(r["hypervolume"] for r in runs),
        "cpu_s": min(r["cpu_s"] for r in runs),
        "evaluations": statistics.median(r["evaluations"] for r in runs),
        "front": middle["front"],
    }


def measure(program, problem, rows, seeds):
    def use(row, algorithm):
        return problem.usage if algorithm == "heshare" and row != BY_TIME else []

    return {
        row: median_of(
            [
                run(program, problem, algorithm, [*use(row, algorithm), *options], seed)
                for seed in seeds
            ]
        )
        for row, algorithm, options in rows
    }


def table(head, problems, results, exact):
    out = [
        f"| {head} | "
        + " | ".join(
            f"n={p.jobs}, k={p.gpus}: hypervolume | of exact | evaluations | s" for p in problems
        )
        + " |",
        "|---|" + "---|" * 4 * len(problems),
    ]
    for row in results[problems[0].name]:
        cells = []
        for p in problems:
            r = results[p.name].get(row)
            if not r:
                cells += ["-"] * 4
                continue
            cells += [
                f"{r['hypervolume']:.4f} ({r['least']:.4f} to {r['most']:.4f})",
                f"{100 * r['hypervolume'] / exact[p.name]['hypervolume']:.1f} %",
                f"{r['evaluations']:,.0f}",
                f"{r['cpu_s']:.3f}",
            ]
        out.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def bounded_table(problems, bounded):
    out = [
        "| algorithm | "
        + " | ".join(
            f"n={p.jobs}, k={p.gpus}: hypervolume | no front above | trade-offs | s"
            for p in problems
        )
        + " |",
        "|---|" + "---|" * 4 * len(problems),
    ]
    for row, runs in bounded.items():
        cells = [
            f"{r['hypervolume']:.6f} | {r['bound']:.6f} | {len(r['front']):,} | {r['cpu_s']:.3f}"
            for r in (runs[p.name] for p in problems)
        ]
        out.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(out)


SETUP = """set terminal svg size 1040,480 font "DejaVu Sans,12" background "#ffffff"
set output "{out}"
set multiplot layout 1,2 margins 0.065,0.985,0.115,0.92 spacing 0.075
set grid lc rgb "#e2e7ec"
set border 3 lc rgb "#66727f"
set tics textcolor rgb "#33414e" scale 0 nomirror
set key top right textcolor rgb "#33414e" samplen 1.5
set offsets graph 0.02, graph 0.02, graph 0.42, graph 0.03
set ylabel "average completion, part of the reference's" textcolor rgb "#33414e" offset 1
set xlabel "total energy, part of the reference's" textcolor rgb "#33414e"
"""
STYLES = [
    ("NSGA-II", "NSGA-II", 4, "#5b9bd8"),
    ("SPEA2", "SPEA2", 6, "#e8954a"),
    ("MOEA/D", "MOEA/D", 8, "#a98fdb"),
    ("HeShare's GA, as many evaluations", "HeShare's GA, as many evaluations", 7, "#e07aa9"),
    ("HeShare's GA, as many generations", "HeShare's GA, as many generations", 7, "#b3125f"),
]


def figure(problems, results, bounded, out):
    data, script = [], SETUP.format(out=out)
    for p in problems:
        plots = []

        def block(front):
            points = [(e / p.energy_ref, t / p.completion_ref) for e, t in front]
            data.append(
                f"$d{len(data)} << EOD\n" + "\n".join("%.6g %.6g" % q for q in points) + "\nEOD\n"
            )
            return f"$d{len(data) - 1}"

        for row, title, kind, color in STYLES:
            plots.append(
                f"{block(results[p.name][row]['front'])} with points pt {kind} ps 0.5 lc rgb '{color}' "
                f'title "{title}"'
            )
        for row, style in (
            ("joint", "lines lw 3.5 lc rgb '#2f9e6e'"),
            ("exact", "points pt 7 ps 0.25 lc rgb '#1b2530'"),
        ):
            plots.append(f"{block(bounded[row][p.name]['front'])} with {style} title '{row}'")
        if p.final:
            plots.append(
                f"{block(p.final)} with linespoints lw 1.5 pt 5 ps 0.4 lc rgb '#c8102e' title \"{STAGE_2}\""
            )
        script += (
            f'set title "{p.jobs} jobs, {p.gpus} GPUs" textcolor rgb "#1d2730" font ",13"\n'
            "plot " + ", ".join(plots) + "\nunset key\n"
        )
    subprocess.run(
        ["gnuplot", "-"], input=("".join(data) + script + "unset multiplot\n").encode(), check=True
    )


def main(args):
    args = args + [None] * (2 - len(args))
    program = args[0] or str(ROOT / "build-papers/papers/heshare/front")
    outdir = pathlib.Path(args[1] or ROOT / "build-papers/heshare")
    seeds = [int(s) for s in os.environ.get("SEEDS", "1 2 3 4 5").split()]
    outdir.mkdir(parents=True, exist_ok=True)
    subprocess.run([ROOT / "tools/deps.sh", "demo"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        heshare = os.environ.get("HESHARE") or str(ROOT / "build/src/cli/heshare")
        problems = [testbed(heshare, folder)]
        problems += [given(name) or drawn(name, folder) for name in SHOWN[1:]]
        bounded = {
            row: {p.name: run(program, p, row, EXACT.get(p.name, []), 1) for p in problems}
            for row in BOUNDED
        }
        exact = bounded["exact"]
        rows = {p.name: measure(program, p, ROWS, seeds) for p in problems}
        rate = {p.name: measure(program, p, OWN_RATE, seeds) for p in problems}
        without = {
            end: {
                p.name: measure(
                    program,
                    p,
                    [
                        (what, "heshare", o + options)
                        for what, o in WITHOUT + ([(BY_TIME, [])] if p.usage else [])
                    ],
                    seeds,
                )
                for p in problems
            }
            for end, options in (("evaluations", EQUAL), ("generations", []))
        }
    final = {"front": problems[0].final, "hypervolume": hypervolume(problems[0].final, problems[0])}
    text = (
        "\n\n".join(
            (
                bounded_table(problems, bounded),
                f"{STAGE_2}: {final['hypervolume']:.4f}, "
                f"{100 * final['hypervolume'] / exact['paper']['hypervolume']:.1f} % of exact, {len(final['front'])} trade-offs",
                table("mutation rate 0.1", problems, rows, exact),
                table("rivals at their own mutation rate", problems, rate, exact),
                *(
                    table(f"HeShare's GA, as many {end}", problems, without[end], exact)
                    for end in without
                ),
            )
        )
        + "\n"
    )
    print(text)
    (outdir / "front.md").write_text(text)
    (outdir / "front.json").write_text(
        json.dumps(
            {
                "seeds": seeds,
                **bounded,
                "algorithms": rows,
                "own rate": rate,
                "without": without,
                "final": final,
            }
        )
        + "\n"
    )
    figure(problems, rows, bounded, outdir / "fronts.svg")
    print(f"{outdir / 'front.md'}, {outdir / 'front.json'}, {outdir / 'fronts.svg'}")
    if os.environ.get("HES_BENCH") or len(seeds) != 5:
        return 0  # README.md shows another problem or other seeds
    readme = readme_table({**rows, "more": rate}, without["generations"], bounded, final)
    return 0 if docs_table.check(ROOT / "papers/heshare/README.md", "fronts", readme) else 1


def readme_table(rows, without, bounded, final):
    """Hypervolumes as parts of exact's."""

    def cell(name, r):
        part = 100 * r["hypervolume"] / bounded["exact"][name]["hypervolume"]
        return f"{part:.1f} % | {len(r['front'])}"

    lines = [
        "| algorithm | the paper's 60 jobs, 8 GPUs: of exact | trade-offs | 1000 jobs, 64 GPUs: of exact | trade-offs |",
        "|---|---|---|---|---|",
    ]
    groups = [
        {n: rows[n] for n in SHOWN},
        rows["more"],
        {
            n: {f"GA, {row}": r for row, r in without[n].items() if row != "all three"}
            for n in SHOWN
        },
        {n: {"joint": bounded["joint"][n]} for n in SHOWN},
        {"paper": {STAGE_2: final}, "n1000_k64": {}},
    ]
    for group in groups:
        for row in group["paper"]:
            found = [(n, group[n].get(row)) for n in SHOWN]
            lines.append(
                f"| {row} | " + " | ".join(cell(n, r) if r else "- | -" for n, r in found) + " |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as e:
        sys.exit(f"front: {' '.join(str(a) for a in e.cmd[:3])} failed with status {e.returncode}")
