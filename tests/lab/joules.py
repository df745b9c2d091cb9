#!/usr/bin/env python3
"""In the lab: ten runs of a plan, each interrupted at a seeded moment and resumed, next to the counters of the GPUs.

usage: joules.py PLAN

Prints a line for each run: the joules of its report, those of the counters while it was carried out, and what the
counters had at idle power before and after its meter ran. After SIGKILL up to the last write of the journal counts.
"""
import ctypes
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

PLAN = sys.argv[1]
RUNS = 10
KILLED = (3, 7)
COMMAND = "vgpu-task --workload {workload} --batch {batch} --iterations {iterations} --every 1"
STORE = os.environ["HESHARE_STORE"]

nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlInit_v2()
count = ctypes.c_uint()
nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
gpus = [ctypes.c_void_p() for _ in range(count.value)]
for i, gpu in enumerate(gpus):
    nvml.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(gpu))


def counters():
    total = 0
    for gpu in gpus:
        value = ctypes.c_ulonglong()
        assert nvml.nvmlDeviceGetTotalEnergyConsumption(gpu, ctypes.byref(value)) == 0
        total += value.value
    return total / 1e3


def idle_watts():
    start, before = time.monotonic(), counters()
    time.sleep(20)
    return (counters() - before) / (time.monotonic() - start)


def measured_s(store):
    with sqlite3.connect(store) as db:
        return db.execute(
            "SELECT sum(s) FROM (SELECT max(measured_us) * 1e-6 AS s FROM run_meters GROUP BY session)"
        ).fetchone()[0]


def session(store, more, stop):
    """Carry the plan out; after stop = (joules, signal) interrupt it. Returns joules and seconds by the lab."""
    start, before = time.monotonic(), counters()
    run = subprocess.Popen(
        [
            "heshare",
            "run",
            PLAN,
            "--json",
            "--store",
            store,
            "--jobs",
            store + ".run",
            "-c",
            COMMAND,
            *more,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    if stop:
        while counters() < before + stop[0] and run.poll() is None:
            time.sleep(0.2)
        joules, seconds = counters() - before, time.monotonic() - start
        run.send_signal(stop[1])
    out = run.communicate()[0]
    if not stop or stop[1] != signal.SIGKILL:
        joules, seconds = counters() - before, time.monotonic() - start
    return joules, seconds, json.loads(out) if out else None


def main():
    rng = random.Random(7)
    idle_w, whole_j = idle_watts(), None
    for number in range(RUNS):
        store = f"{STORE}.{number}"
        how = signal.SIGKILL if number in KILLED else signal.SIGINT
        whole_j = whole_j or session(STORE, [], None)[2]["energy"]["meter_j"]
        first = session(store, [], (rng.uniform(0.1, 0.9) * whole_j, how))
        time.sleep(30)  # what the GPUs use now is not the run's
        last = session(store, ["--resume"], None)
        report, outside_s = last[2], first[1] + last[1] - measured_s(store)
        print(
            json.dumps(
                {
                    "run": number,
                    "killed": how == signal.SIGKILL,
                    "done": report["jobs_done"],
                    "energy": report["energy"],
                    "jobs_j": sum(j["attributed_j"] for j in report["jobs"]),
                    "aborted_j": sum(j["aborted_j"] for j in report["jobs"]),
                    "counters_j": first[0] + last[0],
                    "outside_s": outside_s,
                    "outside_j": outside_s * idle_w,
                }
            ),
            flush=True,
        )


main()
