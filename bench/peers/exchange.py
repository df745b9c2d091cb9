#!/usr/bin/python3
"""exchange.py [HESHARE] - models that go between LightGBM and heshare, both asked the same rows.

LightGBM's own, of every boosting and objective that is read, with and without missing values, are imported by `heshare
predict`; ours are exported by `heshare train --export-lightgbm` and loaded by LightGBM. Printed: the largest
difference of two predictions of a row, as a part of the spread of all. Exit status 1 where it exceeds 1e-5, 77
where there is no LightGBM (bench/peers/lightgbm.sh builds it).

HESHARE  the program ($HESHARE, else build/src/cli/heshare)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "build/peers/lightgbm"))
try:
    import lightgbm
except ImportError:
    print("exchange.py: no LightGBM here; bench/peers/lightgbm.sh builds it", file=sys.stderr)
    sys.exit(77)

NAMES = ["a", "b", "c", "d", "e"]
ALLOWED = 1e-5
THEIRS = {
    "l2": {"objective": "regression"},
    "l1": {"objective": "regression_l1"},
    "huber": {"objective": "huber"},
    "quantile": {"objective": "quantile", "alpha": 0.7},
    "random forest": {"boosting": "rf", "bagging_fraction": 0.7, "bagging_freq": 1},
    "dart": {"boosting": "dart"},
    "deep, few rows in a leaf": {"num_leaves": 255, "min_data_in_leaf": 2},
}
OURS = ["rf", "et", "gbdt", "tree"]


def rows(n, missing, seed):
    rng = numpy.random.default_rng(seed)
    x = rng.normal(size=(n, len(NAMES))).astype(numpy.float32)
    y = 3 * numpy.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 100 + rng.normal(scale=0.1, size=n)
    x[rng.random(x.shape) < missing] = numpy.nan
    return x, y


def write(path, x, y):
    told = lambda v: "" if numpy.isnan(v) else f"{v:.9g}"
    with open(path, "w") as f:
        f.write(",".join(NAMES + ["y"]) + "\n")
        f.writelines(",".join([told(v) for v in row] + [f"{t:.9g}"]) + "\n" for row, t in zip(x, y))


def asked(heshare, model, table):
    out = subprocess.run([heshare, "predict", "--model", str(model), "--csv", str(table)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return numpy.array([float(line) for line in out[1:]])


def off(a, b):
    return abs(a - b).max() / a.std()


def exchanges(heshare, folder, missing):
    """(direction and kind, largest difference) of every model."""
    x, y = rows(2000, missing, 1)
    test_x, test_y = rows(5000, missing, 2)
    fit, test = folder / "fit.csv", folder / "test.csv"
    write(fit, x, y)
    write(test, test_x, test_y)
    for name, how in THEIRS.items():
        params = {"verbose": -1, "num_threads": 1, "seed": 1, "deterministic": True, **how}
        model = lightgbm.train(params, lightgbm.Dataset(x, y, feature_name=NAMES), 100)
        model.save_model(str(folder / "theirs.txt"))
        yield f"LightGBM's {name}", off(model.predict(test_x), asked(heshare, folder / "theirs.txt", test))
    for kind in OURS:
        subprocess.run([heshare, "train", "--csv", str(fit), "--target", "y", "--model", kind, "-o", str(folder / "ours"),
                        "--export-lightgbm", str(folder / "out")], check=True, stdout=subprocess.DEVNULL)
        theirs = lightgbm.Booster(model_file=str(folder / "out.y.txt")).predict(test_x)
        yield f"heshare's {kind}", off(asked(heshare, folder / "ours", test), theirs)


def main(args):
    heshare = (args or [os.environ.get("HESHARE") or str(ROOT / "build/src/cli/heshare")])[0]
    print(f"LightGBM {lightgbm.__version__}\n\n{'model':34}{'missing':>9}{'largest difference':>20}")
    far = 0
    with tempfile.TemporaryDirectory() as folder:
        for missing in 0, 0.1:
            for name, difference in exchanges(heshare, pathlib.Path(folder), missing):
                far += difference > ALLOWED
                print(f"{name:34}{missing:9.0%}{difference:20.1e}{'  too far' if difference > ALLOWED else ''}")
    return 1 if far else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as e:
        sys.exit(f"exchange.py: {' '.join(e.cmd[:3])} failed with status {e.returncode}")
