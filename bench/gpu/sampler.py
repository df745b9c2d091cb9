"""
A thread that reads the GPU's sensors all the while. Readings are kept as they came; a reading that failed
is None. The readers below cut windows out of them.
"""
import threading

import gpu_data as nvml
import stats

SLOWDOWN = (
    0x8 | 0x20 | 0x40 | 0x80
)  # NVML's reasons: hardware slowdown, thermal by software and hardware, power brake
PERIOD_S = 0.02  # GPUs refresh every 20 to 100 ms; reading faster repeats values


class Sampler:
    def __init__(self, gpu, period_s=PERIOD_S):
        self.gpu = gpu
        self.period_s = period_s
        self.readings = []
        self.lost = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _read(self):
        b = self.gpu
        t0 = b.now()
        energy = b.energy_mj()
        t1 = b.now()
        return {
            "t": (t0 + t1) / 2,
            "energy_mj": energy,
            "power_mw": b.power_mw(),
            "power_instant_mw": b.field(nvml.FIELD_POWER_INSTANT),
            "power_average_mw": b.field(nvml.FIELD_POWER_AVERAGE),
            "sm_clock_mhz": b.clock_mhz(nvml.CLOCK_SM),
            "memory_clock_mhz": b.clock_mhz(nvml.CLOCK_MEM),
            "temperature_c": b.temperature_c(),
            "throttle": b.throttle(),
            "gpu_util": b.gpu_util(),
        }

    def _run(self):
        while not self._stop.is_set():
            try:
                self.readings.append(self._read())
            except nvml.GpuGone as e:
                self.lost = e
                return
            self._stop.wait(self.period_s)

    def stop(self):
        self._stop.set()
        self._thread.join(5)

    def check(self):
        """Raise what ended the thread."""
        if self.lost:
            raise self.lost

    def forget(self, before):
        """Drop readings older than a time, so that a long run stays small."""
        self.readings = [r for r in self.readings if r["t"] >= before]

    def between(self, start, end):
        return [r for r in list(self.readings) if start <= r["t"] <= end]


def column(readings, key):
    return [(r["t"], r[key]) for r in readings]


def power_column(readings):
    """The instantaneous power where the driver tells it, else what nvmlDeviceGetPowerUsage says."""
    instant = any(r["power_instant_mw"] for r in readings)
    return column(readings, "power_instant_mw" if instant else "power_mw")


def mean_of(readings, key):
    values = [r[key] for r in readings if r[key] is not None]
    return stats.mean(values) if values else None


def gpu_columns(readings, start, end):
    """The GPU's columns of a table, from readings that reach a little beyond both ends."""
    inside = [r for r in readings if start <= r["t"] <= end]
    integral = stats.integral(power_column(readings), start, end)
    bits = [r["throttle"] for r in inside if r["throttle"] is not None]
    seen = 0
    for b in bits:
        seen |= b
    return {
        "power_mw": stats.counter_power(column(readings, "energy_mj"), start, end),
        "power_integral_mw": None if integral is None else integral / (end - start),
        "sm_clock_mhz": mean_of(inside, "sm_clock_mhz"),
        "memory_clock_mhz": mean_of(inside, "memory_clock_mhz"),
        "gpu_util": mean_of(inside, "gpu_util"),
        "temperature_c": inside[-1]["temperature_c"] if inside else None,
        "throttle": "%x" % seen if bits else None,
        "slowed_down": bool(seen & SLOWDOWN),
    }
