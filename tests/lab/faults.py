#!/usr/bin/env python3
"""Inject faults into `heshare run` in the virtual GPU lab: faults.py [--moments N] [--seed S] [CASE...]

After each fault no locked clock, changed power limit, MPS daemon or job may remain (--within SECONDS: after that time; else the
time is only reported). --resume must end with each job done exactly once, and no row of the journal may be lost. Prints TAP,
and at the end how many faults were survived.

HESHARE and HES_LAB name the programs. The moments of the faults are drawn from the seed.
"""
import argparse
import contextlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from lab import HESHARE, Lab, Wrong, await_that, enter_namespace, expect, kill
from lab_run import DONE, Run, make_plan

LIVES = 5  # kills of a run before it may finish

PROFILE = [
    HESHARE,
    "profile",
    "mobilenet",
    "--gpus",
    "0,1,2",
    "--batch",
    "32",
    "--shares",
    "40,100",
    "--clocks",
    "600,900",
]
SEPARATED = "hold the job: it does worse with its co-runners than in turns"
# Acts with which experiments begin, in the lives of a run of the pair. A resumed run knows one job: it is no newcomer.
EXPERIMENTS = (
    ("lock the clock at %", SEPARATED),
    ("hold the job: % is measured alone", SEPARATED),
    ("let the job go on: the other was measured",),
)
PROFILE_POINTS = 12  # two types, two shares, two clocks and the default


class Skip(Exception):
    """A case that cannot run here."""


def may_write(c, most):
    """Limit the size of files that the run may write. @return the limit before; meaningless if the run has ended"""
    try:
        before, hard = resource.prlimit(c.run.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(c.run.pid, resource.RLIMIT_FSIZE, (most, hard))
        return before
    except ProcessLookupError:
        return most


class Faults:
    """Each test_* is a case."""

    def __init__(self, lab, plan, options):
        self.lab, self.plan, self.options = lab, plan, options
        self.random = random.Random(options.seed)
        self.survived = 0
        self.repeated = 0
        self.cut = 0
        self.times = []
        self.takes_s = None

    @contextlib.contextmanager
    def case(self, folder=None, of_jobs=False, of_pair=False):
        made = folder or tempfile.mkdtemp(dir=self.lab.folder)
        c = Run(self.lab, None if of_jobs or of_pair else self.plan, made, of_pair)
        try:
            yield c
        except Exception:
            sys.stderr.write(
                "".join(f"# | {line}\n" for line in c.said().splitlines()[-40:])
                if os.path.exists(c.log)
                else ""
            )
            raise
        finally:
            c.close()
            self.lab.fault("all:clear")

    def moment(self):
        """A random time in a run without faults, before its end."""
        return self.random.random() * 0.97 * self.takes_s

    def wait_moment(self, c, seconds):
        begin = time.monotonic()
        while time.monotonic() - begin < seconds and not c.ended():
            time.sleep(0.002)

    def clean(self, c):
        c.await_nothing_left(self.times)
        self.survived += 1

    def complete(self, c, *more):
        """Resume to the end."""
        c.start("--resume", *more)
        self.finish(c)

    def finish(self, c, *under):
        """The run must end with success."""
        expect(c.finish() == 0, "the run fails", *under)
        self.done(c)

    def survive(self, c):
        """The run must survive a fault and end with success."""
        self.finish(c)
        self.survived += 1

    def done(self, c):
        c.await_nothing_left([])
        c.check_journal()
        self.cut += c.check_all_done_once()
        self.repeated += c.read("select count(*) from attempts where verdict not in %s" % DONE)[0][
            0
        ]

    def restore(self, c):
        subprocess.run(
            [HESHARE, "restore", os.path.splitext(c.plan)[0] + ".run"],
            env=c.lab.env,
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def some(self, n):
        """The rounds of a case: n, or fewer in a short run."""
        return range(max(1, round(n * self.options.moments / 30)))

    @contextlib.contextmanager
    def running(self, what="a job", part=2):
        """A run, at a random moment of its first 1/part after the first job, daemon or server has started."""
        ready = {"a job": None, "a daemon": "is_daemon", "a server": "is_server"}[what]
        with self.case() as c:
            c.start()
            await_that(
                what,
                c.begun
                if not ready
                else lambda: c.ended() or any(getattr(p, ready)() for p in c.processes()),
            )
            if part:
                self.wait_moment(c, self.moment() / part)
            yield c

    @contextlib.contextmanager
    def locked_store(self, c):
        db = sqlite3.connect(c.store, timeout=30, isolation_level=None)
        db.execute("begin exclusive")
        try:
            yield
        finally:
            db.execute("rollback")
            db.close()

    # --- cases ---

    def test_nothing_goes_wrong(self):
        with self.case() as c:
            begin = time.monotonic()
            c.start()
            expect(c.finish() == 0, "the run fails")
            self.takes_s = time.monotonic() - begin
            self.done(c)

    def test_the_program_is_killed(self):
        moments = self.options.moments
        while moments:
            with self.case() as c:
                c.start()
                for life in range(LIVES):
                    self.wait_moment(c, self.moment())
                    if c.ended() or not moments:
                        break
                    c.kill_run()
                    moments -= 1
                    self.clean(c)
                    # Without a run in the journal there is nothing to resume.
                    c.start(*(["--resume"] if c.read("select 1 from runs") else []))
                self.finish(c)

    def test_a_run_of_a_jobs_file_is_killed(self):
        """Unknown jobs are measured; what was measured, and what was done, stays."""
        kills = max(3, round(self.options.moments * 2 / 3))
        while kills > 0:
            with self.case(of_jobs=True) as c:
                c.start()
                await_that("a job", lambda: c.ended() or c.begun())
                for _ in range(LIVES):
                    self.wait_moment(c, self.moment())
                    if c.ended() or kills <= 0:
                        break
                    c.kill_run()
                    kills -= 1
                    self.clean(c)
                    c.start("--resume")
                self.finish(c)
                self.joules_sum(c)

    def test_a_run_is_killed_in_its_experiments(self):
        """At a clock that is tried, while a job is measured alone, while a pair is watched, when it is separated."""
        ways = itertools.cycle(range(4))
        for i in range(max(3, round(self.options.moments / 3))):
            with self.case(of_pair=True) as c:
                self.lab.fault("all:interference=x4")
                c.start("--gpus", "2", "--explore", "100")
                for life, act in enumerate(EXPERIMENTS[i % 3]):
                    if life:
                        c.start("--resume")
                    begun = f"select 1 from acts where what like '{act}'"
                    await_that(act, lambda: c.read(begun) or expect(not c.ended(), "the run ends"))
                    self.wait_moment(c, self.random.random() * 0.2)
                    expect(act != SEPARATED or c.held(), "no job is held")
                    self.end_experiment(c, next(ways))
                open(os.path.join(c.folder, "go"), "w", encoding="ascii").close()
                self.complete(c)

    def end_experiment(self, c, way):
        """@param way  0: the program is killed; 1: the guard before it, which is replaced; 2: both; 3: it is stopped"""
        guard = c.guard()
        c.see()
        if way == 3:
            kill(c.run.pid, signal.SIGTERM)
            c.finish()
        if way == 2:
            kill(c.run.pid, signal.SIGSTOP)
        if way in (1, 2):
            kill(guard.pid)
        if way == 1:
            await_that("another guard", lambda: getattr(c.guard(), "pid", guard.pid) != guard.pid)
        if way != 3:
            c.kill_run()
        if way == 2:
            self.restore(c)
        self.clean(c)

    def joules_sum(self, c):
        with open(os.path.join(c.folder, "jobs.run", "report.json"), encoding="utf-8") as f:
            e = json.load(f)["energy"]
        parts = sum(e[k] for k in ("jobs_j", "aborted_j", "idle_j", "learning_j", "unattributed_j"))
        expect(abs(parts / e["meter_j"] - 1) < 0.001, "joules do not sum to the meter:", e)

    def test_the_guard_is_killed(self):
        for i in self.some(4):
            with self.running() as c:
                guard = c.guard()
                if guard:
                    kill(guard.pid)
                    await_that(
                        "another guard",
                        lambda: c.ended() or getattr(c.guard(), "pid", guard.pid) != guard.pid,
                    )
                if i % 2 and not c.ended():
                    c.kill_run()
                    self.clean(c)
                    self.complete(c)
                else:
                    self.survive(c)

    def test_program_and_guard_are_killed_at_once(self):
        for i in self.some(6):
            with self.running() as c:
                guard = c.guard()
                kill(c.run.pid, signal.SIGSTOP)
                if guard:
                    kill(guard.pid)
                c.kill_run()
                if i % 2:
                    self.restore(c)
                    expect(not c.left(), "restore leaves", *c.left())
                self.survived += 1
                self.complete(c)

    def test_an_mps_daemon_is_killed(self):
        for i in self.some(4):
            with self.running("a daemon") as c:
                for p in c.processes():
                    if p.is_daemon() or (i % 2 and p.is_server()):
                        kill(p.pid)
                self.survive(c)

    def test_an_mps_server_dies(self):
        for _ in self.some(4):
            with self.running("a server", part=3) as c:
                self.lab.fault("all:mps-death")
                self.survive(c)

    def test_jobs_are_killed(self):
        for _ in self.some(4):
            with self.running() as c:
                tasks = [p for p in c.processes() if p.name == "vgpu-task"]
                for p in self.random.sample(tasks, min(2, len(tasks))):
                    kill(p.pid)
                self.survive(c)

    def test_a_job_faults_on_the_gpu(self):
        for _ in self.some(4):
            with self.running() as c:
                self.lab.fault("2:crash")
                self.survive(c)

    def test_the_disk_is_full(self):
        small = tempfile.mkdtemp(dir=self.lab.folder)
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small],
            check=False,
            stderr=subprocess.DEVNULL,
        ).returncode:
            raise Skip("no file system can be mounted here")
        try:
            for i in self.some(4):
                self.fill_disk(os.path.join(small, str(i)), i)
        finally:
            subprocess.run(["umount", "-l", small], check=False)

    def fill_disk(self, folder, i):
        os.mkdir(folder)
        filler = os.path.join(folder, "filler")
        with self.case(folder) as c:
            if i % 4:
                c.start()
                self.wait_moment(c, self.moment())
            with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
                while True:
                    f.write(b"\0" * 65536)
            with open(filler, "ab", buffering=0) as f, contextlib.suppress(OSError):
                while True:
                    f.write(b"\0")
            c.see()
            if not i % 4:
                c.start()
                expect(c.finish() == 1, "a run begins on a full disk")
                self.clean(c)
            time.sleep(self.takes_s / 4)
            if i % 4 == 2 and not c.ended():
                c.kill_run()
                self.clean(c)
            elif i % 4 == 3 and not c.ended():
                c.run.terminate()
                time.sleep(self.takes_s / 4)
            os.unlink(filler)
            if i % 4 == 1:
                # The run continues, or reports why not.
                c.finish()
                self.clean(c)
            elif i % 4 == 3:
                c.finish()
                self.clean(c)
            self.again(c)
        shutil.rmtree(folder)

    def again(self, c):
        """From any state to the end."""
        runs = c.read("select state from runs order by id desc limit 1")
        if runs and runs[0][0] == "done":
            self.done(c)
            return
        c.start(*(["--resume"] if runs else []))
        self.finish(c)

    def test_the_program_may_write_no_more(self):
        """Every write of the run fails, on any file system."""
        ignore = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for i in self.some(4):
            with self.case() as c:
                c.start(preexec_fn=ignore)
                self.wait_moment(c, self.moment())
                unlimited = may_write(c, 1)
                c.see()
                time.sleep(self.takes_s / 4)
                if i % 2 and not c.ended():
                    c.kill_run()
                elif not c.ended():
                    may_write(c, unlimited)
                    c.finish()
                self.clean(c)
                self.again(c)

    def test_the_run_is_stopped_by_signals(self):
        for i in self.some(6):
            with self.case() as c:
                c.start()
                self.wait_moment(c, self.moment())
                c.see()
                for _ in range(1 + i // 3 % 2):
                    kill(c.run.pid, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[i % 3])
                    time.sleep(0.02)
                c.finish()
                self.clean(c)
                self.again(c)

    def test_the_store_is_locked(self):
        for i in self.some(4):
            with self.running() as c:
                c.see()
                with self.locked_store(c):
                    time.sleep((0.05, 1, 3, 0.3)[i % 4])
                    if i % 2 and not c.ended():
                        c.kill_run()
                        self.clean(c)
                c.finish()
                if not i % 2:
                    self.clean(c)
                self.again(c)

    def test_an_mps_daemon_is_killed_while_the_store_is_locked(self):
        """The run starts another daemon once it can write to the journal."""
        for _ in self.some(3):
            with self.running("a server", part=0) as c:
                c.see()
                with self.locked_store(c):
                    for p in c.processes():
                        if p.is_daemon() or p.is_server():
                            kill(p.pid)
                    await_that(
                        "the run to hold",
                        lambda: c.ended() or "the journal cannot be written" in c.said(),
                    )
                    # Usually the run notices in this time that the daemon is gone.
                    time.sleep(self.takes_s / 4)
                self.survive(c)
                expect("share without MPS" not in c.said(), "the run gave MPS up")

    def test_the_driver_refuses(self):
        for spec in ("all:no-permission", "all:sensor-gap", "all:lock-ignored"):
            for late in (0, 1)[: max(1, self.options.moments // 15)]:
                with self.case() as c:
                    if not late:
                        self.lab.fault(spec)
                    c.start()
                    if late:
                        self.wait_moment(c, self.moment())
                        self.lab.fault(spec + ":20")
                    expect(c.finish() == 0, "the run fails under", spec)
                    # What the driver still refuses is reported, and can be restored later.
                    if "could not be undone" in c.said():
                        self.lab.fault("all:clear")
                        self.restore(c)
                    self.clean(c)
                    self.done(c)

    def test_a_gpu_is_lost(self):
        for _ in self.some(3):
            with self.running(part=3) as c:
                self.lab.fault("2:gpu-lost")
                c.finish()
                self.lab.fault("all:clear")
                self.clean(c)
                self.again(c)

    def make_unkillable(self, seconds):
        """@return the number of GPUs with processes"""
        return sum(
            not subprocess.run(
                ["vgpu-fault", "%d:unkillable:%d" % (gpu, seconds)],
                env=self.lab.env,
                stderr=subprocess.DEVNULL,
            ).returncode
            for gpu in range(3)
        )

    def test_jobs_that_cannot_be_killed(self):
        """The program is killed while processes on a GPU do not end: no second copy starts there."""
        for i in self.some(4):
            with self.running() as c:
                await_that(
                    "a job on a GPU", lambda: c.ended() or self.make_unkillable((100, 600)[i % 2])
                )
                c.kill_run()
                # The fault holds the processes for seconds, whatever the guard does.
                c.await_nothing_left([])
                self.survived += 1
                self.complete(c)

    def test_the_guard_is_stopped(self):
        for i in self.some(4):
            with self.running() as c:
                guard = c.guard()
                if guard:
                    kill(guard.pid, signal.SIGSTOP)
                if i % 2 and guard:
                    c.kill_run()
                    done = subprocess.run(
                        [HESHARE, "restore", os.path.join(c.folder, "plan.run")],
                        env=c.lab.env,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                    expect(
                        "kill -CONT %d lets it do its work" % guard.pid in done.stderr,
                        "restore says",
                        done.stderr,
                    )
                    kill(guard.pid, signal.SIGCONT)
                    self.clean(c)
                    self.complete(c)
                else:
                    self.survive(c)

    def test_the_store_is_away_for_a_while(self):
        for i in self.some(4):
            with self.running() as c:
                names = [
                    n for n in (c.store, c.store + "-wal", c.store + "-shm") if os.path.exists(n)
                ]
                for n in names:
                    os.rename(n, n + ".away")
                time.sleep((0.02, 0.5, 2, 0.2)[i % 4])
                for n in names:
                    os.rename(n + ".away", n)
                self.survive(c)

    def test_jobs_leave_fork_chains_and_replace_files(self):
        """Fork chains in their own sessions without environment; pipes and links instead of logs and statuses."""
        chain = os.path.join(self.lab.folder, "chain.py")
        with open(chain, "w", encoding="ascii") as f:
            f.write(
                "import os, sys\nos.setsid()\nwhile True:\n    open(sys.argv[1], 'a').write('.')\n    if os.fork():\n        os._exit(0)\n"
            )
        for i in self.some(4):
            with self.case() as c:
                beat = os.path.join(c.folder, "beat")
                script = os.path.join(c.folder, "first.sh")
                with open(script, "w", encoding="ascii") as f:
                    f.write("env -i %s %s %s &\n" % (sys.executable, chain, beat))
                    f.write(
                        "cd %s/plan.run && for n in *.log; do ln -sf /dev/full link.$$; mkfifo pipe.$$ 2>/dev/null; done\n"
                        % c.folder
                    )
                    # Not with kills: a job that removes its own status is run again if the runner dies then.
                    if not i % 2:
                        f.write(
                            "rm -f .$HESHARE_JOB.*.status; mkfifo .$HESHARE_JOB.$HESHARE_ATTEMPT.status; ln -s /dev/full .x.status\n"
                        )
                # Killing what a job left makes its end an early one.
                argv = c.argv
                c.argv = lambda *more, argv=argv: argv(*more, "--early-ok")
                c.start(first="sh " + script)
                await_that("a job", c.begun)
                if i % 2:
                    self.wait_moment(c, self.moment())
                    c.kill_run()
                    self.clean(c)
                    self.complete(c)
                else:
                    self.survive(c)
                size = os.path.getsize(beat) if os.path.exists(beat) else 0
                time.sleep(0.3)
                expect(not size or os.path.getsize(beat) == size, "a chain of forks goes on")

    def test_a_profile_is_killed(self):
        """`heshare profile` keeps its points when it is killed, and continues with the missing ones."""
        if "--shares" not in self.lab.tool(HESHARE, "profile", "--help"):
            raise Skip("this heshare profiles no real GPUs")
        with self.case() as c:
            c.argv = lambda *more: PROFILE + [
                "--store",
                c.store,
                "--",
                "vgpu-task --workload mobilenet --batch {batch} " "--iterations 5000",
            ]
            points = set()
            for _ in self.some(8):
                c.start()
                self.wait_moment(c, self.moment())
                points |= set(c.read("select * from points"))
                c.kill_run()
                self.clean(c)
            c.start()
            expect(c.finish() == 0, "the profile fails")
            c.await_nothing_left([])
            now = set(c.read("select * from points"))
            expect(points <= now, "points are lost:", points - now)
            expect(len(now) == PROFILE_POINTS, "there are", len(now), "points")


def names():
    return [n[5:] for n in vars(Faults) if n.startswith("test_")]


def run_case(faults, number, name, within_s):
    before = len(faults.times)
    try:
        getattr(faults, "test_" + name)()
        late = [t for t in faults.times[before:] if within_s and t > within_s]
        expect(not late, "something was left for", *(f"{t:.2f} s" for t in late))
    except Skip as e:
        print(f"ok {number} - {name} # SKIP {e}", flush=True)
        return True
    except Wrong as e:
        print(f"# {e}\nnot ok {number} - {name}", flush=True)
        return False
    print(f"ok {number} - {name}", flush=True)
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument(
        "--moments", type=int, default=30, help="kills of the program; other faults in proportion"
    )
    p.add_argument("--seed", type=int, default=1)
    p.add_argument(
        "--within",
        type=float,
        default=0,
        help="seconds after which nothing may remain; 0: report only",
    )
    p.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(names()))
    o = p.parse_args()
    enter_namespace()
    chosen = [n for n in names() if not o.cases or n in o.cases or n == "nothing_goes_wrong"]
    print(f"1..{len(chosen)}", flush=True)
    folder = tempfile.mkdtemp(prefix="heshare-faults-")
    lab = Lab(folder)
    good = True
    try:
        faults = Faults(lab, make_plan(folder), o)
        for number, name in enumerate(chosen, 1):
            good = run_case(faults, number, name, o.within) and good
    finally:
        lab.close()
        shutil.rmtree(folder)
    print(
        f"# faults survived: {faults.survived}; GPUs clean after {max(faults.times, default=0):.2f} s at most; repeated "
        f"attempts: {faults.repeated}, of them after the job's last act: {faults.cut}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
