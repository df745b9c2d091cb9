"""What the GPU's sensors are worth: idle and context power, refresh, energy counter against integral."""
import sampler as sensors
import schedule
import stats

LOAD = ("resnet50", 32)


def record(sampler, gpu, state, seconds):
    """Readings of a state, as rows of sensor.csv."""
    start = gpu.now()
    gpu.sleep(seconds)
    sampler.check()
    readings = sampler.between(start, gpu.now())
    return [{**r, "state": state, "t_ms": 1000 * (r["t"] - start)} for r in readings]


def mean_power(rows):
    """Over the second half of a state: the first may still settle."""
    values = [r["power_mw"] for r in rows[len(rows) // 2 :] if r["power_mw"] is not None]
    return stats.mean(values) if values else None


def as_ms(seconds):
    return None if seconds is None else 1000 * seconds


def energy_error_pct(rows):
    """
    Counter over integral, minus 1, between the counter's first and last change within a loaded stretch. A sensor that
    shows a mean over the last second lags behind; the stretch is cut so that its load is even.
    """
    energy = stats.changes(sensors.column(rows, "energy_mj"))
    energy = energy[len(energy) // 4 :]
    if len(energy) < 2:
        return None
    (start, e0), (end, e1) = energy[0], energy[-1]
    integral = stats.integral(sensors.power_column(rows), start, end)
    return 100 * ((e1 - e0) / integral - 1) if integral else None


def summary(rows_of):
    """Keys of gpu.json. @param rows_of  rows of sensor.csv by state, those that were recorded"""
    load = rows_of.get("load", [])
    return {
        "idle_power_mw": mean_power(rows_of.get("idle", [])),
        "context_power_mw": mean_power(rows_of.get("context", [])),
        "power_refresh_ms": as_ms(stats.refresh_s(sensors.power_column(load))) if load else None,
        "energy_refresh_ms": as_ms(stats.refresh_s(sensors.column(load, "energy_mj")))
        if load
        else None,
        "energy_error_pct": energy_error_pct(load) if load else None,
    }


def seconds(scale):
    return {state: s * scale for state, s in schedule.SENSOR_S.items()}
