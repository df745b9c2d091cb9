#!/usr/bin/env python3
"""
bench/gpu/kernels.py MODE - a small CUDA program through the driver API, without PyTorch.

    job --iterations N [--us US] [--blocks N]  a kernel of US microseconds an iteration, with progress
    long --us US [--blocks N]                  such kernels for ever; a line when each begins
    launches --seconds S                       empty kernels a second, alone and in CUDA graphs; JSON
    threads                                    threads before and after NVML and CUDA are loaded; JSON

--blocks 0 fills the GPU. In the lab the kernels are the lab's own, since it runs no machine code.
"""
import argparse
import ctypes
import json
import os
import signal
import sys
import time

PTX = b"""
.version 6.3
.target sm_50
.address_size 64
.visible .entry noop()
{
	ret;
}
.visible .entry spin(.param .u32 us)
{
	.reg .pred %p;
	.reg .b32 %r;
	.reg .b64 %d<5>;
	ld.param.u32 %r, [us];
	mul.wide.u32 %d1, %r, 1000;
	mov.u64 %d2, %globaltimer;
again:
	mov.u64 %d3, %globaltimer;
	sub.s64 %d4, %d3, %d2;
	setp.lt.u64 %p, %d4, %d1;
	@%p bra again;
	ret;
}
"""
LAB = b"heshare-lab workloads 1\n"
NO_BINARY = 209  # CUDA_ERROR_NO_BINARY_FOR_GPU: what the lab says of machine code
SMS, THREADS_OF_SM = 16, 39  # CUdevice_attribute
PR_SET_PDEATHSIG = 1
BLOCK = 1024  # threads
GRAPH = 100  # kernels in a graph
IN_FLIGHT = 4  # kernels of a job: the next one's launch hides behind those that run
EVERY_S = 0.05  # between two progress lines


class CudaFailed(Exception):
    """A call of the driver failed."""


class Cuda:
    """The first GPU, a stream, and two kernels: noop, and spin, which is busy for a given time."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", ctypes.c_uint(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.full = self.attribute(device, SMS) * (self.attribute(device, THREADS_OF_SM) // BLOCK)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), ctypes.c_uint(1))
        self.noop, self.spin = self.kernels()

    def call(self, name, *args, but=0):
        """@param but  another result that is no failure. @return the result"""
        rc = getattr(self.lib, name)(*args)
        if rc not in (0, but):
            raise CudaFailed("%s: CUDA error %d" % (name, rc))
        return rc

    def attribute(self, device, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), device)
        return value.value

    def kernels(self):
        module, names = ctypes.c_void_p(), (b"noop", b"spin")
        if self.call("cuModuleLoadData", ctypes.byref(module), PTX, but=NO_BINARY):
            self.call("cuModuleLoadData", ctypes.byref(module), LAB)
            names = (b"lab.noop", b"lab.spin")
        kernels = [ctypes.c_void_p() for _ in names]
        for kernel, name in zip(kernels, names):
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name)
        return kernels

    def launcher(self, kernel, blocks, threads, us=None):
        """@return a function that launches it, with everything prepared"""
        value = ctypes.c_uint(us or 0)
        params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(value), ctypes.c_void_p))
        one, none = ctypes.c_uint(1), ctypes.c_void_p()
        grid = (ctypes.c_uint(blocks or self.full), one, one, ctypes.c_uint(threads), one, one)
        function, args = self.lib.cuLaunchKernel, (kernel, *grid, ctypes.c_uint(0), self.stream)
        kept = (value, params)

        def launch():
            rc = function(*args, kept[1], none)
            if rc:
                raise CudaFailed("cuLaunchKernel: CUDA error %d" % rc)

        return launch

    def events(self, n):
        events = [ctypes.c_void_p() for _ in range(n)]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(2))  # without times
        return events

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def graph(self, launch, n):
        """@return a function that launches a graph of n such launches"""
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, ctypes.c_int(1))
        for _ in range(n):
            launch()
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        return lambda: self.call("cuGraphLaunch", ready, self.stream)


def job(o):
    cuda = Cuda()
    launch, events = cuda.launcher(cuda.spin, o.blocks, BLOCK, o.us), cuda.events(IN_FLIGHT)
    start = said = time.monotonic()
    for i in range(o.iterations + IN_FLIGHT):
        event, done = events[i % IN_FLIGHT], i - IN_FLIGHT + 1
        if done > 0:
            cuda.call("cuEventSynchronize", event)
        if i < o.iterations:
            launch()
            cuda.call("cuEventRecord", event, cuda.stream)
        now = time.monotonic()
        if done > 0 and (now - said >= EVERY_S or done == o.iterations):
            print("heshare: %d iterations in %.6f s" % (done, now - start), flush=True)
            said = now


def long(o):
    ctypes.CDLL(None).prctl(
        PR_SET_PDEATHSIG, signal.SIGKILL
    )  # which ends it while it is stopped, too
    cuda = Cuda()
    launch, i = cuda.launcher(cuda.spin, o.blocks, BLOCK, o.us), 0
    while True:
        launch()
        i += 1
        print("heshare: %d iterations in %.6f s" % (i, time.monotonic()), flush=True)
        cuda.wait()


def rate(cuda, launch, at_once, seconds):
    """Launches a second, with a wait after each `at_once` of them."""
    n, start = 0, time.monotonic()
    while time.monotonic() - start < seconds:
        for _ in range(at_once):
            launch()
        cuda.wait()
        n += at_once
    return n / (time.monotonic() - start)


def launches(o):
    cuda = Cuda()
    launch = cuda.launcher(cuda.noop, 1, 1)
    graph = cuda.graph(launch, GRAPH)
    for run in (launch, graph):
        rate(cuda, run, 10, 0.05)
    alone = rate(cuda, launch, 500, o.seconds)
    in_graph = rate(cuda, graph, 20, o.seconds)
    print(
        json.dumps(
            {
                "launches_per_s": alone,
                "graphs_per_s": in_graph,
                "kernels_of_a_graph": GRAPH,
                "sms_full": cuda.full,
            }
        )
    )


def threads_now():
    """Names of this process's threads, and the signals that each blocks, as in /proc."""
    out = []
    for task in sorted(os.listdir("/proc/self/task"), key=int):
        with open("/proc/self/task/%s/status" % task, encoding="utf-8") as f:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        out.append({"name": fields["Name"], "blocked": fields["SigBlk"]})
    return out


def threads(_o):
    out = {"start": threads_now()}
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    out["nvml_result"] = nvml.nvmlInit_v2()
    out["nvml"] = threads_now()
    Cuda()
    out["cuda"] = threads_now()
    print(json.dumps(out))


def main():
    p = argparse.ArgumentParser(prog="kernels.py", description=__doc__.strip().split("\n", 1)[0])
    modes = {"job": job, "long": long, "launches": launches, "threads": threads}
    p.add_argument("mode", choices=modes)
    p.add_argument("--iterations", type=int, default=10**9)
    p.add_argument("--us", type=int, default=1000)
    p.add_argument("--blocks", type=int, default=0)
    p.add_argument("--seconds", type=float, default=1)
    o = p.parse_args()
    try:
        modes[o.mode](o)
    except (CudaFailed, OSError) as e:
        print("kernels.py: %s" % e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
