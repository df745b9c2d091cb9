#!/usr/bin/env python3
"""A tenant of an arbiter that has work for ever, or a packet of one's own: fair_client.py SOCKET ACTION [...]

work TENANT SECONDS [WEIGHT [CLOCK]]  take leases for so long; print what came of it as JSON
names PREFIX N SECONDS                the same work by N processes, each a tenant of its own
forks TENANT                          connect; a child has a context on GPU 0, and no connection
raw HEX...                            send packets; print what comes back, as types

FAIR_CLIENT_UID: root becomes that user before it connects. FAIR_CLIENT_HOLDS: it never releases a lease. It speaks the protocol of src/fair/fair_wire.h. The GPU is GPU 0 of `heshare gpus`.
"""
import ctypes
import functools
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
import uuid

MAGIC, VERSION = 0x46534548, 2
HELLO, WANT, RELEASE, STATUS, SET = 1, 2, 3, 4, 5
WELCOME, REFUSED, PREPARE, GRANT, STOP = 100, 101, 102, 103, 104


def head(kind):
    return struct.pack("=IHH", MAGIC, VERSION, kind)


@functools.cache
def gpu_uuid():
    out = subprocess.run(
        [os.environ.get("HESHARE", "heshare"), "gpus", "--json"], check=True, stdout=subprocess.PIPE
    ).stdout
    return uuid.UUID(json.loads(out)["gpus"][0]["uuid"].removeprefix("GPU-")).bytes


def connect(path):
    if "FAIR_CLIENT_UID" in os.environ:
        os.setgroups([])
        os.setuid(int(os.environ["FAIR_CLIENT_UID"]))
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    return s


def receive(s, seconds):
    """@return a message, b"" at the end of the connection, None when none came"""
    if not select.select([s], [], [], max(seconds, 0))[0]:
        return None
    try:
        return s.recv(4096)
    except ConnectionResetError:
        return b""


def kind_of(packet):
    return struct.unpack_from("=IHH", packet)[2]


def work(path, tenant, seconds, weight="1", clock="0"):
    s = connect(path)
    s.send(hello(tenant, float(weight), int(clock)))
    result = {
        "tenant": tenant,
        "welcome": False,
        "refused": "",
        "leases": 0,
        "held_s": 0.0,
        "stops": 0,
        "closed": False,
    }
    end = time.monotonic() + float(seconds)
    lease, granted, over = 0, 0.0, 0.0
    while time.monotonic() < end:
        holds = lease and "FAIR_CLIENT_HOLDS" in os.environ
        packet = receive(s, min(over if lease and not holds else end, end) - time.monotonic())
        if packet == b"":
            result["closed"] = True
            break
        kind = kind_of(packet) if packet else None
        if kind == WELCOME:
            result["welcome"] = True
            s.send(head(WANT))
        elif kind == REFUSED:
            code, _, text = struct.unpack_from("=iI160s", packet, 8)
            result["refused"] = text.rstrip(b"\0").decode()
            break
        elif kind == GRANT:
            lease, slice_ns = struct.unpack_from("=QQ", packet, 8)
            granted = time.monotonic()
            over = granted + slice_ns * 1e-9 if slice_ns else end
            result["leases"] += 1
        elif kind == STOP:
            result["stops"] += 1
            over = 0.0
        if lease and not holds and time.monotonic() >= over:
            held = time.monotonic() - granted
            result["held_s"] += held
            s.send(head(RELEASE) + struct.pack("=QQQII", lease, int(held * 1e9), 1, 1, 0))
            lease = 0
    if lease:
        result["held_s"] += time.monotonic() - granted
    print(json.dumps(result), flush=True)


def names(path, prefix, n, seconds):
    gpu_uuid()  # once
    for i in range(int(n)):
        if not os.fork():
            work(path, prefix + str(i), seconds)
            os._exit(0)
    for i in range(int(n)):
        os.wait()


def hello(tenant, weight=1.0, clock=0):
    return head(HELLO) + gpu_uuid() + struct.pack("=dII64s", weight, clock, 0, tenant.encode())


def forks(path, tenant):
    s = connect(path)
    s.send(hello(tenant))
    if not os.fork():
        cuda, context, device = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_int()
        cuda.cuInit(0)
        cuda.cuDeviceGet(ctypes.byref(device), 0)
        print(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), flush=True)
    time.sleep(1000)


def raw(path, *packets):
    s = connect(path)
    for p in packets:
        try:
            s.send(bytes.fromhex(p))
        except BrokenPipeError:
            break
    while True:
        packet = receive(s, 1)
        if not packet:
            print("closed" if packet == b"" else "open")
            return
        print(kind_of(packet))


if __name__ == "__main__":
    {"work": work, "names": names, "forks": forks, "raw": raw}[sys.argv[2]](
        sys.argv[1], *sys.argv[3:]
    )
