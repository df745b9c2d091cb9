#!/usr/bin/env python3
"""
make_recording.py - a synthetic GPU for the tests of bench/gpu: readings as NVML would give them, made up, and
marked as such. Prints JSON; tests/gpu/recording.json is its output.
"""
import json
import math

PERIOD_S = 10.0
STEP_S = 0.05


def sample(i):
    t = i * STEP_S
    return {
        "t_s": round(t, 3),
        "power_mw": round(180000 + 40000 * math.sin(2 * math.pi * t / PERIOD_S)),
        "sm_clock_mhz": 1410,
        "memory_clock_mhz": 1215,
        "temperature_c": 55 + (i // 50) % 3,
        "gpu_util": 0.9,
        "memory_used_mib": 1200,
    }


print(
    json.dumps(
        {
            "test": True,
            "gpu": {
                "name": "NVIDIA Synthetic Test GPU",
                "gpu_type": None,
                "driver": "0.0",
                "vbios": None,
                "memory_mib": 40960,
                "power_limit_mw": 250000,
                "power_default_mw": 250000,
                "power_min_mw": 100000,
                "power_max_mw": 250000,
                "sm_clock_max_mhz": 1410,
                "memory_clock_max_mhz": 1215,
                "sm_clocks_mhz": list(range(210, 1411, 15)),
                "ecc": 1,
                "mig": 0,
                "compute_mode": "default",
                "persistence_mode": 0,
                "pcie_generation": 4,
                "pcie_width": 16,
            },
            "period_s": PERIOD_S,
            "samples": [sample(i) for i in range(int(PERIOD_S / STEP_S))],
        }
    )
)
