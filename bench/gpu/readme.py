"""The README of a measured folder: what was measured, with what, how, and what to beware of."""
import os

METHOD = """\
Each job repeats forward passes of a network with random weights in PyTorch's ordinary eager mode, half precision
(`fp16`: weights and activations) or the framework's default (`fp32`, `tf32`), channels last, two iterations in flight, inputs
already on the GPU. After a warm-up, windows of the same length follow one another without a gap until the iteration time
of every job varies by less than 5 % between the last three (`steady` 1), or there were eight. `power_mw` is the energy counter
between its first and its last change within the windows over the time between; `power_integral_mw` is the integral of the power
samples over all windows, every 20 ms. Activity is the driver's own (GPM), over the same time. No clock, power limit,
compute mode or persistence setting was changed, other than where `locked_clock_mhz` says so."""

CAVEATS = {
    "mps": "Shares are MPS active thread percentages: caps, rounded down to whole units of the hardware (`sms`).",
    "green": "Shares are green contexts, of jobs alone: two contexts may be given the same SMs, so pairs and equal groups were "
    "not measured. Unpartitioned groups are threads of one process; at small batch sizes they wait for one another in "
    "Python, so that jobs look slower than as processes of their own.",
    "none": "Neither MPS nor green contexts worked: jobs were alone on the whole GPU, or shared it by time slices.",
}


def number(value, unit="", scale=1.0, digits=1):
    return (
        "not reported by the driver" if value is None else "%.*f%s" % (digits, value * scale, unit)
    )


def counts(folder):
    lines = []
    for name in ("solo", "pairs", "groups"):
        rows = folder.tables[name].rows
        steady = sum(r["steady"] == "1" for r in rows)
        lines.append("| `%s.csv` | %d | %d |" % (name, len(rows), steady))
    return lines


def text(folder):
    a = folder.about
    b, sharing = a["gpu"], a["sharing"]
    lines = ["# %s" % b["name"], ""]
    if a["test"]:
        lines += [
            "**A test: readings played from a recording, networks on a CPU. Not a measurement.**",
            "",
        ]
    lines += [
        "Measured %s to %s by `bench/gpu/measure`; bench/gpu/measured.md describes the tables."
        % (a["started"], a["ended"]),
        "",
        "| table | rows | steady |",
        "|---|---|---|",
        *counts(folder),
        "",
        "| | |",
        "|---|---|",
        "| driver, VBIOS | %s, %s |" % (b.get("driver"), b.get("vbios")),
        "| SMs, L2, memory | %s, %s, %s |"
        % (
            b["sm_count"],
            number(b["l2_kib"], " MiB", 1 / 1024, 0),
            number(b.get("memory_mib"), " GiB", 1 / 1024, 0),
        ),
        "| power limit | %s |" % number(b.get("power_limit_mw"), " W", 1e-3, 0),
        "| idle, with a context | %s, %s |"
        % (
            number(a.get("idle_power_mw"), " W", 1e-3),
            number(a.get("context_power_mw"), " W", 1e-3),
        ),
        "| refresh of power, of the energy counter | %s, %s |"
        % (number(a.get("power_refresh_ms"), " ms"), number(a.get("energy_refresh_ms"), " ms")),
        "| energy counter against integral | %s |" % number(a.get("energy_error_pct"), " %", 1, 2),
        "| software | %s |" % ", ".join("%s %s" % kv for kv in sorted(a["software"].items())),
        "",
        "## Method",
        "",
        METHOD,
        "",
        "## Beware",
        "",
        CAVEATS.get(sharing["mechanism"], "Only sensors were read."),
        "",
    ]
    if sharing["why"]:
        lines += ["Tried before: %s" % sharing["why"], ""]
    if a["failures"]:
        lines += [
            "Not measured:",
            "",
            *["- %s: %s" % (f["point"], f["why"]) for f in a["failures"]],
            "",
        ]
    return "\n".join(lines)


def write(folder):
    path = os.path.join(folder.path, "README.md")
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text(folder))
    os.replace(path + ".new", path)
