#!/usr/bin/env python3
"""Fit the built-in trace profile (data/traces/helios_like.yaml) to a Helios log.

    tools/fit_trace.py venus_gpu_jobs.csv.gz > data/traces/helios_like.yaml

The log has job_id, arrival_s, service_s, gpus. What is kept of it is a few
hundred figures: how many jobs ask for how many GPUs, quantiles of run time
for each of these sizes, submissions by hour of the day and day of the week,
and quantiles of the gaps between submissions once these rhythms are taken
out (1 = mean gap). docs/formats/trace.md says how the generator uses them.
"""
import gzip
import sys

import numpy as np

SIZES = [1, 2, 4, 8, 16, 32]
PROBABILITIES = [0] + [i / 100 for i in range(1, 100)] + [0.995, 0.998, 0.999, 0.9995, 0.9999, 1]


def lead_in(day):
    """Days at the start with hardly a job: what was left running when the log began."""
    counts = np.bincount(day)
    return int(np.argmax(counts >= 100))


def rhythm(hour, length, period):
    """Submissions an hour by position in the period, mean 1. @hour: since the log's start."""
    spans = np.arange(hour.min(), length) % period
    counts = np.bincount(hour % period, minlength=period)
    rate = counts / np.maximum(np.bincount(spans, minlength=period), 1)
    return rate / rate.mean()


def operational_gaps(t, start, by_hour, by_day, rate):
    """Gaps in expected submissions instead of seconds."""
    hours = np.arange(start, int(t.max() // 3600) + 2)
    per_hour = rate * by_hour[hours % 24] * by_day[hours // 24 % 7]
    total = np.concatenate([[0], np.cumsum(per_hour)])
    at = np.interp(t / 3600, np.append(hours, hours[-1] + 1), total)
    return np.diff(np.sort(at))


def mean_of_table(values):
    """Mean of a distribution given by quantiles, linear between them."""
    v, p = np.array(values), np.array(PROBABILITIES)
    return float(np.sum((v[1:] + v[:-1]) / 2 * np.diff(p)))


def flow(values, form):
    words = [form % v for v in values]
    lines = ["  " + ", ".join(words[i : i + 12]) for i in range(0, len(words), 12)]
    return "[\n" + ",\n".join("    " + line for line in lines) + " ]"


def main(path):
    log = np.genfromtxt(gzip.open(path), delimiter=",", names=True)
    t, run, gpus = log["arrival_s"], log["service_s"], log["gpus"]
    day = (t // 86400).astype(int)
    start = lead_in(day) * 24
    late = t >= start * 3600
    hour = (t[late] // 3600).astype(int)
    length = int(t.max() // 3600) + 1
    by_hour = rhythm(hour, length, 24)
    by_day = rhythm(hour // 24, (length - 1) // 24 + 1, 7)
    hours = np.arange(start, length)
    shape = by_hour[hours % 24] * by_day[hours // 24 % 7]
    rate = late.sum() / shape.sum()
    gaps = np.quantile(operational_gaps(t[late], start, by_hour, by_day, rate), PROBABILITIES)
    gaps = gaps / mean_of_table(gaps)

    print(
        "# Made by tools/fit_trace.py; do not edit. Fitted to %d GPU jobs of the Venus cluster"
        % len(t)
    )
    print(
        "# (Helios: Hu et al., SC 2021, CC-BY-4.0), %.0f days; arrivals from day %d on."
        % (t.max() / 86400, start // 24)
    )
    print("name: helios-like")
    print("jobs_per_hour: %.3f" % rate)
    print("# Relative rates; hour and day 0 are those of the log's first submission.")
    print("hour_of_day: " + flow(by_hour, "%.3f"))
    print("day_of_week: " + flow(by_day, "%.3f"))
    print("probabilities: " + flow(PROBABILITIES, "%g"))
    print("# Gaps between arrivals once the rhythms are taken out; 1 is the mean.")
    print("gaps: " + flow(gaps, "%.6g"))
    print("# Jobs by the GPUs they ask for (the next larger size; the last holds all above).")
    print("sizes:")
    for i, size in enumerate(SIZES):
        low = SIZES[i - 1] if i else 0
        mine = (gpus > low) & ((gpus <= size) | (size == SIZES[-1]))
        print(
            "  - gpus: %d\n    share: %.5f\n    runtimes_s: %s"
            % (size, mine.mean(), flow(np.quantile(run[mine], PROBABILITIES), "%.6g"))
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
