#!/usr/bin/env python3
"""A small arbiter for tests of the preload library: round robin over all connections, whatever their GPU.

    tiny_arbiter.py SOCKET [--slice MS] [--window MS] [--idle MS] [--log FILE] [--refuse TEXT [--code ERRNO] [--times N]] [--version N]

It speaks the protocol of src/fair/fair_wire.h. The log has a JSON line a message. Ends with SIGTERM.
"""
import argparse
import errno
import json
import os
import select
import signal
import socket
import struct
import sys
import time

MAGIC, VERSION = 0x46534548, 2
HELLO, WANT, RELEASE, PING = 1, 2, 3, 6
WELCOME, REFUSED, PREPARE, GRANT, STOP, PONG = 100, 101, 102, 103, 104, 109
HEAD = struct.Struct("=IHH")
BODY = {
    HELLO: struct.Struct("=16sdII64s"),
    WANT: struct.Struct("="),
    RELEASE: struct.Struct("=QQQII"),
    PING: struct.Struct("="),
    PONG: struct.Struct("="),
    WELCOME: struct.Struct("=QQ"),
    REFUSED: struct.Struct("=iI160s"),
    PREPARE: struct.Struct("="),
    GRANT: struct.Struct("=QQ"),
    STOP: struct.Struct("=Q"),
}
NAMES = {
    HELLO: "hello",
    WANT: "want",
    RELEASE: "release",
    PING: "ping",
    PONG: "pong",
    WELCOME: "welcome",
    REFUSED: "refused",
    PREPARE: "prepare",
    GRANT: "grant",
    STOP: "stop",
}


class Tenant:
    def __init__(self, connection, number):
        self.connection, self.number, self.name, self.wants = connection, number, None, False


class Arbiter:
    def __init__(self, options):
        self.options, self.tenants, self.holder = options, [], None
        self.lease, self.granted, self.stopped, self.count = 0, 0.0, False, 0
        self.endless = False
        self.log = open(options.log, "a", buffering=1, encoding="utf-8") if options.log else None
        if os.path.exists(options.socket):
            os.unlink(options.socket)
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(options.socket)
        self.server.listen(16)

    def note(self, tenant, kind, **fields):
        if self.log:
            self.log.write(
                json.dumps(
                    {
                        "at": time.monotonic(),
                        "tenant": tenant.number,
                        "name": tenant.name,
                        "message": NAMES.get(kind, kind),
                        **fields,
                    }
                )
                + "\n"
            )

    def send(self, tenant, kind, *values, **fields):
        self.note(tenant, kind, **fields)
        try:
            tenant.connection.send(
                HEAD.pack(MAGIC, self.options.version, kind) + BODY[kind].pack(*values)
            )
        except OSError:
            self.drop(tenant)

    def drop(self, tenant):
        if tenant in self.tenants:
            self.note(tenant, "gone")
            self.tenants.remove(tenant)
            tenant.connection.close()
        if self.holder is tenant:
            self.holder = None

    def take(self, tenant, packet):
        magic, version, kind = HEAD.unpack(packet[: HEAD.size])
        if magic != MAGIC:
            raise ValueError("not this protocol")
        if version != self.options.version:
            self.send(tenant, REFUSED, -errno.EPROTONOSUPPORT, 0, b"another version")
            self.drop(tenant)
            return
        values = BODY[kind].unpack(packet[HEAD.size :])
        if kind == HELLO:
            tenant.name = values[4].rstrip(b"\0").decode()
            self.note(tenant, kind, gpu=values[0].hex(), weight=values[1], clock=values[2])
            if self.options.refuse and self.options.times != 0:
                self.options.times -= 1
                self.send(tenant, REFUSED, -self.options.code, 0, self.options.refuse.encode())
                self.drop(tenant)
            else:
                self.send(
                    tenant, WELCOME, int(self.options.window * 1e6), int(self.options.idle * 1e6)
                )
        elif kind == PING:
            self.send(tenant, PONG)
        elif kind == WANT:
            self.note(tenant, kind)
            tenant.wants = True
        elif kind == RELEASE:
            self.note(
                tenant,
                kind,
                lease=values[0],
                gpu_ns=values[1],
                launches=values[2],
                more=values[3],
                held_ns=int((time.monotonic() - self.granted) * 1e9),
            )
            if self.holder is tenant and values[0] == self.lease:
                self.holder = None
            tenant.wants = tenant.wants or values[3] == 1

    def schedule(self):
        waiting = [t for t in self.tenants if t.wants]
        if self.holder is None and waiting:
            tenant = waiting[0]
            self.tenants.remove(tenant)
            self.tenants.append(tenant)  # last in the next round
            tenant.wants = False
            self.lease += 1
            self.endless = len(waiting) == 1
            self.granted, self.stopped, self.holder = time.monotonic(), False, tenant
            slice_ns = 0 if self.endless else int(self.options.slice * 1e6)
            self.send(tenant, GRANT, self.lease, slice_ns, lease=self.lease, slice_ns=slice_ns)
        elif self.holder is not None and waiting and self.endless and not self.stopped:
            if time.monotonic() - self.granted >= self.options.slice * 1e-3:
                self.stopped = True
                self.send(self.holder, STOP, self.lease, lease=self.lease)
                self.send(waiting[0], PREPARE)

    def step(self):
        wait = (
            0.001
            if self.holder is not None
            and self.endless
            and not self.stopped
            and any(t.wants for t in self.tenants)
            else 0.5
        )
        ready, _, _ = select.select(
            [self.server] + [t.connection for t in self.tenants], [], [], wait
        )
        for s in ready:
            if s is self.server:
                self.count += 1
                self.tenants.append(Tenant(s.accept()[0], self.count))
                continue
            tenant = next((t for t in self.tenants if t.connection is s), None)
            if tenant is None:
                continue
            try:
                packet = s.recv(4096)
            except OSError:
                packet = b""
            if packet:
                self.take(tenant, packet)
            else:
                self.drop(tenant)
        self.schedule()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--slice", type=float, default=20)
    parser.add_argument("--window", type=float, default=2)
    parser.add_argument("--idle", type=float, default=0.5)
    parser.add_argument("--log")
    parser.add_argument("--refuse")
    parser.add_argument("--code", type=int, default=1)
    parser.add_argument("--times", type=int, default=-1)
    parser.add_argument("--version", type=int, default=VERSION)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    arbiter = Arbiter(parser.parse_args())
    print("ready", flush=True)
    while True:
        arbiter.step()


if __name__ == "__main__":
    main()
