"""Pure functions on readings: means, variation, quantiles, refresh, energy. No clock, no device."""
import math


def mean(values):
    return math.fsum(values) / len(values)


def cv_pct(values):
    """Coefficient of variation in percent (sample standard deviation over mean); None below two values."""
    if len(values) < 2:
        return None
    m = mean(values)
    if not m > 0:
        return None
    return 100 * math.sqrt(math.fsum((v - m) ** 2 for v in values) / (len(values) - 1)) / m


def quantile(values, q):
    """The q quantile, 0..1, linear between order statistics; None of nothing."""
    if not values:
        return None
    v = sorted(values)
    at = q * (len(v) - 1)
    low = int(at)
    high = min(low + 1, len(v) - 1)
    return v[low] + (at - low) * (v[high] - v[low])


def changes(series):
    """Of (time, value) readings those whose value differs from the one before; missing values (None) are skipped."""
    out = []
    last = None
    for t, v in series:
        if v is None:
            continue
        if last is not None and v != last:
            out.append((t, v))
        last = v
    return out


def refresh_s(series):
    """Median time between changes of a sensor; None when it changed less than three times."""
    at = [t for t, _ in changes(series)]
    if len(at) < 3:
        return None
    return quantile([b - a for a, b in zip(at, at[1:])], 0.5)


def integral(series, start, end):
    """Integral of (time, value) over [start, end], trapezoids, ends interpolated; None when the readings do not cover it."""
    v = [(t, x) for t, x in series if x is not None]
    if not v or v[0][0] > start or v[-1][0] < end or end <= start:
        return None

    def at(when, before, after):
        (t0, x0), (t1, x1) = before, after
        return x0 if t1 == t0 else x0 + (x1 - x0) * (when - t0) / (t1 - t0)

    total = 0.0
    for before, after in zip(v, v[1:]):
        t0, t1 = max(before[0], start), min(after[0], end)
        if t1 > t0:
            total += (at(t0, before, after) + at(t1, before, after)) / 2 * (t1 - t0)
    return total


def counter_power(series, start, end):
    """
    Mean of what an energy counter counts a second over about [start, end]: between its first change after
    start and its last before end, so that its refresh does not matter. None with fewer than two changes.
    """
    v = [(t, x) for t, x in changes(series) if start <= t <= end]
    if len(v) < 2:
        return None
    (t0, e0), (t1, e1) = v[0], v[-1]
    return (e1 - e0) / (t1 - t0)


def iteration_s(completions):
    """Mean time of an iteration from its completion times; None with fewer than two."""
    if len(completions) < 2:
        return None
    return (completions[-1] - completions[0]) / (len(completions) - 1)


def gaps(completions):
    return [b - a for a, b in zip(completions, completions[1:])]
