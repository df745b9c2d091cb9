"""
The GPU as its driver shows it: NVML by ctypes, or a recording of it for tests.

Readings only. The one setter, locked clocks, is in clocks.py. What a driver does not give is None; nothing
here raises after open_gpu() except for a GPU that is gone.
"""
import ctypes
import json
import time

OK = 0
CLOCK_SM, CLOCK_MEM = 1, 2
FIELD_POWER_AVERAGE, FIELD_POWER_INSTANT = 185, 186
GPM_METRICS = {  # nvmlGpmMetricId_t: column, factor
    2: ("sm_active", 0.01),
    3: ("sm_occupancy", 0.01),
    5: ("tensor_active", 0.01),
    10: ("dram_active", 0.01),
    12: ("fp32_active", 0.01),
    20: ("pcie_tx_mib_s", 1.0),
    21: ("pcie_rx_mib_s", 1.0),
}
COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
# Types of heshare's catalogue by NVML's name of a GPU, without NVIDIA or Tesla.
TYPES = {
    "P100-PCIE-16GB": "P100-PCIe-16",
    "P100-SXM2-16GB": "P100-SXM2-16",
    "V100-PCIE-16GB": "V100-PCIe",
    "V100-PCIE-32GB": "V100-PCIe-32",
    "V100-SXM2-16GB": "V100-SXM2-16",
    "V100-SXM2-32GB": "V100-SXM2-32",
    "T4": "T4",
    "GeForce RTX 2080 Ti": "GeForce-RTX-2080-Ti",
    "A100-PCIE-40GB": "A100-PCIe-40",
    "A100 80GB PCIe": "A100-PCIe-80",
    "A100-SXM4-40GB": "A100-SXM-40",
    "A100-SXM-40GB": "A100-SXM-40",
    "A100-SXM4-80GB": "A100-SXM-80",
    "A100-SXM-80GB": "A100-SXM-80",
    "A30": "A30",
    "A10": "A10",
    "A10G": "A10G",
    "A40": "A40",
    "GeForce RTX 3090": "GeForce-RTX-3090",
    "Orin (nvgpu)": "Jetson-AGX-Orin-64",
    "Orin": "Jetson-AGX-Orin-64",
    "L4": "L4",
    "L40S": "L40S",
    "RTX 6000 Ada Generation": "RTX-6000-Ada",
    "GeForce RTX 4090": "GeForce-RTX-4090",
    "H100 PCIe": "H100-PCIe",
    "H100 NVL": "H100-NVL",
    "H100 80GB HBM3": "H100-SXM",
    "H200": "H200",
    "B200": "B200",
    "Tegra X2": "Jetson-TX2",
}


class GpuGone(Exception):
    """No NVML, no such GPU, or the GPU fell off the bus."""


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t"""

    _fields_ = [
        ("field_id", ctypes.c_uint),
        ("scope_id", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency_us", ctypes.c_longlong),
        ("value_type", ctypes.c_uint),
        ("result", ctypes.c_int),
        ("bits", ctypes.c_ulonglong),
    ]

    def number(self):
        """The value as a number; None for a type that is not a number (nvmlValueType_t)."""
        raw = ctypes.c_ulonglong(self.bits)
        kinds = {
            0: ctypes.c_double,
            1: ctypes.c_uint,
            2: ctypes.c_ulong,
            3: ctypes.c_ulonglong,
            4: ctypes.c_longlong,
            5: ctypes.c_int,
        }
        kind = kinds.get(self.value_type)
        return ctypes.cast(ctypes.byref(raw), ctypes.POINTER(kind))[0] if kind else None


class Memory(ctypes.Structure):
    """nvmlMemory_t"""

    _fields_ = [
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    ]


class Utilization(ctypes.Structure):
    """nvmlUtilization_t"""

    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class GpmMetric(ctypes.Structure):
    """nvmlGpmMetric_t"""

    _fields_ = [
        ("metric_id", ctypes.c_uint),
        ("result", ctypes.c_int),
        ("value", ctypes.c_double),
        ("short_name", ctypes.c_char_p),
        ("long_name", ctypes.c_char_p),
        ("unit", ctypes.c_char_p),
    ]


class GpmMetricsGet(ctypes.Structure):
    """nvmlGpmMetricsGet_t; room for more metrics than any version of NVML has."""

    _fields_ = [
        ("version", ctypes.c_uint),
        ("count", ctypes.c_uint),
        ("first", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("metrics", GpmMetric * 512),
    ]


def slug(name):
    """A GPU's folder from its name: NVIDIA H200 -> h200."""
    text = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    return "-".join(text[1:] if len(text) > 1 and text[0] == "nvidia" else text)


def catalogue_type(name):
    for maker in ("NVIDIA ", "Tesla "):
        name = name[len(maker) :] if name.startswith(maker) else name
    return TYPES.get(name)


class Nvml:
    """One GPU through libnvidia-ml.so.1."""

    test = False

    def __init__(self, index):
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as e:
            raise GpuGone("no NVIDIA driver: libnvidia-ml.so.1 does not load (%s)" % e) from e
        self._must("nvmlInit_v2")
        self.handle = ctypes.c_void_p()
        self._must("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self.handle))
        self.gpm = self._gpm_supported()

    def _call(self, name, *args):
        """An NVML result, or None when this driver has no such function."""
        try:
            function = getattr(self.lib, name)
        except AttributeError:
            return None
        return function(*args)

    def _must(self, name, *args):
        rc = self._call(name, *args)
        if rc != OK:
            raise GpuGone("%s: NVML error %s" % (name, rc))

    def _get(self, name, kind, *args):
        """One value by the last argument of a getter; None when refused."""
        value = kind()
        rc = self._call(name, self.handle, *args, ctypes.byref(value))
        if rc == 15:
            raise GpuGone("%s: the GPU is lost" % name)
        if rc != OK:
            return None
        return getattr(value, "value", value)

    def _text(self, name, of_device=True):
        buffer = ctypes.create_string_buffer(96)
        args = (self.handle,) if of_device else ()
        rc = self._call(name, *args, buffer, ctypes.c_uint(96))
        return buffer.value.decode(errors="replace") if rc == OK else None

    def now(self):
        return time.monotonic()

    def sleep(self, seconds):
        time.sleep(seconds)

    def name(self):
        return self._text("nvmlDeviceGetName") or "unknown"

    def uuid(self):
        return self._text("nvmlDeviceGetUUID")

    def power_mw(self):
        return self._get("nvmlDeviceGetPowerUsage", ctypes.c_uint) or None

    def field(self, field_id):
        value = FieldValue(field_id=field_id)
        if (
            self._call(
                "nvmlDeviceGetFieldValues", self.handle, ctypes.c_int(1), ctypes.byref(value)
            )
            != OK
        ):
            return None
        return value.number() if value.result == OK else None

    def energy_mj(self):
        return self._get("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong) or None

    def clock_mhz(self, kind):
        return self._get("nvmlDeviceGetClockInfo", ctypes.c_uint, ctypes.c_uint(kind))

    def temperature_c(self):
        return self._get("nvmlDeviceGetTemperature", ctypes.c_uint, ctypes.c_uint(0))

    def throttle(self):
        for name in (
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        ):
            bits = self._get(name, ctypes.c_ulonglong)
            if bits is not None:
                return bits
        return None

    def gpu_util(self):
        u = self._get("nvmlDeviceGetUtilizationRates", Utilization)
        return None if u is None else u.gpu / 100

    def memory_used_mib(self):
        m = self._get("nvmlDeviceGetMemoryInfo", Memory)
        return None if m is None else m.used / 2**20

    def sm_clocks_mhz(self):
        memory = self._get("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, ctypes.c_uint(CLOCK_MEM))
        if memory is None:
            return None
        n = ctypes.c_uint(4096)
        list_ = (ctypes.c_uint * 4096)()
        rc = self._call(
            "nvmlDeviceGetSupportedGraphicsClocks",
            self.handle,
            ctypes.c_uint(memory),
            ctypes.byref(n),
            list_,
        )
        return sorted(list_[: n.value]) if rc == OK else None

    def _two(self, name, kind=ctypes.c_uint):
        a, b = kind(), kind()
        rc = self._call(name, self.handle, ctypes.byref(a), ctypes.byref(b))
        return (a.value, b.value) if rc == OK else (None, None)

    def facts(self):
        memory = self._get("nvmlDeviceGetMemoryInfo", Memory)
        low, high = self._two("nvmlDeviceGetPowerManagementLimitConstraints")
        number = lambda name, *a: self._get(name, ctypes.c_uint, *a)
        name = self.name()
        return {
            "name": name,
            "gpu_type": catalogue_type(name),
            "driver": self._text("nvmlSystemGetDriverVersion", of_device=False),
            "vbios": self._text("nvmlDeviceGetVbiosVersion"),
            "memory_mib": None if memory is None else memory.total // 2**20,
            "power_limit_mw": number("nvmlDeviceGetEnforcedPowerLimit"),
            "power_default_mw": number("nvmlDeviceGetPowerManagementDefaultLimit"),
            "power_min_mw": low,
            "power_max_mw": high,
            "sm_clock_max_mhz": number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint(CLOCK_SM)),
            "memory_clock_max_mhz": number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint(CLOCK_MEM)),
            "sm_clocks_mhz": self.sm_clocks_mhz(),
            "ecc": self._two("nvmlDeviceGetEccMode")[0],
            "mig": self._two("nvmlDeviceGetMigMode")[0],
            "compute_mode": COMPUTE_MODES.get(number("nvmlDeviceGetComputeMode")),
            "persistence_mode": number("nvmlDeviceGetPersistenceMode"),
            "pcie_generation": number("nvmlDeviceGetCurrPcieLinkGeneration"),
            "pcie_width": number("nvmlDeviceGetCurrPcieLinkWidth"),
        }

    def _gpm_supported(self):
        class Support(ctypes.Structure):
            """nvmlGpmSupport_t"""

            _fields_ = [("version", ctypes.c_uint), ("supported", ctypes.c_uint)]

        support = Support(1, 0)
        rc = self._call("nvmlGpmQueryDeviceSupport", self.handle, ctypes.byref(support))
        return rc == OK and bool(support.supported)

    def gpm_sample(self):
        """A sample to hand to gpm_between(), which frees it; None where GPM is not there."""
        if not self.gpm:
            return None
        sample = ctypes.c_void_p()
        if self._call("nvmlGpmSampleAlloc", ctypes.byref(sample)) != OK:
            return None
        if self._call("nvmlGpmSampleGet", self.handle, sample) != OK:
            self._call("nvmlGpmSampleFree", sample)
            return None
        return sample

    def gpm_between(self, first, second):
        """Columns of GPM_METRICS between two samples, at least some 100 ms apart."""
        out = {}
        if first is not None and second is not None:
            get = GpmMetricsGet(version=1, count=len(GPM_METRICS), first=first, second=second)
            for i, metric in enumerate(GPM_METRICS):
                get.metrics[i].metric_id = metric
            if self._call("nvmlGpmMetricsGet", ctypes.byref(get)) == OK:
                for m in get.metrics[: get.count]:
                    if m.result == OK and m.value == m.value:
                        column, factor = GPM_METRICS[m.metric_id]
                        out[column] = m.value * factor
        for sample in (first, second):
            if sample is not None:
                self._call("nvmlGpmSampleFree", sample)
        return out


class Recorded:
    """A GPU played from a recording (tests/gpu/recording.json): for tests, never evidence."""

    test = True

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            recording = json.load(f)
        if recording.get("test") is not True:
            raise GpuGone("%s: not a recording for tests: \"test\" must be true" % path)
        self.gpu = recording["gpu"]
        self.samples = recording["samples"]
        self.period_s = recording["period_s"]
        self.start = time.monotonic()
        self.gpm = False

    def now(self):
        return time.monotonic()

    def sleep(self, seconds):
        time.sleep(seconds)

    def _sample(self, key):
        t = (time.monotonic() - self.start) % self.period_s
        at = [s for s in self.samples if s["t_s"] <= t]
        return (at[-1] if at else self.samples[0]).get(key)

    def name(self):
        return self.gpu["name"]

    def uuid(self):
        return None

    def power_mw(self):
        return self._sample("power_mw")

    def field(self, _field_id):
        return None

    def energy_mj(self):
        """Steps of the recorded power, summed: a counter that refreshes with each recorded sample."""
        elapsed = time.monotonic() - self.start
        turns, t = divmod(elapsed, self.period_s)
        ends = [s["t_s"] for s in self.samples[1:]] + [self.period_s]
        parts = [(s["power_mw"] * (end - s["t_s"]), end) for s, end in zip(self.samples, ends)]
        whole = sum(e for e, _ in parts)
        return 1 + int(turns * whole + sum(e for e, end in parts if end <= t))

    def clock_mhz(self, kind):
        return self._sample("sm_clock_mhz" if kind == CLOCK_SM else "memory_clock_mhz")

    def temperature_c(self):
        return self._sample("temperature_c")

    def throttle(self):
        return 0

    def gpu_util(self):
        return self._sample("gpu_util")

    def memory_used_mib(self):
        return self._sample("memory_used_mib")

    def facts(self):
        return dict(self.gpu)

    def gpm_sample(self):
        return None

    def gpm_between(self, _first, _second):
        return {}


def open_gpu(index, recording):
    return Recorded(recording) if recording else Nvml(index)
