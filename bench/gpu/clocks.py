"""Locked SM clocks: the only thing this folder ever changes on a GPU, and only when its owner allows it."""
import contextlib
import ctypes

import gpu_data as nvml


def thinned(clocks_mhz, most=6):
    """At most so many of a list of clocks, spread evenly, the highest first."""
    if not clocks_mhz:
        return []
    v = sorted(set(clocks_mhz))
    if len(v) <= most:
        return v[::-1]
    return [v[round(i * (len(v) - 1) / (most - 1))] for i in range(most)][::-1]


def reset(index):
    gpu = nvml.Nvml(index)
    return gpu._call("nvmlDeviceResetGpuLockedClocks", gpu.handle)


@contextlib.contextmanager
def locked(gpu, index, guard, clock_mhz):
    """Lock for the length of a with block. @raise PermissionError when the driver refuses."""
    guard.register("clocks", index)
    try:
        rc = gpu._call(
            "nvmlDeviceSetGpuLockedClocks",
            gpu.handle,
            ctypes.c_uint(clock_mhz),
            ctypes.c_uint(clock_mhz),
        )
        if rc != nvml.OK:
            raise PermissionError(
                "the driver refuses to lock %d MHz (NVML error %s): run as root" % (clock_mhz, rc)
            )
        yield
    finally:
        reset(index)
        guard.drop("clocks")
