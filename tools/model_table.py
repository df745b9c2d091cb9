#!/usr/bin/env python3
"""model_table.py - the table of errors in docs/gpu-model.md, from `heshare-calibrate --check --json DATA` on standard
input; tools/docs_table.py docs/gpu-model.md errors compares it or writes it."""
import json
import sys

# What the table calls rows; where they are from; and what the check calls them, in one set.
TABLE = [
    ("time alone, by share and batch, V100", "iGniter", "igniter_v100", ["latency alone, by SM share and batch"]),
    ("throughput by MIG slice and batch, A100", "ParvaGPU", "parvagpu_a100", ["throughput by slice and batch"]),
    ("... of 2 to 5 processes", "", "parvagpu_a100", ["throughput of 2-5 processes"]),
    ("... network derived from its sibling; scaled by operations", "", "parvagpu_a100",
     ["... network derived from its sibling", "... by the sibling's, scaled by FLOPs"]),
    ("training by power limit, V100: time; energy", "Zeus", "zeus_power_limit",
     ["training time by power limit, V100", "training energy by power limit, V100"]),
    ("... P100 and A40, against uncapped", "", "zeus_power_limit", ["against uncapped, P100 and A40"]),
    ("... caps of half the limit and less: time", "", "zeus_power_limit", ["low caps: time against uncapped"]),
    ("... A40's energy, left out as a type", "", "zeus_power_limit", ["... A40 left out as a type"]),
    ("speed against T4: BERT", "TensorRT", "tensorrt_bert", ["speed against T4"]),
    ("... ResNet-50", "NVIDIA", "nvidia_dle", ["ResNet-50 speed against T4"]),
    ("... training", "Sia", "sia_profiles", ["training speed against T4"]),
    ("testbed's networks on T4 and V100: ResNet-50; BERT Large", "NVIDIA", "nvidia_dle",
     ["testbed's ResNet-50 on T4 and V100", "testbed's BERT Large on T4 and V100"]),
    ("training on 1, 2 and 4 slices; power, A100", "MISO", "miso_a100",
     ["training step, 1, 2 and 4 slices", "training power, whole GPU"]),
    ("power at locked clocks, V100; RTX 8000", "NV-DVFS", "nv_dvfs",
     ["... kernel left out, V100-PCIe", "... kernel left out, RTX 8000"]),
    ("... A40; A100-SXM-80", "Perseus", "perseus_clock",
     ["... kernel left out, A40", "... kernel left out, A100-SXM-80"]),
    ("... A100-PCIe-40", "Kernel Tuner", "kernel_tuner_a100", ["... kernel left out, A100-PCIe-40"]),
    ("... A100-PCIe-80", "Giordano", "a100_freq_powercap", ["... kernel left out, A100-PCIe-80"]),
    ("slowdown of pairs, network in no fitted pair; by a constant", "iGniter", "igniter_v100",
     ["... network in no fitted pair", "... by a constant"]),
    ("slowdown without shares, from the other's; by time slices", "Tally", "tally_a100",
     ["slowdown without shares, from the other's", "... by time slices"]),
]


def percent(part):
    return f"{100 * part:.1f}" if part < 0.0995 else f"{100 * part:.0f}"


def cell(row):
    errors = ", ".join(percent(row[f"{e}_error"]) for e in ("median", "mean", "p90"))
    return errors + (f", sign right {percent(row['right_sign'])}" if "right_sign" in row else "")


rows = {(r["set"], r["what"].strip()): r for r in json.load(sys.stdin)["rows"] if r["values"]}
print("| what | set | median, mean, nine in ten | kind |\n|---|---|---|---|")
for label, source, name, whats in TABLE:
    found = [rows[name, what] for what in whats]
    print(f"| {label} |{' ' * bool(source)}{source} | {'; '.join(map(cell, found))} | {'; '.join(dict.fromkeys(r['kind'] for r in found))} |")
