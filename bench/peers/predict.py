#!/usr/bin/python3
"""predict.py [HESHARE [FOREST]] - our regressors beside scikit-learn's, XGBoost's and ranger's, in one run.

Every round fits each learner once, one after the other, then asks all in turn, in this process, so that whatever
else the machine does hits all alike; of times the least is shown, of errors the mean over the rounds' seeds. With
one thread fits and batches are timed by the processor time they take, else by the clock; single rows by the clock.
Learners have 100 trees an output and a model an output; joint ones have both outputs in one forest. A row is asked
for with every output; the table "one output" asks one forest alone.

HESHARE  the program ($HESHARE, else build/src/cli/heshare); its library is libheshare.a, two folders above
FOREST   folder of train_1000.csv, train_10000.csv.gz and test_10000.csv.gz (else forest below $HES_BENCH or
         ../shared/bench); where there is none, that part is skipped with a sentence
ROUNDS   rounds at 1000 rows (5); at 10,000 rows there are two fifths of them, at least one
DATA     "forest own": which rows; own are drawn from the modelled boards: every feature of a predictor, and
         the logarithms of time and power over the baseline's, in %
SIZES    "1000 10000": how many rows to fit on
THREADS  "1 2": with how many threads
"""
import ctypes
import gzip
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import weakref

import numpy
import sklearn
import sklearn.ensemble
import xgboost

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "build/peers/lightgbm"))
try:
    import lightgbm
except ImportError:  # Debian has no package of it; bench/peers/lightgbm.sh builds one where npm and cmake are
    lightgbm = None

TREES = 100
ROW_S = 0.3  # of single rows asked for in a round
TURNS = 5    # in a round, of all learners, to ask all rows
TURN_S = 0.3 # of passes in a turn, one at least
RANGER = ROOT / "bench/peers/ranger.R"
OURS = {"rf": "random forest", "et": "extra trees", "gbdt": "boosting"}


class Rows:
    """A table: features, the two outputs, the files that hold it."""

    def __init__(self, name, size, fit_file, test_file, targets):
        self.name, self.size, self.fit_file, self.test_file, self.targets = name, size, fit_file, test_file, targets
        self.x, self.y = read(fit_file)
        self.test_x, self.test_y = read(test_file)


def read(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as f:
        table = numpy.loadtxt(f, delimiter=",", skiprows=1, ndmin=2)
    return table[:, :-2].astype(numpy.float32), table[:, -2:]


def seconds(f, threads=None):
    """By the clock; with one thread by the processor."""
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    result = f()
    return clock() - start, result


def one_row_us(rows, ask):
    """Median of single calls over distinct rows in turn."""
    taken, end, i = [], time.perf_counter() + ROW_S, 0
    ask(rows[0:1])
    while time.perf_counter() < end:
        i = (i + 1) % len(rows)
        taken.append(seconds(lambda: ask(rows[i:i + 1]))[0])
    return 1e6 * statistics.median(taken)


def measured(fit_s, row_us, ask, rows):
    """What every learner is told of; ask: rows to both outputs, or the one there is."""
    p = ask(rows.test_x).reshape(len(rows.test_x), -1)
    return {"fit_s": fit_s, "row_us": row_us, "ask": ask,
            "mae": [float(abs(p[:, k] - rows.test_y[:, k]).mean()) for k in range(p.shape[1])]}


def time_batches(learned, rows, threads):
    """Put rows_per_s in place of ask: the quickest of passes, all learners in turn, each for about as long."""
    least = {name: math.inf for name, r in learned.items() if "ask" in r}
    for _ in range(TURNS):
        for name in least:
            end = time.perf_counter() + TURN_S
            while True:
                least[name] = min(least[name], seconds(lambda: learned[name]["ask"](rows.test_x), threads)[0])
                if time.perf_counter() >= end:
                    break
    for name, s in least.items():
        del learned[name]["ask"]
        learned[name]["rows_per_s"] = len(rows.test_x) / s


def sk_forest(kind, joint, outputs):
    def learner(rows, threads, seed):
        make = {"rf": sklearn.ensemble.RandomForestRegressor, "et": sklearn.ensemble.ExtraTreesRegressor}[kind]
        new = lambda: make(n_estimators=TREES, n_jobs=threads, random_state=seed)
        if joint:
            y = (rows.y - rows.y.mean(0)) / rows.y.std(0)  # a joint split weighs outputs by their scale
            fit_s, model = seconds(lambda: new().fit(rows.x, y), threads)
            ask = lambda x: model.predict(x) * rows.y.std(0) + rows.y.mean(0)
        else:
            fit_s, models = seconds(lambda: [new().fit(rows.x, rows.y[:, k]) for k in range(outputs)], threads)
            ask = lambda x: numpy.stack([m.predict(x) for m in models], 1)
        return measured(fit_s, one_row_us(rows.test_x, ask), ask, rows)
    return learner


def sk_trees_by_hand(rows, threads, seed):
    """A forest of scikit-learn without its front door: the compiled walk of every tree, called in a loop."""
    make = sklearn.ensemble.RandomForestRegressor
    fit_s, model = seconds(lambda: make(n_estimators=TREES, n_jobs=threads, random_state=seed)
                           .fit(rows.x, rows.y[:, 0]), threads)
    trees = [t.tree_ for t in model.estimators_]
    ask = lambda x: sum(t.predict(x)[:, 0] for t in trees) / TREES
    return measured(fit_s, one_row_us(rows.test_x, ask), ask, rows)


def xgb_row(models, rows):
    """XGBoost without its Python: what a C program would call for one row; the rows' descriptions are made before."""
    rows = numpy.ascontiguousarray(rows)
    told = [json.dumps({"data": [rows[i:].ctypes.data, True], "shape": [1, rows.shape[1]], "typestr": "<f4",
                        "version": 3}).encode() for i in range(len(rows))]
    config = json.dumps({"type": 0, "iteration_begin": 0, "iteration_end": 0, "strict_shape": False,
                         "missing": float("nan"), "cache_id": 0, "training": False}).encode()
    call, at = xgboost.core._LIB.XGBoosterPredictFromDense, iter(range(1 << 60))
    shape, dim, out = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
    where = ctypes.byref(shape), ctypes.byref(dim), ctypes.byref(out)
    for m in models:
        m.set_param({"nthread": 1})

    def ask(_):
        row = told[next(at) % len(told)]
        for m in models:
            if call(m.handle, row, config, None, *where):
                raise RuntimeError(xgboost.core._LIB.XGBGetLastError())
        return out[0]
    last = models[-1].inplace_predict(rows[:3])
    if any(abs(ask(None) - p) > 1e-3 for p in last):
        raise RuntimeError("XGBoost's two ways to predict disagree")
    return one_row_us(rows, ask)


def xgb(**how):
    def learner(rows, threads, seed):
        def fit(k):
            params = {"tree_method": "hist", "nthread": threads, "seed": seed, **how}
            model = xgboost.train(params, xgboost.DMatrix(rows.x, rows.y[:, k]), TREES)
            model.set_param({"nthread": threads})
            return model
        fit_s, models = seconds(lambda: [fit(k) for k in range(2)], threads)
        ask = lambda x: numpy.stack([m.inplace_predict(x) for m in models], 1)
        result = measured(fit_s, 0, ask, rows)
        return {**result, "row_us": xgb_row(models, rows.test_x)}
    return learner


def lgb(rows, threads, seed):
    params = {"num_threads": threads, "seed": seed, "verbose": -1}
    fit = lambda k: lightgbm.train(params, lightgbm.Dataset(rows.x, rows.y[:, k]), TREES)
    fit_s, models = seconds(lambda: [fit(k) for k in range(2)], threads)
    ask = lambda x: numpy.stack([m.predict(x, num_threads=threads) for m in models], 1)
    return measured(fit_s, one_row_us(rows.test_x, ask), ask, rows)


def ranger(rows, threads, seed):
    out = subprocess.run(["Rscript", "--vanilla", str(RANGER), str(rows.fit_file), str(rows.test_file), str(TREES),
                          str(threads), str(seed), str(ROW_S)], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


class Library:
    """libheshare.a, loaded: its regressors are asked as others are, from this process."""

    def __init__(self, heshare, folder):
        archive = pathlib.Path(heshare).resolve().parent.parent.parent / "libheshare.a"
        self.folder, shared = folder, folder / "libheshare.so"
        libs = subprocess.run(["pkg-config", "--libs", "jansson", "libcyaml", "sqlite3", "zlib"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.split()
        subprocess.run(["cc", "-shared", "-fopenmp", "-o", str(shared), "-Wl,--whole-archive", str(archive),
                        "-Wl,--no-whole-archive", *libs, "-lm"], check=True)
        self.lib = ctypes.CDLL(str(shared))
        self.lib.hes_regressor_free.argtypes = [ctypes.c_void_p]
        self.lib.hes_regressor_predict_rows.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                                        ctypes.c_void_p, ctypes.c_uint32]

    def asker(self, path, outputs, threads):
        """Rows to outputs, by the model in a file."""
        model = ctypes.c_void_p()
        if self.lib.hes_regressor_load(str(path).encode(), ctypes.byref(model), None):
            raise RuntimeError(f"{path} cannot be loaded")

        def ask(x):
            out = numpy.empty((len(x), outputs))
            self.lib.hes_regressor_predict_rows(model, x.ctypes.data, len(x), out.ctypes.data, threads)
            return out
        weakref.finalize(ask, self.lib.hes_regressor_free, model)
        return ask


def ours(heshare, library, model, outputs, joint=False):
    def learner(rows, threads, seed):
        path = library.folder / "model"
        command = [heshare, "train", "--csv", str(rows.fit_file), "--test", str(rows.test_file), "--model", model,
                   "--target", ",".join(rows.targets[:outputs]), "--trees", str(TREES), "--threads", str(threads),
                   "--seed", str(seed), "--json", "-o", str(path)] + ["--joint"] * joint
        if outputs == 1:
            command += ["--ignore", rows.targets[1]]
        r = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        told = [r["targets"][t]["mae"] for t in rows.targets[:outputs]]
        result = measured(r["fit_cpu_s" if threads == 1 else "fit_s"], r["predict"]["one_row_us"],
                          library.asker(path, outputs, threads), rows)
        if not numpy.allclose(result["mae"], told, rtol=1e-3):
            raise RuntimeError(f"the program says {told} of {path}, its library {result['mae']}")
        return result
    return learner


def learners(heshare, library):
    both = {f"heshare {name}": ours(heshare, library, model, 2) for model, name in OURS.items()}
    both.update({f"heshare {OURS[model]}, joint": ours(heshare, library, model, 2, True) for model in ("rf", "et")})
    both.update({
        "scikit-learn random forest": sk_forest("rf", False, 2),
        "scikit-learn random forest, joint": sk_forest("rf", True, 2),
        "scikit-learn extra trees": sk_forest("et", False, 2),
        "scikit-learn extra trees, joint": sk_forest("et", True, 2),
        "ranger random forest": ranger,
        "XGBoost, eta 0.1, depth 6": xgb(eta=0.1, max_depth=6),
        "XGBoost, eta 0.2, depth 4": xgb(eta=0.2, max_depth=4),
    })
    if lightgbm:
        both["LightGBM"] = lgb
    single = {
        "heshare random forest": ours(heshare, library, "rf", 1),
        "heshare extra trees": ours(heshare, library, "et", 1),
        "scikit-learn random forest": sk_forest("rf", False, 1),
        "scikit-learn extra trees": sk_forest("et", False, 1),
        "scikit-learn, its trees by hand": sk_trees_by_hand,
    }
    return both, single


def summary(runs):
    maes = [statistics.mean(m) for m in zip(*[r["mae"] for r in runs])]
    return {"fit_s": min(r["fit_s"] for r in runs), "row_us": min(r["row_us"] for r in runs),
            "rows_per_s": max(r["rows_per_s"] for r in runs), "mae": maes}


def race(who, rows, threads, rounds):
    runs = {name: [] for name in who}
    for seed in range(1, rounds + 1):
        learned = {}
        for name, learner in who.items():
            if sys.stderr.isatty():
                print(f"\r{rows.name} {rows.size}, {threads} threads, round {seed}: {name}\033[K", end="",
                      file=sys.stderr, flush=True)
            learned[name] = learner(rows, threads, seed)
        time_batches(learned, rows, threads)
        for name in who:
            runs[name].append(learned[name])
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return {name: summary(r) for name, r in runs.items()}


def peer_of(name):
    """Whose figures those of a learner of ours are divided by."""
    return {"heshare boosting": "XGBoost, eta 0.1, depth 6"}.get(name, name.replace("heshare", "scikit-learn"))


def show(title, table):
    print(f"\n{title}\n\n{'':36}{'fit s':>9}{'one row us':>12}{'rows/s':>11}{'mean errors':>16}")
    for name, r in table.items():
        print(f"{name:36}{r['fit_s']:9.3f}{r['row_us']:12.2f}{r['rows_per_s']:11.0f}   "
              f"{' '.join('%7.3f' % m for m in r['mae'])}")
    for name, r in table.items():
        if name.startswith("heshare"):
            p = table[peer_of(name)]
            print(f"  {name[8:]:34}{p['fit_s'] / r['fit_s']:8.1f}x{p['row_us'] / r['row_us']:11.1f}x"
                  f"{r['rows_per_s'] / p['rows_per_s']:10.1f}x    against {peer_of(name)}")
    sys.stdout.flush()


def own_rows(heshare, folder, size):
    """Rows of modelled boards; the outputs are what a predictor learns of them, in %."""
    raw = folder / "features.csv"
    if not raw.exists():
        subprocess.run([heshare, "profile", "--modelled", "--samples", "20000", "-o", str(folder / "lab")],
                       check=True, stderr=subprocess.DEVNULL)
        subprocess.run([heshare, "train", str(folder / "lab"), "--trees", "1", "--features-csv", str(raw)],
                       check=True, stdout=subprocess.DEVNULL)
    names, *lines = raw.read_text().splitlines()
    names = names.split(",")[:-4] + ["time", "power"]
    files = []
    for what, part in ("fit", lines[:size]), ("test", lines[10000:]):
        files.append(folder / f"{what}_{size}.csv")
        with files[-1].open("w") as f:
            f.write(",".join(names) + "\n")
            for line in part:
                *features, time_us, power_w, time0, power0 = line.split(",")
                f.write(",".join(features) + f",{100 * math.log(float(time_us) / float(time0)):.9g}"
                        f",{100 * math.log(float(power_w) / float(power0)):.9g}\n")
    return Rows("own", size, files[0], files[1], ["time", "power"])


def forest_rows(forest, size):
    fit = forest / {1000: "train_1000.csv", 10000: "train_10000.csv.gz"}[size]
    return Rows("forest", size, fit, forest / "test_10000.csv.gz", ["time", "power"])


def speed_goals(t):
    """Goals of speed beside scikit-learn: (sentence, value, reached); apart against apart, joint against joint."""
    for size in (1000, 10000):
        for model in "random forest", "extra trees":
            for joint in "", ", joint":
                if (size, 1) in t:
                    mine, theirs = (t[size, 1][f"{who} {model}{joint}"]["fit_s"] for who in ("heshare", "scikit-learn"))
                    yield (f"fit of {size} rows, {model}{joint}: 4 x scikit-learn", f"{theirs / mine:.1f} x",
                           theirs >= 4 * mine)
    for model in "random forest", "extra trees":
        for how, table in ("", t[1000, 1]), (", joint", t[1000, 1]), (", one output", t["one output"]):
            name = model + how * (how == ", joint")
            mine, theirs = (table[f"{who} {name}"]["rows_per_s"] for who in ("heshare", "scikit-learn"))
            yield f"batches, {model}{how}: 8 x scikit-learn", f"{mine / theirs:.1f} x", mine >= 8 * theirs
    mine = t[1000, 1]["heshare boosting"]["rows_per_s"]
    for peer in "XGBoost, eta 0.1, depth 6", "XGBoost, eta 0.2, depth 4":
        r = mine / t[1000, 1][peer]["rows_per_s"]
        yield f"batches, boosting: 2 x {peer}", f"{r:.1f} x", r >= 2


def joint_errors(t):
    """Joint forests are as accurate as scikit-learn's."""
    for model in "random forest", "extra trees":
        mine, theirs = (t[1000, 1][f"{who} {model}, joint"]["mae"] for who in ("heshare", "scikit-learn"))
        for k, output in enumerate(("time", "power")):
            yield (f"{model}, joint: mean error of {output} within 2 % of scikit-learn's {theirs[k]:.3f}",
                   f"{mine[k]:.3f}", mine[k] <= 1.02 * theirs[k])


def forest_goals(t):
    """Goals that are set on the forest rows; t[size, threads]: what was measured."""
    def ratio(size, name, peer, key="fit_s"):
        both = t[size, 1]
        return both[peer][key] / both[name][key]

    for model, paper in ("random forest", (2.33, 14.7)), ("extra trees", (2.22, 13.5)):
        mine, theirs = (t[1000, 1][f"{who} {model}"]["mae"] for who in ("heshare", "scikit-learn"))
        for k, output in enumerate(("time", "power")):
            yield (f"{model}: mean error of {output} within 2 % of scikit-learn's {theirs[k]:.3f} and {paper[k]}",
                   f"{mine[k]:.3f}", mine[k] <= 1.02 * min(theirs[k], paper[k]))
    for k, (output, goal) in enumerate((("time", 1.70), ("power", 10.8))):
        mine = t[1000, 1]["heshare boosting"]["mae"][k]
        yield f"boosting: mean error of {output} at or below {goal}", f"{mine:.3f}", mine <= goal
    mine = t[1000, 1]["heshare boosting"]["fit_s"]
    yield "fit of 1000 rows, boosting: no slower than LightGBM's 0.142 s", f"{mine:.3f} s", mine <= 0.142
    if lightgbm:
        r = ratio(1000, "heshare boosting", "LightGBM")
        yield "fit of 1000 rows, boosting: no slower than LightGBM in this run", f"{r:.1f} x", r >= 1
    for peer in "XGBoost, eta 0.1, depth 6", "XGBoost, eta 0.2, depth 4":
        r = ratio(1000, "heshare boosting", peer)
        yield f"fit of 1000 rows, boosting: 3 x {peer}", f"{r:.1f} x", r >= 3
    one = t["one output"]
    mine, theirs = (one[f"{who} random forest"]["row_us"] for who in ("heshare", "scikit-learn"))
    yield "one row through 100 trees: under 3 us", f"{mine:.2f} us", mine < 3
    yield "one row: 4 x the 14 us of compiled trees", f"{14 / mine:.1f} x", 14 / mine >= 4
    yield "one row: 500 x scikit-learn", f"{theirs / mine:.0f} x", theirs / mine >= 500


def judge(title, t, *goals):
    if (1000, 1) not in t:
        return
    print(f"\n{title}\n")
    for what, value, reached in itertools.chain(*(g(t) for g in goals)):
        print(f"{what:84}{value:>10}   {'reached' if reached else 'NOT reached'}")
    sys.stdout.flush()


def versions(heshare):
    own = subprocess.run([heshare, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    of_ranger = subprocess.run(["Rscript", "--vanilla", "-e", "cat(as.character(packageVersion('ranger')))"],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
    return (f"{own}, scikit-learn {sklearn.__version__}, ranger {of_ranger}, XGBoost {xgboost.__version__}, " +
            (f"LightGBM {lightgbm.__version__}" if lightgbm else "no LightGBM here"))


def numbers(name, default):
    return [int(n) for n in os.environ.get(name, default).split()]


def race_all(name, rows_of, who, single, rounds, sizes):
    t = {}
    for size in sizes:
        rows = rows_of(size)
        n = rounds if size == 1000 else max(1, rounds * 2 // 5)
        for threads in numbers("THREADS", "1 2"):
            t[size, threads] = race(who, rows, threads, n)
            show(f"{name}, {size} rows, {threads} thread{'s'[:threads - 1]}", t[size, threads])
        if size == 1000:
            t["one output"] = race(single, rows, 1, n)
            show(f"{name}, {size} rows, 1 thread, one output", t["one output"])
    return t


def main(args):
    args = args + [None] * (2 - len(args))
    heshare = args[0] or os.environ.get("HESHARE") or str(ROOT / "build/src/cli/heshare")
    forest = pathlib.Path(args[1] or pathlib.Path(os.environ.get("HES_BENCH") or ROOT.parent / "shared/bench") /
                          "forest")
    rounds, sizes = int(os.environ.get("ROUNDS", "5")), numbers("SIZES", "1000 10000")
    data = os.environ.get("DATA", "forest own").split()
    print(versions(heshare))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        both, single = learners(heshare, Library(heshare, folder))
        if "own" in data:
            t = race_all("rows of modelled boards", lambda size: own_rows(heshare, folder, size), both, single, rounds,
                         sizes)
            judge("goals, on rows of modelled boards", t, joint_errors, speed_goals)
        if "forest" in data and not (forest / "test_10000.csv.gz").exists():
            print(f"\n{forest} is not here: its part, and the goals that are set on it, are skipped")
        elif "forest" in data:
            t = race_all("forest", lambda size: forest_rows(forest, size), both, single, rounds, sizes)
            judge("goals, on the forest rows", t, forest_goals, joint_errors, speed_goals)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as e:
        sys.exit(f"predict.py: {' '.join(e.cmd[:3])} failed with status {e.returncode}")
