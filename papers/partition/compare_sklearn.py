#!/usr/bin/env python3
"""compare_sklearn.py DIR - compare scikit-learn's extra trees with ours, on the rows that `evaluate` wrote into DIR.

rows.csv has features, targets and marks of training rows; rows_ours.csv our errors on the others. Rows are the same, and so is
the number of trees; each learner has its own defaults otherwise. Writes sklearn.csv. Exit status 77: no scikit-learn.
"""
import csv
import pathlib
import sys
import time

try:
    import numpy
    from sklearn.ensemble import ExtraTreesRegressor
except ImportError as missing:
    print(
        "compare_sklearn.py: %s; tools/deps.sh papers installs it, for /usr/bin/python3" % missing,
        file=sys.stderr,
    )
    sys.exit(77)

FEATURES = [
    "sm",
    "occupancy",
    "fp32",
    "dram",
    "memory_busy",
    "pcie_tx",
    "pcie_rx",
    "sensitivity",
    "rate_alone",
]
POWER_FEATURES = FEATURES[:7]
REPETITIONS = 3  # seeds of scikit-learn's trees; ours have one


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(f)]


def columns(rows, names):
    """A matrix of columns; those that hold no number in any row are left out, as scikit-learn 1.2 takes no NaN."""
    x = numpy.array([[row[name] for name in names] for row in rows])
    return x[:, ~numpy.isnan(x).any(axis=0)]


def error(rows, names, target, marked, trees):
    x, y = columns(rows, names), numpy.array([row[target] for row in rows])
    errors, seconds = [], 0.0
    for seed in range(REPETITIONS):
        model = ExtraTreesRegressor(n_estimators=trees, random_state=seed)
        start = time.process_time()
        model.fit(x[marked], y[marked])
        seconds += (time.process_time() - start) / REPETITIONS
        errors.append(100 * numpy.mean(numpy.abs(model.predict(x[~marked]) / y[~marked] - 1)))
    return numpy.mean(errors), seconds


def main(folder):
    rows, ours = read(folder / "rows.csv"), read(folder / "rows_ours.csv")
    print(
        "Extra trees on the same rows: mean error, %%\n%14s %6s %22s %22s %16s"
        % ("", "", "throughput", "power", "sklearn fits, ms")
    )
    print(
        "%14s %6s %10s %11s %10s %11s"
        % ("training, %", "trees", "ours", "sklearn", "ours", "sklearn")
    )
    with open(folder / "sklearn.csv", "w", encoding="utf-8") as out:
        print("training_pct,ours_rate,sklearn_rate,ours_power,sklearn_power", file=out)
        for mine in ours:
            marked = numpy.array([row["train_%d" % mine["training_pct"]] > 0 for row in rows])
            trees = int(mine["trees"])
            rate, rate_s = error(rows, FEATURES, "rate", marked, trees)
            power, power_s = error(rows, POWER_FEATURES, "power_w", marked, trees)
            print(
                "%14d %6d %10.2f %11.2f %10.2f %11.2f %16.0f"
                % (
                    mine["training_pct"],
                    trees,
                    mine["rate_mape_pct"],
                    rate,
                    mine["power_mape_pct"],
                    power,
                    1000 * (rate_s + power_s),
                )
            )
            print(
                "%d,%.4f,%.4f,%.4f,%.4f"
                % (
                    mine["training_pct"],
                    mine["rate_mape_pct"],
                    rate,
                    mine["power_mape_pct"],
                    power,
                ),
                file=out,
            )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: compare_sklearn.py DIR")
    main(pathlib.Path(sys.argv[1]))
