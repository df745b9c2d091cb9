"""
Steady state: warm-up, then windows side by side until the iteration times of all members vary by less than 5 %
between windows, or there were enough of them.
"""
import lanes as crew
import sampler as sensors
import stats

CV_PCT = 5.0


class Manner:
    """How long to look. Times in seconds."""

    def __init__(
        self, warm_up_s=0.5, window_s=1.0, least=3, most=8, completions=5, patience_s=None
    ):
        if completions < 2:
            raise ValueError(
                "%d completions in a window: a mean time of an iteration needs 2" % completions
            )
        self.warm_up_s = warm_up_s
        self.window_s = window_s
        self.least = least  # windows
        self.most = most
        self.completions = completions  # of the slowest member in a window
        self.patience_s = patience_s or 30 * window_s  # for them, before the point has failed

    def seconds(self):
        return self.warm_up_s + self.least * self.window_s


def one_window(gpu, lanes, manner):
    """
    @return (start, end): long enough for every lane's completions within it. A completion is counted a little after its
    time, which may be before the start; so times are looked at, not counts.
    """
    start = gpu.now()
    gpu.sleep(manner.window_s)
    deadline = start + manner.patience_s
    while True:
        end = gpu.now()
        if all(len(lane.ring.between(start, end)) >= manner.completions for lane in lanes):
            return start, end
        if end > deadline:
            raise crew.WorkerFailed(
                "no %d iterations in a window of %.0f s" % (manner.completions, manner.patience_s)
            )
        gpu.sleep(0.02)


def member_row(lane, bounds):
    times = lane.ring.between(bounds[0][0], bounds[-1][1])
    gaps = [g * 1e6 for g in stats.gaps(times)]
    each = [stats.iteration_s(lane.ring.between(a, b)) for a, b in bounds]
    network, batch, precision, _ = lane.loaded
    iteration = stats.iteration_s(times)
    return {
        "workload": network,
        "batch_size": batch,
        "precision": precision,
        "sms": lane.sms,
        "memory_mib": lane.memory_mib,
        "iterations": len(times),
        "iteration_us": iteration * 1e6,
        "cv_pct": stats.cv_pct([e for e in each if e]),
        "p50_us": stats.quantile(gaps, 0.5),
        "p95_us": stats.quantile(gaps, 0.95),
        "p99_us": stats.quantile(gaps, 0.99),
        "items_per_s": batch / iteration,
    }


def settled(lanes, bounds):
    if len(bounds) < 2:
        return False
    for lane in lanes:
        cv = stats.cv_pct([stats.iteration_s(lane.ring.between(a, b)) for a, b in bounds])
        if cv is None or cv >= CV_PCT:
            return False
    return True


def look(gpu, sampler, lanes, manner):
    """Windows until they agree. @return list of (start, end)"""
    bounds = []
    while len(bounds) < manner.least or (
        not settled(lanes[:], bounds[-manner.least :]) and len(bounds) < manner.most
    ):
        bounds.append(one_window(gpu, lanes, manner))
        sampler.check()
    return bounds[-manner.least :] if settled(lanes, bounds[-manner.least :]) else bounds


def measure(gpu, sampler, lanes, manner):
    """
    Run lanes together and look.
    @return (columns of the GPU, columns of each member)
    """
    crew.run(lanes)
    try:
        started = gpu.now()
        crew.wait_for(lanes, 3, 60)
        gpu.sleep(max(0.0, manner.warm_up_s - (gpu.now() - started)))
        first = gpu.gpm_sample()
        bounds = look(gpu, sampler, lanes, manner)
        activity = gpu.gpm_between(first, gpu.gpm_sample())
        gpu.sleep(3 * sampler.period_s)
    finally:
        crew.halt(lanes)
    start, end = bounds[0][0], bounds[-1][1]
    columns = sensors.gpu_columns(sampler.between(start - 1, end + 1), start, end)
    members = [member_row(lane, bounds) for lane in lanes]
    slowed_down = columns.pop("slowed_down")
    steady = not slowed_down and all(
        m["cv_pct"] is not None and m["cv_pct"] < CV_PCT for m in members
    )
    columns.update(activity, windows=len(bounds), window_s=end - start, steady=int(steady))
    return columns, members
