#!/usr/bin/env python3
"""A policy as a program: heshare plan jobs.csv --policy exec:examples/policy.py

Longest job first: each job goes to the GPU on which it would end first, alone, at the
clock at which that GPU's clocks are halfway between lowest and highest.
docs/formats/policy.md describes what comes in and what goes out.
"""
import json
import sys

request = json.load(sys.stdin)
types = {t["gpu_type"]: t for t in request["gpu_types"]}
iteration_us = {
    (p["workload"], p["batch_size"], p["gpu_type"]): p["iteration_us"] for p in request["profiles"]
}
free_us = {gpu["gpu"]: gpu["free_at_us"] for gpu in request["gpus"]}
queues = {gpu["gpu"]: [] for gpu in request["gpus"]}


def run_us(job, gpu):
    """How long a job takes on a GPU; infinite where it was not measured or does not fit."""
    if job["memory_mib"] > types[gpu["gpu_type"]]["memory_mib"]:
        return float("inf")
    return job["iterations"] * iteration_us.get(
        (job["workload"], job["batch_size"], gpu["gpu_type"]), float("inf")
    )


def shortest_us(job):
    return min(run_us(job, gpu) for gpu in request["gpus"])


for job in sorted(request["jobs"], key=shortest_us, reverse=True):
    best = min(request["gpus"], key=lambda gpu: free_us[gpu["gpu"]] + run_us(job, gpu))
    clocks = types[best["gpu_type"]]["clocks_mhz"]
    queues[best["gpu"]].append(
        {"clock_mhz": clocks[len(clocks) // 2], "jobs": [{"job": job["id"], "sm_pct": 100}]}
    )
    free_us[best["gpu"]] += run_us(job, best)

json.dump(
    {"gpus": [{"gpu": name, "batches": batches} for name, batches in queues.items()]}, sys.stdout
)
