#!/usr/bin/env python3
"""What `heshare run` leaves behind, and what it makes of it, when things die: faults.py [--moments N] [--seed S] [CASE...]

Real processes in the virtual GPU lab. After each fault: no clock stays locked, no power limit changed, no MPS daemon
and no job is left (--within SECONDS: by then, else only told); --resume ends with each job done exactly once; no row
of the journal that was there before is lost. Prints TAP, and at the end how many faults were survived.

HESHARE and HES_LAB name the programs. The fault happens at moments drawn from the seed.
"""
import argparse
import contextlib
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

HESHARE = os.environ.get("HESHARE", "build/src/cli/heshare")
LAB = os.environ.get("HES_LAB", "build/vgpu/lab")
SPEED = 50
MARK = "HESHARE_FAULTS_CASE"
PATIENCE_S = 60   # for what is to happen at all
LIVES = 5         # of a run before it may finish
SLOW_S = 0.5      # is told
LAST_ACT_S = 0.1  # between a job's last act and its end

FLEET = """name: faults
nodes:
  - name: lab
    gpus: [ { type: T4, count: 2 }, { type: A100-SXM-80, count: 1 } ]
"""
JOBS = """id,arrival_s,workload,batch_size,iterations,memory_mib
j01,0,resnet34,8,1534,1813
j02,0,bert-large,64,8,2447
j03,0,resnet152,16,77,6311
j04,0,resnet34,4,1007,1373
j05,0,gpt2,1,900,1513
j06,0,mobilenet,32,93,4066
j07,0,mobilenet,64,48,7266
j08,0,resnet34,32,600,4453
j09,0,resnet101,32,250,8699
j10,0,densenet121,16,384,4704
j11,0,gpt2,64,6,13483
j12,0,mobilenetv2,1,3401,1005
"""
# What a job does in the end: its name, the attempt and the moment, in one write.
COMMAND = ("vgpu-task --workload {workload} --batch {batch} --iterations {iterations} && "
           "read -r up rest </proc/uptime && echo {job} $HESHARE_ATTEMPT $up >>%s")


PROFILE = [HESHARE, "profile", "mobilenet", "--gpus", "0,1,2", "--batch", "32", "--shares", "40,100", "--clocks", "600,900"]
PROFILE_POINTS = 12  # two types, two shares, two clocks and the one by default


class Wrong(Exception):
    """What was to hold does not."""


def expect(holds, *what):
    if not holds:
        raise Wrong(" ".join(str(w) for w in what))


def uptime():
    with open("/proc/uptime", encoding="ascii") as f:
        return float(f.read().split()[0])


def await_that(what, holds, patience_s=PATIENCE_S):
    """@return the seconds it took"""
    begin = time.monotonic()
    while not holds():
        expect(time.monotonic() - begin < patience_s, "waited for:", what)
        time.sleep(0.005)
    return time.monotonic() - begin


def kill(pid, sig=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sig)


class Lab:
    """The boards, and an environment to see them in. This program itself is outside: its time is real."""

    def __init__(self, folder):
        self.folder = folder
        path = os.path.join(folder, "environment")
        fleet = os.path.join(folder, "fleet.yaml")
        with open(fleet, "w", encoding="ascii") as f:
            f.write(FLEET)
        self._process = subprocess.Popen(
            [LAB, "--fleet", fleet, "--speed", str(SPEED), "--", "sh", "-c", f"env -0 >'{path}.new'; mv '{path}.new' '{path}'; cat"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        await_that("the lab", lambda: os.path.exists(path))
        with open(path, encoding="utf-8") as f:
            self.env = dict(row.split("=", 1) for row in f.read().split("\0") if row)

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def tool(self, *argv):
        return subprocess.run(argv, env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout

    def changed(self):
        """Boards that are not as they were."""
        rows = [line.split() for line in self.tool("vgpu-look").splitlines()[1:]]
        return [f"GPU {r[0]}: clock {r[2]}, limit {r[3]}" for r in rows if r[2] != "-" or r[3] != "-"]

    def fault(self, *specs):
        self.tool("vgpu-fault", *specs)


class Process:
    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            text = f.read()
        self.name = text[text.index("(") + 1:text.rindex(")")]
        self.state, self.parent = text[text.rindex(")") + 2:].split()[:2]
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            self.argv = f.read().decode(errors="replace").split("\0")
        with open(f"/proc/{pid}/environ", "rb") as f:
            self.env = f.read().split(b"\0")

    def is_guard(self):
        return "--guard" in self.argv

    def is_daemon(self):
        return self.name == "nvidia-cuda-mps" and any(a in ("-d", "-f") for a in self.argv)

    def is_server(self):
        return self.name == "nvidia-cuda-mps" and "control" not in self.argv[0]

    def __str__(self):
        return f"{self.pid} {' '.join(self.argv)[:60]}"


class Case:
    """A run of the plan in a folder of its own, with whoever belongs to it."""

    count = 0

    def __init__(self, lab, plan, folder):
        Case.count += 1
        self.lab = lab
        self.mark = f"{os.getpid()}-{Case.count}"
        self.folder = folder
        self.plan = os.path.join(folder, "plan.json")
        self.store = os.path.join(folder, "store.db")
        self.ledger = os.path.join(lab.folder, f"ledger-{self.mark}")
        self.log = os.path.join(lab.folder, f"log-{self.mark}")
        self.run = None
        self.kills = []       # when, on the machine's clock
        self.rows = {}        # of the journal, as seen before a fault
        shutil.copy(plan, self.plan)

    # --- the program ---

    def argv(self, *more):
        return [HESHARE, "run", self.plan, "--store", self.store, "--node", "lab", "--grace", "20",
                "--command", COMMAND % self.ledger, *more]

    def start(self, *more, **how):
        env = dict(self.lab.env, **{MARK: self.mark})
        with open(self.log, "a", encoding="utf-8") as log:
            self.run = subprocess.Popen(self.argv(*more), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        start_new_session=True, **how)

    def ended(self):
        return self.run.poll() is not None

    def finish(self):
        await_that("the run's end", self.ended)
        return self.run.returncode

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def begun(self):
        """Whether it has started a job."""
        return bool(self.read("select 1 from attempts where pid > 0"))

    # --- who is there ---

    def processes(self):
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                p = Process(int(name))
            except (OSError, ValueError):
                continue
            if wanted in p.env and p.state not in "ZX":
                found.append(p)
        return found

    def guard(self):
        return next((p for p in self.processes() if p.is_guard() and p.parent == str(self.run.pid)), None)

    def left(self):
        """What a run that is gone has left; its guard may still look for more."""
        alive = [str(p) for p in self.processes() if p.pid != self.run.pid and not p.is_guard()]
        return alive + self.lab.changed()

    def await_nothing_left(self, times):
        begin = time.monotonic()
        left = self.left()
        last = []
        while left:
            expect(time.monotonic() - begin < PATIENCE_S, "still there:", *left)
            last = left
            left = self.left()
        times.append(time.monotonic() - begin)
        if times[-1] > SLOW_S:
            sys.stderr.write(f"# {times[-1]:.2f} s until nothing was left; last of all {'; '.join(last)}\n")
        await_that("the guard's end", lambda: not [p for p in self.processes() if p.pid != self.run.pid])

    # --- what is written ---

    def read(self, query):
        if not os.path.exists(self.store):
            return []
        db = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=5)
        try:
            return db.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            db.close()

    def see_journal(self):
        """Remember what is acknowledged: it must stay."""
        for row in self.read("select id, job, number, gpu, started_us from attempts"):
            self.rows["attempt", row[0]] = row
        for row in self.read("select id, at_us, gpu, job, what from acts"):
            self.rows["act", row[0]] = row
        for row in self.read("select job, start_us, end_us from run_jobs where state = 'done'"):
            self.rows["done", row[0]] = row

    def check_journal(self):
        seen, self.rows = self.rows, {}
        self.see_journal()
        for key, row in seen.items():
            expect(self.rows.get(key) == row, "a row of the journal is lost:", key, row, "is now", self.rows.get(key))
        expect(self.read("pragma integrity_check") == [("ok",)], "the store is damaged")
        expect(not self.read("pragma foreign_key_check"), "the store has rows that lead nowhere")

    def check_all_done_once(self):
        jobs = sorted(line.split(",")[0] for line in JOBS.split()[1:])
        done = sorted(r[0] for r in self.read("select job from attempts where verdict = 'done'"))
        expect(done == jobs, "attempts that are done:", done)
        expect(sorted(r[0] for r in self.read("select job from run_jobs where state = 'done'")) == jobs, "not every job is done")
        expect(self.read("select count(*) from attempts where verdict = 'open'") == [(0,)], "attempts are left open")
        verdicts = {(r[0], r[1]): r[2] for r in self.read("select job, number, verdict from attempts")}
        with open(self.ledger, encoding="ascii") as f:
            lines = [line.split() for line in f]
        finished = []
        for job, attempt, at in lines:
            # Killed between its last act and its end, nobody can know that a job was done.
            cut = verdicts[job, int(attempt)] in ("lost", "stopped") and any(-0.02 < k - float(at) < LAST_ACT_S for k in self.kills)
            if not cut:
                finished.append(job)
        expect(sorted(finished) == jobs, "jobs that ran to their end:", sorted(finished))
        return len(lines) - len(finished)

    # --- faults ---

    def kill_run(self):
        self.see_journal()
        self.kills.append(uptime())
        kill(self.run.pid)
        self.run.wait()

    def close(self):
        for p in self.processes():
            kill(p.pid)
        if self.run:
            self.run.wait()


class Faults:
    """Each test_* is a case; what it yields are faults survived."""

    def __init__(self, lab, plan, options):
        self.lab, self.plan, self.options = lab, plan, options
        self.random = random.Random(options.seed)
        self.survived = 0
        self.repeated = 0
        self.cut = 0
        self.times = []
        self.takes_s = None

    @contextlib.contextmanager
    def case(self, folder=None):
        made = folder or tempfile.mkdtemp(dir=self.lab.folder)
        c = Case(self.lab, self.plan, made)
        try:
            yield c
        except Exception:
            sys.stderr.write("".join(f"# | {line}\n" for line in c.said().splitlines()[-40:]) if os.path.exists(c.log) else "")
            raise
        finally:
            c.close()
            self.lab.fault("all:clear")

    def moment(self):
        """Of a run without faults, from its start to just before its end."""
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
        expect(c.finish() == 0, "resumed, the run fails")
        self.done(c)

    def done(self, c):
        c.await_nothing_left([])
        c.check_journal()
        self.cut += c.check_all_done_once()
        self.repeated += c.read("select count(*) from attempts where verdict <> 'done'")[0][0]

    def restore(self, c):
        subprocess.run([HESHARE, "restore", os.path.join(c.folder, "plan.run")], env=c.lab.env, check=True,
                       stdout=subprocess.DEVNULL)

    def some(self, n):
        """So many moments of a kind of fault, fewer in a short run."""
        return range(max(1, round(n * self.options.moments / 30)))

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
                    # Before there is a run there is nothing to go on with.
                    c.start(*(["--resume"] if c.read("select 1 from runs") else []))
                expect(c.finish() == 0, "resumed, the run fails")
                self.done(c)

    def test_the_guard_is_killed(self):
        for i in self.some(4):
            with self.case() as c:
                c.start()
                await_that("a job", c.begun)
                self.wait_moment(c, self.moment() / 2)
                guard = c.guard()
                if guard:
                    kill(guard.pid)
                    await_that("another guard", lambda: c.ended() or getattr(c.guard(), "pid", guard.pid) != guard.pid)
                if i % 2 and not c.ended():
                    c.kill_run()
                    self.clean(c)
                    self.complete(c)
                else:
                    expect(c.finish() == 0, "the run fails")
                    self.survived += 1
                    self.done(c)

    def test_program_and_guard_are_killed_at_once(self):
        for i in self.some(6):
            with self.case() as c:
                c.start()
                await_that("a job", c.begun)
                self.wait_moment(c, self.moment() / 2)
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
            with self.case() as c:
                c.start()
                await_that("a daemon", lambda: c.ended() or any(p.is_daemon() for p in c.processes()))
                self.wait_moment(c, self.moment() / 2)
                for p in c.processes():
                    if p.is_daemon() or (i % 2 and p.is_server()):
                        kill(p.pid)
                expect(c.finish() == 0, "the run fails")
                self.survived += 1
                self.done(c)

    def test_an_mps_server_dies(self):
        for _ in self.some(4):
            with self.case() as c:
                c.start()
                await_that("a server", lambda: c.ended() or any(p.is_server() for p in c.processes()))
                self.wait_moment(c, self.moment() / 3)
                self.lab.fault("all:mps-death")
                expect(c.finish() == 0, "the run fails")
                self.survived += 1
                self.done(c)

    def test_jobs_are_killed(self):
        for _ in self.some(4):
            with self.case() as c:
                c.start()
                await_that("a job", c.begun)
                self.wait_moment(c, self.moment() / 2)
                tasks = [p for p in c.processes() if p.name == "vgpu-task"]
                for p in self.random.sample(tasks, min(2, len(tasks))):
                    kill(p.pid)
                expect(c.finish() == 0, "the run fails")
                self.survived += 1
                self.done(c)

    def test_a_job_faults_on_the_gpu(self):
        for _ in self.some(4):
            with self.case() as c:
                c.start()
                await_that("a job", c.begun)
                self.wait_moment(c, self.moment() / 2)
                self.lab.fault("2:crash")
                expect(c.finish() == 0, "the run fails")
                self.survived += 1
                self.done(c)

    def test_the_disk_is_full(self):
        small = tempfile.mkdtemp(dir=self.lab.folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=False,
                          stderr=subprocess.DEVNULL).returncode:
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
            c.see_journal()
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
                # It goes on by itself, or says why not.
                c.finish()
                self.clean(c)
            elif i % 4 == 3:
                c.finish()
                self.clean(c)
            self.again(c)
        shutil.rmtree(folder)

    def again(self, c):
        """From whatever state: to the end."""
        runs = c.read("select state from runs order by id desc limit 1")
        if runs and runs[0][0] == "done":
            self.done(c)
            return
        c.start(*(["--resume"] if runs else []))
        expect(c.finish() == 0, "resumed, the run fails")
        self.done(c)

    def test_the_program_may_write_no_more(self):
        """Every write of its own fails, whatever the file system."""
        ignore = lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for i in self.some(4):
            with self.case() as c:
                c.start(preexec_fn=ignore)
                self.wait_moment(c, self.moment())
                limits = resource.prlimit(c.run.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(c.run.pid, resource.RLIMIT_FSIZE, (1, limits[1]))
                c.see_journal()
                time.sleep(self.takes_s / 4)
                if i % 2 and not c.ended():
                    c.kill_run()
                elif not c.ended():
                    resource.prlimit(c.run.pid, resource.RLIMIT_FSIZE, limits)
                    c.finish()
                self.clean(c)
                self.again(c)

    def test_it_is_asked_to_stop(self):
        for i in self.some(6):
            with self.case() as c:
                c.start()
                self.wait_moment(c, self.moment())
                for _ in range(1 + i // 3 % 2):
                    kill(c.run.pid, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[i % 3])
                    time.sleep(0.02)
                c.see_journal()
                c.kills.append(uptime())
                c.finish()
                self.clean(c)
                self.again(c)

    def test_the_store_is_locked(self):
        for i in self.some(4):
            with self.case() as c:
                c.start()
                await_that("a job", c.begun)
                self.wait_moment(c, self.moment() / 2)
                c.see_journal()
                db = sqlite3.connect(c.store, timeout=30, isolation_level=None)
                db.execute("begin exclusive")
                time.sleep((0.05, 1, 3, 0.3)[i % 4])
                if i % 2 and not c.ended():
                    kill(c.run.pid)
                    c.kills.append(uptime())
                    c.run.wait()
                    self.clean(c)
                db.execute("rollback")
                db.close()
                c.finish()
                if not i % 2:
                    self.clean(c)
                self.again(c)

    def test_the_driver_refuses(self):
        for spec in ("all:no-permission", "all:sensor-gap", "all:lock-ignored"):
            for late in (0, 1)[:max(1, self.options.moments // 15)]:
                with self.case() as c:
                    if not late:
                        self.lab.fault(spec)
                    c.start()
                    if late:
                        self.wait_moment(c, self.moment())
                        self.lab.fault(spec + ":20")
                    expect(c.finish() == 0, "the run fails under", spec)
                    # What the driver refused to the last is told, and kept for later.
                    if "could not be undone" in c.said():
                        self.lab.fault("all:clear")
                        self.restore(c)
                    self.clean(c)
                    self.done(c)

    def test_a_board_is_lost(self):
        for _ in self.some(3):
            with self.case() as c:
                c.start()
                await_that("a job", c.begun)
                self.wait_moment(c, self.moment() / 3)
                self.lab.fault("2:gpu-lost")
                c.finish()
                self.lab.fault("all:clear")
                self.clean(c)
                self.again(c)


    def test_a_profile_is_killed(self):
        """The other program that changes boards: what it has measured stays, and it goes on where it was."""
        if "--shares" not in self.lab.tool(HESHARE, "profile", "--help"):
            raise Skip("this heshare profiles no real boards")
        with self.case() as c:
            c.argv = lambda *more: PROFILE + ["--store", c.store, "--", "vgpu-task --workload mobilenet --batch {batch} "
                                              "--iterations 5000"]
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


class Skip(Exception):
    pass



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


def make_plan(folder):
    jobs, plan = os.path.join(folder, "jobs.csv"), os.path.join(folder, "plan.json")
    with open(jobs, "w", encoding="ascii") as f:
        f.write(JOBS)
    subprocess.run([HESHARE, "plan", jobs, "--fleet", os.path.join(folder, "fleet.yaml"), "--policy", "heshare", "-o", plan],
                   check=True, stdout=subprocess.DEVNULL)
    return plan


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--moments", type=int, default=30, help="at which the program is killed; the other faults in proportion")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--within", type=float, default=0, help="seconds after which nothing may be left; 0: only told")
    p.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(names()))
    o = p.parse_args()
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
    print(f"# faults survived: {faults.survived}; boards clean after {max(faults.times, default=0):.2f} s at most; attempts that were "
          f"in vain: {faults.repeated}, of them after the job's last act: {faults.cut}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
