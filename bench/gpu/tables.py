"""The folder that a run writes: tables appended row by row and flushed, gpu.json whole or not at all."""
import csv
import json
import os

GPU = [
    "kind",
    "mechanism",
    "windows",
    "window_s",
    "steady",
    "power_mw",
    "power_integral_mw",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "sm_active",
    "sm_occupancy",
    "dram_active",
    "tensor_active",
    "fp32_active",
    "pcie_tx_mib_s",
    "pcie_rx_mib_s",
    "gpu_util",
    "temperature_c",
    "throttle",
]
MEMBER = [
    "workload",
    "batch_size",
    "precision",
    "sm_share_pct",
    "sms",
    "iterations",
    "iteration_us",
    "cv_pct",
    "p50_us",
    "p95_us",
    "p99_us",
    "items_per_s",
    "memory_mib",
]
COLUMNS = {
    "solo": MEMBER + ["locked_clock_mhz"] + GPU,
    "pairs": ["first_" + c for c in MEMBER] + ["second_" + c for c in MEMBER] + GPU,
    "groups": ["group", "form"] + MEMBER + GPU,
    "sensor": [
        "state",
        "t_ms",
        "power_mw",
        "power_instant_mw",
        "power_average_mw",
        "energy_mj",
        "sm_clock_mhz",
        "temperature_c",
    ],
}


class Broken(Exception):
    """A folder that this run must not write into."""


def text_of(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return "%.9g" % value
    return str(value)


class Table:
    """One CSV file. A row or group that was cut off by a kill is dropped when the file is opened again."""

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name + ".csv")
        self.columns = COLUMNS[name]
        self.rows = self._read()

    def _read(self):
        if not os.path.exists(self.path):
            with open(self.path, "w", encoding="utf-8", newline="") as f:
                csv.writer(f, lineterminator="\n").writerow(self.columns)
            return []
        with open(self.path, "rb+") as f:
            data = f.read()
            whole = data.rfind(b"\n") + 1
            whole = self._whole_groups(data[:whole])
            f.truncate(whole)
        rows = list(csv.DictReader(data[:whole].decode("utf-8").splitlines()))
        header = data.split(b"\n", 1)[0].decode("utf-8").split(",")
        if header != self.columns:
            raise Broken(
                "%s: the columns are not those of this version; give another --out" % self.path
            )
        return rows

    def _whole_groups(self, data):
        """@return the length of data without a last group that has fewer rows than its form says (equal3: 3)"""
        lines = data.decode("utf-8").splitlines(keepends=True)
        rows = list(csv.DictReader(lines))
        if (
            "form" not in self.columns
            or not rows
            or not (rows[-1].get("form") or "")[-1:].isdigit()
        ):
            return len(data)
        last = sum(r["group"] == rows[-1]["group"] for r in rows)
        if last >= int(rows[-1]["form"][-1]):
            return len(data)
        return len("".join(lines[:-last]).encode("utf-8"))

    def add(self, rows):
        """Append rows together; they are on the disk when this returns."""
        rows = [{c: text_of(r.get(c)) for c in self.columns} for r in rows]
        with open(self.path, "a", encoding="utf-8", newline="") as f:
            csv.DictWriter(f, self.columns, lineterminator="\n").writerows(rows)
            f.flush()
            os.fsync(f.fileno())
        self.rows += rows


def key_member(row, prefix=""):
    return (
        row[prefix + "workload"],
        int(row[prefix + "batch_size"]),
        row[prefix + "precision"],
        int(row[prefix + "sm_share_pct"]),
    )


class Folder:
    """DIR of --out."""

    def __init__(self, path):
        os.makedirs(path, exist_ok=True)
        self.path = path
        self.tables = {name: Table(path, name) for name in COLUMNS}
        self.about = self._read_about()

    def _read_about(self):
        path = os.path.join(self.path, "gpu.json")
        if not os.path.exists(path):
            return {}
        try:
            with open(path, encoding="utf-8") as f:
                return json.load(f)
        except ValueError as e:
            raise Broken("%s: not JSON: %s" % (path, e)) from e

    def save_about(self):
        path = os.path.join(self.path, "gpu.json")
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.about, f, indent=1, sort_keys=True)
            f.write("\n")
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".new", path)

    def failed(self, what, why):
        """Keep why a point could not be measured, until it is."""
        self.succeeded(what)
        self.about["failures"].append({"point": str(what), "why": str(why)})

    def succeeded(self, what):
        """What was there of its failing, in this run or an earlier one, no longer holds."""
        self.about["failures"] = [
            f for f in self.about.get("failures", []) if f["point"] != str(what)
        ]

    def done(self, mechanism):
        """Keys of the points that are there, measured with a mechanism (schedule.Point.key)."""
        keys = set()
        rows_of = {
            name: [r for r in self.tables[name].rows if r["mechanism"] == mechanism]
            for name in ("solo", "pairs", "groups")
        }
        for r in rows_of["solo"]:
            clock = int(r["locked_clock_mhz"]) if r["locked_clock_mhz"] else None
            keys.add(("solo", clock, (key_member(r),)))
        for r in rows_of["pairs"]:
            keys.add(("pair", None, (key_member(r, "first_"), key_member(r, "second_"))))
        groups = {}
        for r in rows_of["groups"]:
            groups.setdefault((int(r["group"]), r["form"]), []).append(key_member(r))
        for (_, form), members in groups.items():
            keys.add((form, None, tuple(members)))
        return keys

    def next_group(self):
        return 1 + max([int(r["group"]) for r in self.tables["groups"].rows], default=0)

    def add_point(self, point, kind, mechanism, looks):
        """@param looks  (columns of the GPU, columns of each member) of every turn"""
        shared = {"kind": kind, "mechanism": mechanism}
        shares = [m[3] for m in point.members]
        rows = []
        for columns, members in looks:
            rows += [({**shared, **columns}, m) for m in members]
        members = [{**m, "sm_share_pct": share} for (_, m), share in zip(rows, shares)]
        if point.form == "solo":
            self.tables["solo"].add(
                [{**rows[0][0], **members[0], "locked_clock_mhz": point.clock_mhz}]
            )
        elif point.form == "pair":
            wide = dict(rows[0][0])
            for prefix, m in zip(("first_", "second_"), members):
                wide.update({prefix + k: v for k, v in m.items()})
            self.tables["pairs"].add([wide])
        else:
            group = self.next_group()
            self.tables["groups"].add(
                [
                    {**columns, **m, "group": group, "form": point.form}
                    for (columns, _), m in zip(rows, members)
                ]
            )
