#!/usr/bin/python3
"""compare.py [BUILD] - heshare's regressors against those of other libraries on the same rows.

Rows: 1000 modelled samples with every feature of the predictor; the targets are the logarithms of time and power over
the baseline's, in %. Printed: mean errors on 4000 other rows, seconds of one fit, microseconds of one prediction. Every
learner has 100 trees per target and one thread. Libraries that are not installed are skipped; exit status 77 when there
are none.

BUILD  a build folder with -Dpapers=true (build-papers)
"""
import csv
import importlib
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TREES, FIT_ROWS, TEST_ROWS, SEEDS = 100, 1000, 4000, (1, 2, 3)
TARGETS = ["time", "power"]


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: skipped", file=sys.stderr)
        return None


numpy, ensemble = optional("numpy"), optional("sklearn.ensemble")
xgboost, lightgbm = optional("xgboost"), optional("lightgbm")


def draw_rows(heshare, features, folder):
    """Files to fit and to test on."""
    lab, raw = folder / "lab", folder / "features.csv"
    subprocess.run(
        [heshare, "profile", "--modelled", "--samples", str(FIT_ROWS + TEST_ROWS), "-o", lab],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    subprocess.run([features, lab, raw], check=True)
    with raw.open() as f:
        header, *rows = csv.reader(f)
    rows = [
        row[:-4] + [str(100 * math.log(float(row[k]) / float(row[k + 2]))) for k in (-4, -3)]
        for row in rows
    ]
    files = folder / "fit.csv", folder / "test.csv"
    for path, part in zip(files, (rows[:FIT_ROWS], rows[FIT_ROWS:])):
        with path.open("w") as f:
            csv.writer(f).writerows([header[:-4] + TARGETS] + part)
    return files


def ours(learners, model):
    def learn(files, seed):
        out = subprocess.run(
            [
                learners,
                files[0],
                "--test",
                files[1],
                "--target",
                ",".join(TARGETS),
                "--model",
                model,
                "--trees",
                str(TREES),
                "--threads",
                "1",
                "--seed",
                str(seed),
            ],
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
        result = json.loads(out)
        return (
            result["fit_cpu_s"],
            result["one_row_us"],
            [result["targets"][t]["mae"] for t in TARGETS],
        )

    return learn


def theirs(fit):
    """fit: (x, y, seed) to a function of rows."""

    def learn(files, seed):
        (x, y), (test_x, test_y) = [
            (t[:, :-2], t[:, -2:])
            for t in (numpy.loadtxt(f, delimiter=",", skiprows=1) for f in files)
        ]
        start = time.process_time()
        models = [fit(x, y[:, k], seed) for k in (0, 1)]
        fit_s = time.process_time() - start
        errors = [float(abs(models[k](test_x) - test_y[:, k]).mean()) for k in (0, 1)]
        taken = []
        for i in range(100):
            start = time.perf_counter()
            for model in models:
                model(test_x[i : i + 1])
            taken.append(time.perf_counter() - start)
        return fit_s, 1e6 * statistics.median(taken), errors

    return learn


def sklearn_forest(kind):
    return theirs(
        lambda x, y, seed: getattr(ensemble, kind)(n_estimators=TREES, random_state=seed)
        .fit(x, y)
        .predict
    )


def xgboost_fit(x, y, seed):
    params = {"tree_method": "hist", "nthread": 1, "seed": seed, "eta": 0.1, "max_depth": 6}
    return xgboost.train(params, xgboost.DMatrix(x, y), TREES).inplace_predict


def lightgbm_fit(x, y, seed):
    params = {"num_threads": 1, "seed": seed, "verbose": -1}
    return lightgbm.train(params, lightgbm.Dataset(x, y), TREES).predict


def main(build):
    peers = {}
    if numpy and ensemble:
        peers.update(
            {
                "scikit-learn random forest": sklearn_forest("RandomForestRegressor"),
                "scikit-learn extra trees": sklearn_forest("ExtraTreesRegressor"),
            }
        )
    if numpy and xgboost:
        peers["XGBoost"] = theirs(xgboost_fit)
    if numpy and lightgbm:
        peers["LightGBM"] = theirs(lightgbm_fit)
    if not peers:
        return 77
    names = {"rf": "random forest", "et": "extra trees", "gbdt": "boosting"}
    who = {
        f"heshare {name}": ours(build / "papers/heshare/learners/learners", m)
        for m, name in names.items()
    }
    who.update(peers)
    with tempfile.TemporaryDirectory() as folder:
        features = build / "papers/heshare/learners/sample_features"
        files = draw_rows(build / "src/cli/heshare", features, pathlib.Path(folder))
        print(f"{'':28}{'fit, s':>9}{'one row, us':>13}{'error of time':>15}{'of power':>10}")
        for name, learn in who.items():
            runs = [learn(files, seed) for seed in SEEDS]
            errors = [statistics.mean(r[2][k] for r in runs) for k in (0, 1)]
            print(
                f"{name:28}{min(r[0] for r in runs):9.3f}{min(r[1] for r in runs):13.1f}{errors[0]:15.3f}{errors[1]:10.3f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build-papers").resolve()))
