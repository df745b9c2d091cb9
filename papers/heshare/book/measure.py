"""What the HeShare paper's figures and tables show, found with this program: one function for each.

A result is {"columns": [...], "rows": [[...]]}, the table that the book prints, and "values": numbers by name, which
claims.csv refers to.
"""
import concurrent.futures
import csv
import itertools
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
os.environ["HESHARE_STORE"] = "/nonexistent"  # modelled GPUs alone
TYPES = {"T4": "T4", "V100": "V100-PCIe-32", "A100": "A100-SXM-80"}
PAPER_HARDWARE = {
    "T4": (40, 70, 16),
    "V100": (80, 250, 32),
    "A100": (108, 400, 80),
}  # Table III: SMs, W, GB
PAPERS = {
    "heshare:balanced": "Trade-off",
    "heshare:energy": "En-opt",
    "heshare:jct": "JCT-opt",
    "sched-only": "Sched-only",
    "morak": "Morak",
    "morak:least": "Morak on the least queued GPU",
    "morak:eft": "Morak by earliest finish",
    "muserve": "mu-Serve",
    "random": "Random",
}
RIVAL = "morak:edp-sjf"  # not in the paper
RIVALS = [
    RIVAL,
    "muserve:edp-sjf",
    "batchdvfs:edp-sjf",
    "mps-equal:edp-sjf",
    "static:edp-sjf",
    "static-equal:edp-sjf",
    "exclusive:edp-sjf",
    "pwr:shared",
]
OURS = ["heshare-tuned:balanced", "joint:balanced"]
SHOWN = [
    "bert-large",
    "gpt2",
    "transformer",
    "vgg19",
    "densenet201",
    "resnet152",
    "resnet50",
    "mobilenet",
]
FLEETS = {
    "4 T4": {"T4": 4},
    "4 T4, 2 V100": {"T4": 4, "V100": 2},
    "4 T4, 2 V100, 2 A100": {"T4": 4, "V100": 2, "A100": 2},
}
LOADS = ["low", "medium", "high"]
COUNTS = [20, 40, 60]


class Book:
    def __init__(self, heshare, folder, draws):
        self.heshare, self.folder, self.draws = heshare, pathlib.Path(folder), draws

    def run(self, *args):
        done = subprocess.run(
            [self.heshare, *map(str, args)],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return json.loads(done.stdout) if "--json" in args else done.stdout.decode()

    def model(self, gpu, *args):
        return self.run("model", "--gpu", TYPES[gpu], "--json", *args)

    def fleet(self, gpus):
        """A fleet's file. @param gpus  number of each type"""
        name = "-".join(f"{n}{t}" for t, n in gpus.items())
        path = self.folder / f"{name}.yaml"
        rows = "\n".join(
            f"  - {{ name: {t.lower()}, gpus: [ {{ type: {TYPES[t]}, count: {n} }} ] }}"
            for t, n in gpus.items()
        )
        path.write_text(f"name: book\nnodes:\n{rows}\n")
        return path

    def simulate(self, draw, policies, fleet, jobs=60, mix="all", more=()):
        """One draw of jobs that all wait, by policy: {label: row}."""
        path = self.folder / f"jobs-{jobs}-{mix}-{draw}.csv"
        if not path.exists():
            self.run(
                "trace",
                "helios-like",
                "--jobs",
                jobs,
                "--mix",
                mix,
                "--seed",
                draw,
                "--burst",
                "-o",
                path,
            )
        out = self.run(
            "simulate",
            path,
            "--fleet",
            fleet,
            "--policy",
            ",".join(policies),
            "--seeds",
            draw,
            "--threads",
            1,
            "--json",
            *more,
        )
        return {r["name"] + (":" + r["prefer"] if r["prefer"] else ""): r for r in out["policies"]}

    def simulate_all(self, cases):
        """@param cases  {name: arguments of simulate()} @return {name: row or rows}"""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return dict(zip(cases, pool.map(lambda how: self.simulate(*how), cases.values())))


def change(rows, policy, against, figure):
    """Mean change over draws, %."""
    return statistics.mean(100 * (r[policy][figure] / r[against][figure] - 1) for r in rows)


def strongest(rows):
    """The rival with the least product of mean energy and mean completion time over draws."""

    def product(rival):
        return statistics.mean(r[rival]["busy_energy_j"] for r in rows) * statistics.mean(
            r[rival]["avg_jct_s"] for r in rows
        )

    return min(RIVALS, key=product)


def solo(book):
    """Figures 1 and 2: every workload alone. The paper names no batch size: the claims take 8, columns show the ratio at others."""

    def one(case):
        workload, gpu, batch = case
        answer = book.model(gpu, workload, "--batch", batch)
        return answer["power_w"], answer["jobs"][0]["iteration_us"] / 1e3

    batches = (1, 8, 32)
    cases = list(itertools.product(SHOWN, TYPES, batches))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(cases, pool.map(one, cases)))

    def spread(workload, batch=8):
        joules = [found[workload, g, batch][0] * found[workload, g, batch][1] for g in TYPES]
        return max(joules) / min(joules)

    def slower(workload, batch=8):
        return found[workload, "T4", batch][1] / found[workload, "A100", batch][1]

    def columns(what, ratio):
        return [f"{what}, batch size 8", *TYPES, *(f"{ratio}, batch size {b}" for b in batches)]

    def rows(which, digits, ratio):
        return [
            [
                w,
                *(round(found[w, g, 8][which], digits) for g in TYPES),
                *(round(ratio(w, b), 2) for b in batches),
            ]
            for w in SHOWN
        ]

    power = {
        "columns": columns("W", "J, most / least"),
        "rows": rows(0, None, spread),
        "values": {
            f"energy_spread_{w}_over_mobilenet": spread(w) / spread("mobilenet")
            for w in ("bert-large", "densenet201")
        },
    }
    time = {
        "columns": columns("ms an iteration", "T4 / A100"),
        "rows": rows(1, 2, slower),
        "values": {
            "resnet50_t4_over_a100": slower("resnet50"),
            "bert_t4_over_a100": slower("bert-large"),
            "mobilenet_over_resnet50": slower("mobilenet") / slower("resnet50"),
        },
    }
    return power, time


def clocks(book):
    """Figure 3: ResNet-152 with batch sizes 16 and 32 by clock."""
    parts, rows, faster = [0.4, 0.6, 0.8, 1.0], [], []
    for gpu, batch in itertools.product(TYPES, (16, 32)):
        top = {"T4": 1590, "V100": 1380, "A100": 1410}[gpu]
        times = [
            book.model(gpu, "resnet152", "--batch", batch, "--clock", round(top * p))["jobs"][0][
                "iteration_us"
            ]
            / 1e3
            for p in parts
        ]
        rows.append([f"{gpu}, batch size {batch}", *(round(t, 1) for t in times)])
        faster.append(min(a / b for a, b in zip(times, times[1:])))
    return {
        "columns": ["ms an iteration, by part of the highest clock", *(f"{p:.0%}" for p in parts)],
        "rows": rows,
        "values": {"least_gain_of_a_higher_clock": min(faster)},
    }


def pairs(book):
    """Figure 4: pairs with half of the SMs each, against alone."""
    rows, slow = [], {g: [] for g in TYPES}
    for one, other in (
        ("resnet50", "vgg16"),
        ("densenet121", "resnet101"),
        ("mobilenetv2", "resnet18"),
        ("bert-large", "resnet50"),
        ("transformer", "gpt2"),
    ):
        row = [f"{one} + {other}"]
        for gpu in TYPES:
            alone = [
                book.model(gpu, w, "--batch", 8)["jobs"][0]["iteration_us"] for w in (one, other)
            ]
            both = [
                j["iteration_us"]
                for j in book.model(
                    gpu, one, "--batch", 8, "--share", 50, "--co-runners", f"{other}:8:50"
                )["jobs"]
            ]
            slow[gpu].append(statistics.mean(b / a for a, b in zip(alone, both)))
            row.append(round(slow[gpu][-1], 2))
        rows.append(row)
    mean = {g: statistics.mean(v) for g, v in slow.items()}
    rows.append(["mean", *(round(mean[g], 2) for g in TYPES)])
    return {
        "columns": ["time together / alone", *TYPES],
        "rows": rows,
        "values": {
            "least_slowdown": min(mean.values()),
            "t4_over_v100": mean["T4"] / mean["V100"],
            "v100_over_a100": mean["V100"] / mean["A100"],
        },
    }


def policies(book):
    """Figure 6: the paper's policies on its eight GPUs; strong rivals and ours below."""
    who = [*PAPERS, *RIVALS, *OURS]
    found = book.simulate_all(
        {d: (d, who, ROOT / "data/fleets/heshare.yaml") for d in range(1, book.draws + 1)}
    )
    rows = list(found.values())
    table = [
        [
            f"{PAPERS.get(w, 'not in the paper')}: {w}",
            round(statistics.mean(r[w]["busy_energy_j"] for r in rows) / 1e3),
            round(statistics.mean(r[w]["avg_jct_s"] for r in rows)),
        ]
        for w in who
    ]
    values = {
        f"{SHORT[f]} of {a} against {b}": change(rows, a, b, f)
        for a, b in itertools.permutations(who, 2)
        for f in SHORT
    }
    values |= {
        f"{SHORT[f]} of {a} against the strongest rival": change(rows, a, strongest(rows), f)
        for a in ["heshare:balanced", *OURS]
        for f in SHORT
    }
    return {"columns": ["policy", "busy kJ", "average JCT, s"], "rows": table, "values": values}


SHORT = {"busy_energy_j": "energy", "avg_jct_s": "JCT"}


def loads(book):
    """Figures 8 and 9: combinations of GPUs under three loads, 40 jobs."""
    who = [
        "heshare:balanced",
        "heshare:energy",
        "heshare:jct",
        "morak",
        "muserve",
        "sched-only",
        "random",
        RIVAL,
    ]
    cases = {
        (f, m, d): (d, who, book.fleet(gpus), 40, m)
        for f, gpus in FLEETS.items()
        for m in LOADS
        for d in range(1, max(2, book.draws // 3) + 1)
    }
    found = book.simulate_all(cases)
    out = []
    for figure, short in (("avg_jct_s", "JCT"), ("busy_energy_j", "energy")):
        rows = [
            [
                f"{f}, {m}",
                *(
                    round(
                        change(
                            [v for k, v in found.items() if k[:2] == (f, m)],
                            "heshare:balanced",
                            w,
                            figure,
                        )
                    )
                    for w in who[1:]
                ),
            ]
            for f in FLEETS
            for m in LOADS
        ]
        values = {
            f"{short} of heshare:balanced against {w}": change(
                found.values(), "heshare:balanced", w, figure
            )
            for w in who[1:]
        }
        for m in LOADS:
            values |= {
                f"{short} of heshare:balanced against {w}, {m}": change(
                    [v for k, v in found.items() if k[1] == m], "heshare:balanced", w, figure
                )
                for w in who[1:]
            }
        out.append(
            {
                "columns": [
                    f"{short} of Trade-off against, %",
                    *(PAPERS.get(w, w) for w in who[1:]),
                ],
                "rows": rows,
                "values": values,
            }
        )
    return out


def homogeneous(book):
    """Figures 10 and 11: eight GPUs of one type, 20 to 60 jobs."""
    against = ["morak", "muserve", "sched-only", "random", RIVAL]
    who = ["heshare:balanced", "heshare:energy", "heshare:jct", *against]
    draws = range(1, max(2, book.draws // 3) + 1)
    found = book.simulate_all(
        {(g, n, d): (d, who, book.fleet({g: 8}), n) for g in TYPES for n in COUNTS for d in draws}
    )
    out = []
    for figure, short, ours in (
        ("avg_jct_s", "JCT", ["heshare:jct", "heshare:balanced"]),
        ("busy_energy_j", "energy", ["heshare:energy", "heshare:balanced"]),
    ):
        pairs_of = list(itertools.product(ours, against))
        rows, values = [], {}
        for gpu in TYPES:
            for n in COUNTS:
                rows.append(
                    [
                        f"8 {gpu}, {n} jobs",
                        *(
                            round(
                                change(
                                    [v for k, v in found.items() if k[:2] == (gpu, n)], a, b, figure
                                )
                            )
                            for a, b in pairs_of
                        ),
                    ]
                )
            values |= {
                f"{short} of {a} against {b}, 8 {gpu}": change(
                    [v for k, v in found.items() if k[0] == gpu], a, b, figure
                )
                for a, b in pairs_of
            }
        values |= {
            f"{short} of {a} against {b}": change(found.values(), a, b, figure) for a, b in pairs_of
        }
        out.append(
            {
                "columns": [
                    f"{short}, %",
                    *(f"{PAPERS[a]} against {PAPERS.get(b, b)}" for a, b in pairs_of),
                ],
                "rows": rows,
                "values": values,
            }
        )
    return out


def sensitivities(book):
    """The main comparison where the model could be wrong: the A100 without TF32; other equations."""
    physics = book.folder / "fp32.yaml"
    head, tail = (ROOT / "data/physics.yaml").read_text().split("type: A100-SXM-80", 1)
    physics.write_text(
        head + "type: A100-SXM-80" + tail.replace("rate_tf32: 1024", "rate_tf32: 0", 1)
    )
    fleet = book.fleet(FLEETS["4 T4, 2 V100, 2 A100"])
    variants = {
        "as modelled": (),
        "A100 without TF32": ("--physics", physics),
        "second physics": ("--physics", "second"),
    }
    who = ["heshare:balanced", *OURS, "morak", *RIVALS]
    draws = range(1, max(2, book.draws // 3) + 1)
    found = book.simulate_all(
        {(v, d): (d, who, fleet, 60, "all", more) for v, more in variants.items() for d in draws}
    )
    of = {v: [r for k, r in found.items() if k[0] == v] for v in variants}
    rival = {v: strongest(rows) for v, rows in of.items()}
    pairs_of = [
        ("heshare:balanced", "morak"),
        *((a, "the strongest rival") for a in ["heshare:balanced", *OURS]),
        ("joint:balanced", "heshare:balanced"),
    ]
    values = {
        f"{SHORT[f]} of {a} against {b}, {v}": change(
            of[v], a, rival[v] if b == "the strongest rival" else b, f
        )
        for v in variants
        for a, b in pairs_of
        for f in SHORT
    }
    rows = [["the strongest rival", *rival.values()]]
    rows += [
        [
            f"{a} against {b}",
            *(
                "%+.0f, %+.0f"
                % tuple(values[f"{s} of {a} against {b}, {v}"] for s in ("energy", "JCT"))
                for v in variants
            ),
        ]
        for a, b in pairs_of
    ]
    return {"columns": ["energy, JCT, %", *variants], "rows": rows, "values": values}


def fronts(outdir):
    """Figure 7, from fronts.py's results."""
    found = json.loads((outdir / "front.json").read_text())
    runs = found["algorithms"]["paper"] | found["own rate"]["paper"]
    runs |= {
        "exact": found["exact"]["paper"],
        "HeShare, with shares and clocks": found["final"],
    }
    volume = {row: r["hypervolume"] for row, r in runs.items()}
    ours = volume["HeShare's GA, as many generations"]
    return {
        "columns": ["algorithm", "hypervolume, % of exact", "trade-offs"],
        "rows": [
            [row, round(100 * v / volume["exact"], 1), len(runs[row]["front"])]
            for row, v in volume.items()
        ],
        "values": {
            f"hypervolume over {rival}": ours / volume[rival]
            for rival in ("NSGA-II", "SPEA2", "MOEA/D")
        }
        | {"final over stage 1": volume["HeShare, with shares and clocks"] / ours},
    }


def learners(outdir):
    """Table V, from table5.py's results."""
    found = json.loads((outdir / "table5.json").read_text())
    errors = found["errors_pct"]
    rows = [
        [
            model,
            *(found["paper"].get(model) or ("-", "-")),
            *(round(v, 2) for v in errors["as the paper"][model]["time"]),
            *(round(v, 2) for v in errors["over a baseline"][model]["time"]),
        ]
        for model in errors["as the paper"]
    ]
    best = min(e["time"][0] for e in errors["as the paper"].values())
    return {
        "columns": [
            "model",
            "paper: absolute %",
            "relative %",
            "Table II's features: absolute %",
            "relative %",
            "over our baseline: absolute %",
            "relative %",
        ],
        "rows": rows,
        "values": {
            "rf_absolute_pct": errors["as the paper"]["rf"]["time"][0],
            "rf_over_best": errors["as the paper"]["rf"]["time"][0] / best,
            "baseline_rf_absolute_pct": errors["over a baseline"]["rf"]["time"][0],
            "baseline_rf_relative_pct": errors["over a baseline"]["rf"]["time"][1],
        },
    }


def abilities(book):
    """Table I: what plans do. A policy knows types apart if heavy jobs go to other types than light ones do."""
    heavy, light = {"bert-large", "gpt2", "transformer"}, {
        "mobilenet",
        "mobilenetv2",
        "resnet18",
        "resnet34",
        "resnet50",
    }
    who = ["pwr", "muserve", "morak", "heshare:balanced"]
    defaults = {g["gpu_type"]: g["clock_default_mhz"] for g in book.run("gpus", "--types", "--json")["gpu_types"]}
    rows, values, jobs = [], {}, []
    for draw in range(1, 6):
        path = book.folder / f"apart-{draw}.csv"
        book.simulate(draw, who, ROOT / "data/fleets/heshare.yaml", more=("--per-job", path))
        with path.open(encoding="utf-8") as file:
            jobs += csv.DictReader(file)
    for label in who:
        mine = [j for j in jobs if j["policy"] == label.split(":")[0]]

        def on_a100(workloads, mine=mine):
            of_kind = [j for j in mine if j["workload"] in workloads]
            return sum(j["gpu_type"] == TYPES["A100"] for j in of_kind) / len(of_kind)

        slowed = sum(int(j["clock_mhz"]) < defaults[j["gpu_type"]] for j in mine)
        shared = sum(bool(j["co_runners"]) for j in mine)
        apart = on_a100(heavy) - on_a100(light)
        rows.append([label, slowed, shared, f"{on_a100(heavy):.0%}, {on_a100(light):.0%}"])
        values |= {f"{label}: slowed": slowed, f"{label}: shared": shared, f"{label}: apart": apart}
    return {
        "columns": [
            "policy",
            "of 300 jobs: below the default clock",
            "share a GPU",
            "heavy, light jobs on an A100",
        ],
        "rows": rows,
        "values": values,
    }


def features(book):
    """Table II: how many features our predictor is given, by the same heads."""
    del book
    lines = [
        line
        for line in (ROOT / "src/predict/features.c").read_text().splitlines()
        if line.startswith('\t{ "')
    ]
    names = [line.split('"')[1] for line in lines]
    counts = {
        "GPU": sum(name.startswith("gpu_") for name in names),
        "task": sum(name.startswith("task_") or name == "baseline_off_gpu" for name in names),
        "share and clock": sum(name in ("sm_share", "clock", "relative_clock") for name in names),
    }
    counts["co-runners"] = len(names) - sum(counts.values())
    paper = {"task": 4, "share and clock": 2, "co-runners": 4, "GPU": 4}
    return {
        "columns": ["features of", "paper", "ours"],
        "rows": [[head, n, counts[head]] for head, n in paper.items()],
        "values": {
            "least more than the paper's": min(counts[head] - n for head, n in paper.items())
        },
    }


def hardware(book):
    """Table III."""
    types = {g["gpu_type"]: g for g in book.run("gpus", "--types", "--json")["gpu_types"]}
    rows, same = [], 0
    for gpu, (sms, watts, gb) in PAPER_HARDWARE.items():
        ours = types[TYPES[gpu]]
        rows.append(
            [
                f"{gpu} ({TYPES[gpu]})",
                sms,
                ours["sm_count"],
                watts,
                ours["power_limit_mw"] // 1000,
                gb,
                round(ours["memory_mib"] / 1024),
            ]
        )
        same += (sms, watts) == (ours["sm_count"], ours["power_limit_mw"] // 1000)
    return {
        "columns": ["GPU", "SMs: paper", "ours", "W: paper", "ours", "GB: paper", "ours, GiB"],
        "rows": rows,
        "values": {"types as in the paper": same},
    }


def workloads(book):
    """Table IV: the paper's fifteen, with what their model was fitted on."""
    listed = [w for w in book.run("model", "--list", "--json")["workloads"] if w.get("testbed")]
    return {
        "columns": ["workload", "load", "fitted on"],
        "rows": [[w["workload"], w["load"], w["origin"]] for w in listed],
        "values": {
            "workloads": len(listed),
            "fitted": sum(w["origin"] != "derived" for w in listed),
        },
    }
