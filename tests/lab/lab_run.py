"""A run of a plan in the lab: the program, who belongs to it, what it leaves, what it has written down."""
import os
import shutil
import sqlite3
import subprocess
import sys
import time

from lab import HESHARE, PATIENCE_S, Process, await_that, expect, kill, runs

MARK = "HESHARE_FAULTS_CASE"
SLOW_S = 0.5  # longer times are reported

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
# Of these jobs nothing is known where a jobs file is run.
UNKNOWN = ["j03", "j05", "j06", "j09", "j12"]
# What a job does in the end: its name and the attempt, in one write.
COMMAND = "${HESHARE_FAULTS_FIRST:-true}; vgpu-task --workload {workload} --batch {batch} --iterations {iterations} && echo {job} $HESHARE_ATTEMPT >>%s"
# Two unknown jobs that do worse together than in turns where they disturb each other much. They work until there is a file "go".
PAIR = ("j01", "j02")
PAIR_COMMAND = (
    "test -e %s/go && n=100 || n=1000000; vgpu-task --every 10 --workload resnet50 --batch 64 --iterations $n"
    " && echo heshare: 1000000 iterations && echo %s $HESHARE_ATTEMPT >>%s"
)


def make_plan(folder):
    jobs, plan = os.path.join(folder, "jobs.csv"), os.path.join(folder, "plan.json")
    with open(jobs, "w", encoding="ascii") as f:
        f.write(JOBS)
    subprocess.run(
        [
            HESHARE,
            "plan",
            jobs,
            "--fleet",
            os.path.join(folder, "fleet.yaml"),
            "--policy",
            "heshare",
            "-o",
            plan,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return plan


def make_jobs(folder, ledger):
    """The same jobs as a jobs file with commands: some of unknown workloads."""
    path = os.path.join(folder, "jobs.csv")
    head, *rows = (line.split(",") for line in JOBS.split())
    with open(path, "w", encoding="ascii") as f:
        print("id,workload,batch_size,iterations,memory_mib,command", file=f)
        for job, _, workload, batch, iterations, memory in rows:
            act = COMMAND % ledger
            for word, value in zip(head, (job, "", workload, batch, iterations, "")):
                act = act.replace("{%s}" % word.replace("batch_size", "batch"), value)
            act = act.replace("{job}", job)
            own = job in UNKNOWN
            print(
                job,
                f"own-{job}" if own else workload,
                batch,
                iterations,
                "" if own else memory,
                act,
                sep=",",
                file=f,
            )
    return path


def make_pair(folder, ledger):
    path = os.path.join(folder, "jobs.csv")
    with open(path, "w", encoding="ascii") as f:
        print("id,workload,iterations,memory_mib,command", file=f)
        for job in PAIR:
            act = PAIR_COMMAND % (folder, job, ledger)
            print(job, f"own-{job}", 1000000, 14000, act, sep=",", file=f)
    return path


# A run with --early-ok alone ends with success where jobs ended early.
DONE = "('done', 'ended early')"


class Run:
    """A run of the plan in its own folder, with all of its processes."""

    count = 0

    def __init__(self, lab, plan, folder, of_pair=False):
        """@param plan  its file; None: a jobs file is run, of all jobs or of the pair"""
        Run.count += 1
        self.lab = lab
        self.mark = f"{os.getpid()}-{Run.count}"
        self.folder = folder
        self.plan = os.path.join(folder, "plan.json")
        self.store = os.path.join(folder, "store.db")
        self.ledger = os.path.join(lab.folder, f"ledger-{self.mark}")
        self.log = os.path.join(lab.folder, f"log-{self.mark}")
        self.run = None
        self.rows = {}  # of the journal, as seen before a fault
        self.over = set()  # attempts that had ended by themselves before a fault: job and number
        self.n_jobs = len(PAIR) if of_pair else len(JOBS.split()) - 1
        self.before = 0  # the last attempt, by its id, of the program's lives before this one
        if plan:
            shutil.copy(plan, self.plan)
        else:
            self.plan = (make_pair if of_pair else make_jobs)(folder, self.ledger)
        self.what = ["--node", "lab", "--command", COMMAND % self.ledger] if plan else []

    # --- the program ---

    def argv(self, *more):
        return [
            HESHARE,
            "run",
            self.plan,
            "--store",
            self.store,
            "--grace",
            "20",
            *self.what,
            *more,
        ]

    def start(self, *more, first=None, **how):
        """@param first  what every job does before its work; None: nothing"""
        env = dict(
            self.lab.env, **{MARK: self.mark}, **({"HESHARE_FAULTS_FIRST": first} if first else {})
        )
        self.before = max((r[0] for r in self.read("select id from attempts")), default=0)
        with open(self.log, "a", encoding="utf-8") as log:
            self.run = subprocess.Popen(
                self.argv(*more),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **how,
            )

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
        return next(
            (p for p in self.processes() if p.is_guard() and p.parent == str(self.run.pid)), None
        )

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
            sys.stderr.write(
                f"# {times[-1]:.2f} s until nothing was left; last of all {'; '.join(last)}\n"
            )
        await_that(
            "the guard's end", lambda: not [p for p in self.processes() if p.pid != self.run.pid]
        )

    def held(self):
        """Processes of jobs that stand still."""
        return [p for p in self.processes() if p.is_held()]

    # --- what is written ---

    def read(self, query):
        if not os.path.exists(self.store):
            return []
        db = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=PATIENCE_S)
        try:
            return db.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []
        finally:
            db.close()

    def see(self):
        """Remember what is before a fault."""
        self.see_journal()
        pids = {
            (r[0], r[1]): r[2]
            for r in self.read(
                f"select job, number, pid from attempts where pid > 0 and id > {self.before}"
            )
        }
        self.over |= {done for done in self.last_acts() if done in pids and not runs(pids[done])}

    def last_acts(self):
        """Jobs, with their attempts, that got to their last act."""
        if not os.path.exists(self.ledger):
            return []
        with open(self.ledger, encoding="ascii") as f:
            return [(job, int(attempt)) for job, attempt in (line.split() for line in f)]

    def see_journal(self):
        """Remember what is acknowledged: it must stay."""
        for row in self.read("select id, job, number, gpu, started_us from attempts"):
            self.rows["attempt", row[0]] = row
        for row in self.read("select id, at_us, gpu, job, what from acts"):
            self.rows["act", row[0]] = row
        for row in self.read("select job, start_us, end_us from run_jobs where state = 'done'"):
            self.rows["done", row[0]] = row
        for row in self.read("select distinct workload, gpu_type from points"):
            self.rows["point", row] = row

    def check_journal(self):
        seen, self.rows = self.rows, {}
        self.see_journal()
        for key, row in seen.items():
            expect(
                self.rows.get(key) == row,
                "a row of the journal is lost:",
                key,
                row,
                "is now",
                self.rows.get(key),
            )
        expect(self.read("pragma integrity_check") == [("ok",)], "the store is damaged")
        expect(not self.read("pragma foreign_key_check"), "the store has rows that lead nowhere")

    def check_all_done_once(self):
        jobs = sorted(line.split(",")[0] for line in JOBS.split()[1 : 1 + self.n_jobs])
        done = sorted(
            r[0] for r in self.read("select job from attempts where verdict in %s" % DONE)
        )
        expect(done == jobs, "attempts that are done:", done)
        expect(
            sorted(r[0] for r in self.read("select job from run_jobs where state in %s" % DONE))
            == jobs,
            "not every job is done",
        )
        expect(
            self.read("select count(*) from attempts where verdict = 'open'") == [(0,)],
            "attempts are left open",
        )
        ends = {
            (r[0], r[1]): r[2:]
            for r in self.read("select job, number, verdict, status from attempts")
        }
        # Killed between its last act and its end, nobody can know that a job was done.
        acts = self.last_acts()
        cut = [
            a
            for a in acts
            if ends[a][0] in ("lost", "stopped") and ends[a][1] != 0 and a not in self.over
        ]
        finished = sorted(job for job, attempt in acts if (job, attempt) not in cut)
        expect(finished == jobs, "jobs that ran to their end:", finished)
        return len(cut)

    # --- faults ---

    def kill_run(self):
        self.see()
        kill(self.run.pid)
        self.run.wait()

    def close(self):
        for p in self.processes():
            kill(p.pid)
        if self.run:
            self.run.wait()
