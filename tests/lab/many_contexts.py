#!/usr/bin/env python3
"""A CUDA program with several contexts, on one GPU or two, for tests of the preload library: many_contexts.py GPUS CONTEXTS [keep]

It launches into streams of all contexts by turns, destroys streams and contexts with work in them, forks, and makes
contexts again. It prints the sum of what its kernels wrote. With keep it destroys none: it ends after its launches.
"""
import ctypes
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")
P, U, Q = ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint64


def call(name, *args):
    rc = getattr(cuda, name)(*args)
    if rc:
        print("%s: error %d" % (name, rc), flush=True)
        os._exit(1)


def open_context(device):
    context, module, function, memory, stream = P(), P(), P(), Q(), P()
    call("cuCtxCreate_v2", ctypes.byref(context), U(0), device)
    call("cuModuleLoadData", ctypes.byref(module), b"heshare-lab workloads 1\n")
    call("cuModuleGetFunction", ctypes.byref(function), module, b"lab.fill")
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4096))
    call("cuStreamCreate", ctypes.byref(stream), U(1))
    call("cuCtxPopCurrent_v2", ctypes.byref(context))
    return {"context": context, "function": function, "memory": memory, "stream": stream}


def fill(c, value):
    params = (P * 3)()
    values = (c["memory"], U(1024), U(value))
    for i, v in enumerate(values):
        params[i] = ctypes.cast(ctypes.byref(v), P)
    call("cuCtxPushCurrent_v2", c["context"])
    call(
        "cuLaunchKernel",
        c["function"],
        U(1),
        U(1),
        U(1),
        U(1),
        U(1),
        U(1),
        U(0),
        c["stream"],
        params,
        None,
    )
    call("cuCtxPopCurrent_v2", ctypes.byref(P()))


def close_context(c):
    words = (U * 1024)()
    call("cuCtxPushCurrent_v2", c["context"])
    call("cuStreamSynchronize", c["stream"])
    call("cuMemcpyDtoH_v2", words, c["memory"], ctypes.c_size_t(4096))
    call("cuStreamDestroy_v2", c["stream"])
    stream = P()
    call("cuStreamCreate", ctypes.byref(stream), U(1))
    c["stream"] = stream
    call("cuCtxPopCurrent_v2", ctypes.byref(P()))
    fill(c, 7)
    call("cuCtxDestroy_v2", c["context"])
    return sum(words)


def keep(gpus, contexts):
    open_ones = [open_context(i % gpus) for i in range(contexts)]
    for value in range(1, 101):
        for c in open_ones:
            fill(c, value)


def rounds(gpus, contexts):
    open_ones = [open_context(i % gpus) for i in range(contexts)]
    for value in range(1, 101):
        for i, c in enumerate(open_ones):
            fill(c, value + i)
    return sum(close_context(c) for c in open_ones)


def main():
    gpus, contexts = int(sys.argv[1]), int(sys.argv[2])
    call("cuInit", U(0))
    if sys.argv[3:]:
        keep(gpus, contexts)
        print("kept")
        return
    total = rounds(gpus, contexts)
    child = os.fork()
    if not child:
        # A forked child must call cuInit again.
        os._exit(3 if cuda.cuCtxSynchronize() else 0)
    if os.WEXITSTATUS(os.waitpid(child, 0)[1]) != 3:
        sys.exit("the child of a fork has a driver")
    print(total + rounds(gpus, contexts), flush=True)


if __name__ == "__main__":
    main()
