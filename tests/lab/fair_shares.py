#!/usr/bin/env python3
"""Unmodified programs take turns on a virtual GPU: fair_shares.py [--seconds S] [--within PCT] [--rough] [--speed N] [--seed N] [CASE...]

Starts a lab of its own. Programs are tests/lab/cuda_client.c with the preload library, the arbiter is `heshare fair serve`. GPU time
is what the virtual GPU itself counted (vgpu-look --clients): neither the arbiter nor the library tells it. Prints TAP; each case
says in a comment what it measured. HESHARE and HES_CUDA_CLIENT name the programs.
"""
import argparse
import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from lab import HESHARE, LAB, Wrong, await_that, enter_namespace, expect, kill

CLIENT = os.environ.get("HES_CUDA_CLIENT", "build/tests/cuda_client")
INTERVAL_S = 0.2
REFRESH_S = 0.1  # of the energy counter
# Of different power: a tenant's slice depends on it.
WORK = [
    ("--workload", "bert-large", "--batch", "1"),
    ("--workload", "mobilenetv2", "--batch", "1"),
    ("--workload", "resnet50", "--batch", "2"),
    ("--spin", "500"),
    ("--workload", "resnet18", "--batch", "4"),
    ("--spin", "2000"),
    ("--workload", "mobilenet", "--batch", "2"),
    ("--spin", "50"),
]


def look():
    """GPU seconds by process, and of the GPU as a whole under "all"."""
    text = subprocess.run(
        ["vgpu-look", "--clients"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    rows = [line.split() for line in text.splitlines()[1:]]
    return {r[1] if r[1] == "all" else int(r[1]): float(r[2]) for r in rows if r[0] == "0"}


def powers(store):
    """W by tenant, as a store has them"""
    rows = sqlite3.connect(store).execute("SELECT tenant, power_w FROM tenant_powers")
    return dict(rows.fetchall())


def power_alone(work):
    """W of a program that has the GPU to itself, over five seconds"""
    client = subprocess.Popen([CLIENT, *work, "--for", "1000"], stdout=subprocess.DEVNULL)
    await_that("its work", lambda: look().get(client.pid, 0) > 0.2)
    text = subprocess.run(
        [HESHARE, "measure", "--gpus", "0", "--json", "-o", "-", "--", "sleep", "5"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    client.kill()
    client.wait()
    return json.loads(text)["gpus"][0]["power_w"]


class Arbiter:
    def __init__(self, folder, *options):
        self.socket = os.path.join(folder, "fair.sock")
        self.options = options
        self.folder = folder
        self.start()

    def start(self):
        self.log = open(os.path.join(self.folder, "serve.log"), "a", encoding="utf-8")
        self.child = subprocess.Popen(
            [
                HESHARE,
                "fair",
                "serve",
                "--gpus",
                "0",
                "--interval",
                "%gms" % (INTERVAL_S * 1e3),
                "--socket",
                self.socket,
                "--store",
                os.path.join(self.folder, "store.db"),
                *self.options,
            ],
            stdout=self.log,
            stderr=self.log,
        )
        await_that("the arbiter", self.answers)

    def answers(self):
        expect(
            self.child.poll() is None,
            "the arbiter ended:",
            open(self.log.name, encoding="utf-8").read(),
        )
        return self.top() is not None

    def measured(self):
        """Names of the tenants that it has measured."""
        with open(self.log.name, encoding="utf-8") as f:
            return set(re.findall(r"tenant (\S+) of user \d+, process \d+ draws", f.read()))

    def top(self):
        done = subprocess.run(
            [HESHARE, "fair", "top", "--json", "--once", "--socket", self.socket],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return json.loads(done.stdout)["gpus"][0] if done.returncode == 0 else None

    def tenants(self):
        return {t["tenant"]: t for t in self.top()["tenants"] if t["processes"]}

    def user_seconds(self):
        return {u["uid"]: u["time_s"] for u in self.top()["users"]}

    def end(self, sig=signal.SIGTERM):
        self.child.send_signal(sig)
        self.child.wait()
        self.log.close()


class Tenant:
    def __init__(self, arbiter, name, work, weight=1, user=None):
        self.name = name
        other = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
        self.log = os.path.join(arbiter.folder, name + ".log")
        with open(self.log, "a", encoding="utf-8") as log:
            self.child = subprocess.Popen(
                [
                    *(other if user else []),
                    HESHARE,
                    "fair",
                    "run",
                    "--tenant",
                    name,
                    "--weight",
                    str(weight),
                    "--socket",
                    arbiter.socket,
                    "--",
                    CLIENT,
                    *work,
                    "--for",
                    "1000",
                ],
                stdout=log,
                stderr=log,
            )
        self.pid = self.child.pid  # the program takes the place of heshare

    def says(self, text):
        with open(self.log, encoding="utf-8") as f:
            return text in f.read()

    def result(self):
        """What the program prints when it is ended."""
        self.child.terminate()
        self.child.wait()
        with open(self.log, encoding="utf-8") as f:
            return json.loads(f.read().splitlines()[-1])

    def gpu_s(self):
        return look().get(self.pid, 0.0)

    def end(self):
        kill(self.child.pid)
        self.child.wait()


class Cases:
    def __init__(self, options):
        self.options = options
        self.busy = 0.3 if options.rough else 0.95
        self.random = random.Random(options.seed)
        self.running = []

    def near(self, exact):
        """How far a part of the GPU time may be off."""
        return 0.2 if self.options.rough else exact

    def tenant(self, *args, **more):
        self.running.append(Tenant(*args, **more))
        return self.running[-1]

    def run(self, case):
        with tempfile.TemporaryDirectory(prefix="fair-") as folder:
            self.folder, self.running, self.arbiter = folder, [], None
            try:
                return case()
            except Exception:
                for name in sorted(os.listdir(folder)):
                    if name.endswith(".log"):
                        with open(
                            os.path.join(folder, name), encoding="utf-8", errors="replace"
                        ) as f:
                            sys.stderr.write(
                                "".join(
                                    "# | %s: %s\n" % (name, line)
                                    for line in f.read().splitlines()[-15:]
                                )
                            )
                raise
            finally:
                for t in self.running:
                    t.end()
                if self.arbiter and self.arbiter.child.poll() is None:
                    self.arbiter.end()

    def serve(self, *options):
        self.arbiter = Arbiter(self.folder, *options)
        return self.arbiter

    def settle(self, tenants):
        """Until powers are measured. Long turns for that are paid back for seconds, so another arbiter begins with powers of its store."""
        names = {t.name for t in tenants}
        await_that("powers of all tenants", lambda: self.arbiter.measured() == names, 240)
        self.arbiter.end()
        self.arbiter.start()
        await_that("tenants", lambda: self.arbiter.tenants().keys() == names)
        # First leases last until what was launched without an arbiter is done, and are paid back.
        time.sleep(30 * INTERVAL_S)

    def settle_by_weight(self, tenants):
        await_that("work of all tenants", lambda: all(t.gpu_s() > 0.3 for t in tenants))
        time.sleep(2 * INTERVAL_S)

    def window(self, tenants, seconds):
        """@return part of the GPU time of each, its part of the slices, and the part of the time in which the GPU was busy"""
        slices, before, start = [], look(), time.monotonic()
        until = start + seconds
        while time.monotonic() < until:
            now = self.arbiter.tenants()
            slices.append([now[t.name]["slice_s"] for t in tenants])
            time.sleep(min(0.25, max(0.0, until - time.monotonic())))
        after, end = look(), time.monotonic()
        used = [after[t.pid] - before[t.pid] for t in tenants]
        mean = [sum(s[i] for s in slices) / len(slices) for i in range(len(tenants))]
        return (
            [u / sum(used) for u in used],
            [m / sum(mean) for m in mean],
            (after["all"] - before["all"]) / (end - start),
        )

    def check_shares(self, tenants, seconds, within):
        got, wanted, busy = self.window(tenants, seconds)
        off = max(abs(g / w - 1) for g, w in zip(got, wanted))
        say = "shares %s, slices %s, off by %.2f %% at most, GPU busy %.1f %%" % (
            " ".join("%.3f" % x for x in got),
            " ".join("%.3f" % x for x in wanted),
            100 * off,
            100 * busy,
        )
        expect(off <= within / 100, say)
        expect(busy >= self.busy, say)
        return say

    def shares_of(self, n):
        self.serve("--profile-for", "1", "--no-clocks")
        tenants = [self.tenant(self.arbiter, "t%d" % i, WORK[i]) for i in range(n)]
        self.settle(tenants)
        return self.check_shares(tenants, self.options.seconds, self.options.within)

    def case_shares_of_2_tenants(self):
        return self.shares_of(2)

    def case_shares_of_3_tenants(self):
        return self.shares_of(3)

    def case_shares_of_8_tenants(self):
        return self.shares_of(8)

    def case_weights_2_to_1(self):
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks")
        tenants = [
            self.tenant(self.arbiter, "heavy", WORK[0], weight=2),
            self.tenant(self.arbiter, "light", WORK[3]),
        ]
        self.settle_by_weight(tenants)
        return self.check_shares(tenants, self.options.seconds, self.options.within)

    def user_part(self, seconds):
        """@return the part of the GPU time that user 0 was charged"""
        before = self.arbiter.user_seconds()
        time.sleep(seconds)
        used = {u: s - before.get(u, 0) for u, s in self.arbiter.user_seconds().items()}
        return used[0] / sum(used.values())

    def case_a_user_with_40_names_has_half(self):
        """Also where none of them releases the GPU: they are stopped, one after the other, in their leases. A GPU takes 48 clients."""
        os.chmod(self.folder, 0o755)
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks", "--allow", "65534",
                   "--patience", "0.2")  # fmt: skip
        one = self.tenant(self.arbiter, "one", WORK[3])
        many = [self.tenant(self.arbiter, "name%d" % i, WORK[3], user=65534) for i in range(40)]
        await_that("work of all", lambda: all(t.gpu_s() > 0 for t in [one, *many]), 120)
        before = look()
        part = self.user_part(self.options.seconds)
        after = look()
        used = [after[t.pid] - before[t.pid] for t in [one, *many]]
        for t in many:
            t.child.send_signal(signal.SIGSTOP)
        stopped = self.user_part(self.options.seconds / 2)
        lost = sum(t["lost"] for t in self.arbiter.top()["tenants"])
        for t in many:
            t.child.send_signal(signal.SIGCONT)
        say = (
            "one name has %.3f of the GPU time, is charged %.3f, and %.3f while %d leases are lost"
            % (
                used[0] / sum(used),
                part,
                stopped,
                lost,
            )
        )
        # The others change leases after each quantum or two, and the GPU is idle meanwhile.
        expect(abs(used[0] / sum(used) - 0.5) < self.near(0.03), say)
        expect(abs(part - 0.5) < self.near(0.02), say)
        expect(lost > 0 and abs(stopped - 0.5) < self.near(0.03), say)
        return say

    def case_arrivals_and_departures_settle_within_two_intervals(self):
        """Powers do not count under time fairness: slices change at once. A share over 10 intervals has whole turns only to some percent."""
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks")
        first = [self.tenant(self.arbiter, "a", WORK[3]), self.tenant(self.arbiter, "b", WORK[5])]
        self.settle_by_weight(first)
        third = self.tenant(self.arbiter, "c", WORK[3])
        await_that("its first lease", lambda: third.gpu_s() > 0)
        time.sleep(2 * INTERVAL_S)
        three, _, _ = self.window([*first, third], 10 * INTERVAL_S)
        third.end()
        time.sleep(2 * INTERVAL_S)
        two, _, busy = self.window(first, 10 * INTERVAL_S)
        say = "with the third %s, without %s, GPU busy %.1f %%" % (
            " ".join("%.3f" % x for x in three),
            " ".join("%.3f" % x for x in two),
            100 * busy,
        )
        near = self.near(0.08)
        expect(
            max(abs(x - 1 / 3) for x in three) < near and max(abs(x - 1 / 2) for x in two) < near,
            say,
        )
        return say

    def case_newcomers_are_measured_while_others_have_their_turns(self):
        """Nobody waits longer than two intervals or five refreshes of the sensor, and who was there keeps 90 % of its share."""
        self.serve("--policy", "time", "--no-clocks")
        n, seconds = 8, self.options.seconds
        runs = self.tenant(self.arbiter, "runs", WORK[3])
        await_that("its power", lambda: self.arbiter.measured())
        new = [self.tenant(self.arbiter, "n%d" % i, WORK[i]) for i in range(n)]
        await_that("their work", lambda: all(t.gpu_s() > 0 for t in new))
        got, _, busy = self.window([runs, *new], seconds)
        known = sum(t["power_source"] != "assumed" for t in self.arbiter.top()["tenants"]) - 1
        # A launch waits for the kernel before it, too, which may be the last one of the turn before.
        gpu_s = [t.gpu_s() for t in [runs, *new]]
        results = [t.result() for t in [runs, *new]]
        waits = [r["longest_s"] - s / r["launches"] for r, s in zip(results, gpu_s)]
        say = (
            "the one that runs has %.3f of its share, longest waits %s s, powers of %d of %d are known, GPU busy %.1f %%"
            % (
                got[0] * (n + 1),
                " ".join("%.3f" % w for w in waits),
                known,
                n,
                100 * busy,
            )
        )
        expect(got[0] * (n + 1) >= (0.6 if self.options.rough else 0.9), say)
        expect(self.options.rough or max(waits) <= 5 * REFRESH_S, say)
        return say

    def case_powers_in_turns_are_those_of_programs_alone(self):
        work = [WORK[0], WORK[1]] if self.options.rough else [WORK[0], WORK[1], WORK[4]]
        exact = {"t%d" % i: power_alone(w) for i, w in enumerate(work)}
        self.serve("--no-clocks")
        tenants = [self.tenant(self.arbiter, "t%d" % i, w) for i, w in enumerate(work)]
        await_that("powers of all", lambda: len(self.arbiter.measured()) == len(tenants))
        self.arbiter.end()
        got = powers(os.path.join(self.folder, "store.db"))
        off = [got[t] / exact[t] - 1 for t in sorted(exact)]
        say = "powers %s W, off by %s %%" % (
            " ".join("%.1f" % exact[t] for t in sorted(exact)),
            " ".join("%.2f" % (100 * x) for x in off),
        )
        expect(len(off) == len(work) and max(map(abs, off)) < self.near(0.03), say)
        return say

    def case_an_idle_tenant_leaves_the_gpu_to_others(self):
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks")
        idle = self.tenant(
            self.arbiter, "idle", ("--spin", "1000", "--idle", "40000", "--queue", "1")
        )
        busy = self.tenant(self.arbiter, "busy", WORK[3])
        await_that("both", lambda: idle.gpu_s() > 0 and busy.gpu_s() > 0.2)
        got, _, used = self.window([idle, busy], self.options.seconds / 3)
        say = "the idle tenant has %.3f, GPU busy %.1f %%" % (got[0], 100 * used)
        expect(used >= self.busy and got[0] < 2 * self.near(0.1), say)
        return say

    def case_tenants_that_are_killed_stop_nobody(self):
        self.serve("--policy", "time", "--no-clocks", "--patience", "1")
        stays = self.tenant(self.arbiter, "stays", WORK[3])
        kills = max(4, int(self.options.seconds))
        for i in range(kills):
            other = self.tenant(self.arbiter, "k%d" % i, WORK[5])
            await_that("its work", lambda: other.gpu_s() > 0)
            time.sleep(self.random.random() * 0.3)
            other.end()
            before = stays.gpu_s()
            await_that("others go on", lambda: stays.gpu_s() > before + 0.05)
        return "%d tenants killed" % kills

    def case_a_tenant_that_is_stopped_loses_its_lease(self):
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks", "--patience", "0.5")
        stays, stopped = self.tenant(self.arbiter, "stays", WORK[3]), self.tenant(
            self.arbiter, "stopped", WORK[5]
        )
        await_that("both", lambda: stays.gpu_s() > 0.2 and stopped.gpu_s() > 0.2)
        stopped.child.send_signal(signal.SIGSTOP)
        before = stays.gpu_s()
        await_that("the other goes on", lambda: stays.gpu_s() > before + 1)
        stopped.child.send_signal(signal.SIGCONT)
        before = stopped.gpu_s()
        await_that("it has leases again", lambda: stopped.gpu_s() > before + 0.3)
        return "lost leases: %d" % self.arbiter.tenants()["stopped"]["lost"]

    def case_work_queued_alone_does_not_hold_the_next_one_up(self):
        """A program that is alone launches far ahead of the GPU: 8 s of kernels, were there no bound."""
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks")
        first = self.tenant(self.arbiter, "first", ("--spin", "20000", "--queue", "400"))
        await_that("its work", lambda: first.gpu_s() > 1)
        second = self.tenant(self.arbiter, "second", WORK[3])
        await_that("work of the second", lambda: second.gpu_s() > 0.5)
        lost = {n: t["lost"] for n, t in self.arbiter.tenants().items()}
        expect(lost == {"first": 0, "second": 0}, "lost leases:", lost)
        return "no lease was lost"

    def case_the_arbiter_is_killed_and_comes_back(self):
        self.serve("--policy", "time", "--no-clocks")
        tenants = [self.tenant(self.arbiter, "a", WORK[3]), self.tenant(self.arbiter, "b", WORK[5])]
        await_that("both", lambda: all(t.gpu_s() > 0.2 for t in tenants))
        for _ in range(max(3, int(self.options.seconds / 3))):
            time.sleep(self.random.random() * 0.5)
            self.arbiter.end(signal.SIGKILL)
            before = [t.gpu_s() for t in tenants]
            await_that(
                "they run unscheduled",
                lambda: all(t.gpu_s() > b + 0.1 for t, b in zip(tenants, before)),
            )
            self.arbiter.start()
            await_that("they are back", lambda: len(self.arbiter.tenants()) == 2)
        time.sleep(2 * INTERVAL_S)
        got, _, busy = self.window(tenants, self.options.seconds)
        say = "shares after the kills %s, GPU busy %.1f %%" % (
            " ".join("%.3f" % x for x in got),
            100 * busy,
        )
        expect(max(abs(x - 0.5) for x in got) < self.near(0.05), say)
        return say

    def case_the_arbiter_is_stopped_and_answers_again(self):
        """Tenants wait ten seconds for an arbiter that hangs, one that has just come too; then it has them all again."""
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks")
        tenants = [self.tenant(self.arbiter, n, WORK[3]) for n in "ab"]
        await_that("both", lambda: all(t.gpu_s() > 0.2 for t in tenants))
        self.arbiter.child.send_signal(signal.SIGSTOP)
        try:
            tenants.append(self.tenant(self.arbiter, "c", WORK[5]))
            silent = await_that(
                "they do not wait longer",
                lambda: all(t.says("does not answer: running unscheduled") for t in tenants),
            )
            before = [t.gpu_s() for t in tenants]
            await_that(
                "they run unscheduled",
                lambda: all(t.gpu_s() > b + 0.1 for t, b in zip(tenants, before)),
            )
        finally:
            self.arbiter.child.send_signal(signal.SIGCONT)
        await_that(
            "they are back", lambda: all(t.says("scheduled by the arbiter") for t in tenants)
        )
        leases = {n: t["leases"] for n, t in self.arbiter.tenants().items()}
        await_that(
            "leases of all",
            lambda: all(t["leases"] > leases[n] for n, t in self.arbiter.tenants().items()),
        )
        return "all went on after %.1f s" % silent

    def case_results_are_the_same_with_and_without(self):
        """Streams, threads, graphs, host functions and copies, by each route to the driver, while another tenant runs."""
        self.serve("--policy", "time", "--profile-for", "0", "--no-clocks")
        self.tenant(self.arbiter, "other", WORK[3])
        sums = set()
        for route in (["link"], ["dlsym"], ["proc1"], ["proc2"], ["proc2", "--ptsz"]):
            work = [CLIENT, "--route", *route, "--rounds", "20", "--threads", "3"]
            shared = [
                HESHARE,
                "fair",
                "run",
                "--tenant",
                "x",
                "--socket",
                self.arbiter.socket,
                "--",
            ]
            for command in (work, shared + work):
                sums.add(
                    subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
                )
        expect(len(sums) == 1, "checksums", sums)
        return sums.pop().strip() + " ten times"


def enter_lab(gpu, speed):
    """The same command in a lab with one GPU. @return exit status"""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="ascii") as fleet:
        fleet.write("name: one\nnodes:\n  - name: a\n    gpus: [ { type: %s, count: 1 } ]\n" % gpu)
        fleet.flush()
        lab = [LAB, "--speed", str(speed), "--fleet", fleet.name, "--"]
        return subprocess.call([*lab, sys.executable, *sys.argv])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--seconds", type=float, default=30, help="of each measurement")
    p.add_argument(
        "--within", type=float, default=2, help="percent that GPU time may be off its slices"
    )
    p.add_argument(
        "--rough",
        action="store_true",
        help="on a busy machine: the GPU may be idle, and other bounds are wider too",
    )
    p.add_argument("--seed", type=int, default=1)
    p.add_argument(
        "--gpu",
        default="T4",
        help="type of the lab's GPU; H100-SXM reports a mean power of one second",
    )
    p.add_argument("--speed", type=float, default=1, help="of the lab")
    p.add_argument("cases", nargs="*", metavar="CASE", help="part of its name; without it, all")
    o = p.parse_args()
    if "HESHARE_LAB" not in os.environ:
        enter_namespace()
        return enter_lab(o.gpu, o.speed)
    if not o.rough:
        # Other programs of the machine take no time from the lab, which uses a fifth of a processor.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    cases = Cases(o)
    names = [
        n
        for n in dir(cases)
        if n.startswith("case_") and (not o.cases or any(c in n for c in o.cases))
    ]
    print("1..%d" % len(names))
    failed = 0
    for i, name in enumerate(names):
        try:
            print("# %s" % cases.run(getattr(cases, name)))
            print("ok %d - %s" % (i + 1, name[5:].replace("_", " ")), flush=True)
        except Wrong as e:
            failed += 1
            print("not ok %d - %s\n# %s" % (i + 1, name[5:].replace("_", " "), e), flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
