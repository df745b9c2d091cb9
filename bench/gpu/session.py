"""
What the experiments run and partition share: the heshare program, one GPU (real or of the lab), a work folder, a time limit.

A child process of heshare gets SIGTERM when this process ends, however it ends; heshare then stops its jobs and its MPS daemon.
"""
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PR_SET_PDEATHSIG = 1
PROGRESS = re.compile(r"heshare: (\d+) iterations in ([0-9.]+) s")
FLEET = "name: bench\nnodes:\n  - name: here\n    gpus: [ { type: %s, count: 1 } ]\n"
CLEAN_UP_S = 30  # heshare gets so long to stop its jobs


class Failed(Exception):
    """A sentence for the user."""


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP; unlike Ctrl-C it has not reached the children."""


def find_program(given):
    built = [os.path.join(ROOT, d, "src/cli/heshare") for d in ("build-portable", "build")] + [
        os.path.join(HERE, "heshare")
    ]
    there = sorted((f for f in built if os.access(f, os.X_OK)), key=os.path.getmtime, reverse=True)
    found = given or (there or [shutil.which("heshare")])[0]
    if not found or not os.access(found, os.X_OK):
        raise Failed(
            "no heshare program%s: build one with make portable and name it by --heshare"
            % (" at " + found if found else "")
        )
    return os.path.abspath(found)


def add_options(p):
    """Options of every experiment."""
    p.add_argument("--out", metavar="DIR", help="results; without it docs/results/GPU")
    p.add_argument(
        "--work", metavar="DIR", help="store, plans and logs; without it heshare-bench/GPU"
    )
    p.add_argument(
        "--heshare",
        metavar="FILE",
        help="the program; without it the one here that is newest, else that of PATH",
    )
    p.add_argument("--minutes", type=float, default=8, help="to be done by then (default 8)")
    p.add_argument(
        "--gpu", type=int, default=0, metavar="INDEX", help="which GPU, by NVML's index (default 0)"
    )
    p.add_argument(
        "--lab", metavar="TYPE", help="a virtual GPU of this type, such as T4 or A100-SXM-80"
    )
    p.add_argument("--lab-program", metavar="FILE", help="the lab; without it build/lab/lab here")


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end_child(child, signalled):
    """Let a child clean up. @param signalled  the terminal has sent it the signal already"""
    if signalled:
        try:
            child.wait(CLEAN_UP_S)
            return
        except subprocess.TimeoutExpired:
            pass
    child.terminate()
    try:
        child.wait(CLEAN_UP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class Job:
    """A program that prints progress until it is ended, and how far it was when."""

    def __init__(self, command, env, log):
        self.points = []
        self.log = open(log, "w", encoding="utf-8")
        self.child = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=env,
            preexec_fn=end_with_parent,
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            m = PROGRESS.search(line)
            if m:
                self.points.append((time.monotonic(), int(m.group(1))))

    def rate(self, start, end):
        """Iterations a second between two moments, from the progress nearest to them."""
        inside = [p for p in self.points if start <= p[0] <= end]
        if len(inside) < 2:
            return 0.0
        (t0, n0), (t1, n1) = inside[0], inside[-1]
        return (n1 - n0) / (t1 - t0)

    def done(self):
        """Iterations that it has reported."""
        return self.points[-1][1] if self.points else 0

    def wait_for(self, iterations, limit_s):
        """Until it has reported so many. Raises Failed."""
        until = time.monotonic() + limit_s
        while self.done() < iterations:
            if self.child.poll() is not None:
                raise Failed(
                    "a job ended with status %d; see %s" % (self.child.returncode, self.log.name)
                )
            if time.monotonic() > until:
                raise Failed("a job made no progress in %d s; see %s" % (limit_s, self.log.name))
            time.sleep(0.02)

    def end(self):
        end_child(self.child, False)
        self.reader.join()
        self.log.close()


def find_lab(o):
    lab = os.path.abspath(o.lab_program or os.path.join(ROOT, "build/lab/lab"))
    if not os.access(lab, os.X_OK):
        raise Failed("%s is not there: the lab comes with make" % lab)
    return lab


def call_in_lab(o, command, speed=1):
    """Run a command that meets one virtual GPU of the type --lab. @return its exit status"""
    with tempfile.NamedTemporaryFile(
        "w", prefix="heshare-bench-", suffix=".yaml", encoding="utf-8"
    ) as fleet:
        fleet.write(FLEET % o.lab)
        fleet.flush()
        return subprocess.call(
            [find_lab(o), "--fleet", fleet.name, "--speed", "%g" % speed, "--", *command],
            preexec_fn=end_with_parent,
        )


class Session:
    def __init__(self, o):
        self.o = o
        self.start = time.monotonic()
        self.heshare = find_program(o.heshare)
        self.lab = None
        if o.lab:
            self.lab = find_lab(o)
            self.heshare = find_program(o.heshare or os.path.join(ROOT, "build/src/cli/heshare"))
        self.scale = o.speed if o.lab else 1  # seconds of the GPU in a real one
        self.fleet = None
        self.gpu = self.find_gpu()
        slug = re.sub(r"[^a-z0-9]+", "-", self.gpu["name"].lower()).strip("-")
        slug = "lab-" + slug if o.lab else slug
        self.work = os.path.abspath(o.work or os.path.join("heshare-bench", slug))
        self.out = os.path.abspath(o.out or os.path.join(ROOT, "docs/results", slug))
        os.makedirs(self.work, exist_ok=True)
        os.environ["HESHARE_STORE"] = self.path("store.db")  # nothing of the user's own

    def path(self, name):
        return os.path.join(self.work, name)

    def say(self, text):
        print("%6.0f s  %s" % (time.monotonic() - self.start, text), file=sys.stderr, flush=True)

    def left(self):
        return 60 * self.o.minutes - (time.monotonic() - self.start)

    def call(self, *args, gpus=True, output=None, allowed=(0,), limit_s=None):
        """
        heshare with the GPUs of the machine, or of the lab.
        @param limit_s  stop it after so long
        @return its standard output; None: it was stopped
        """
        command = [self.heshare, *args]
        if gpus and self.lab and not getattr(self.o, "in_lab", False):
            command = [
                self.lab,
                "--fleet",
                self.fleet,
                "--speed",
                "%g" % self.o.speed,
                "--dcgm",
                "--",
                *command,
            ]
        with open(output or os.devnull, "w", encoding="utf-8") as f:
            child = subprocess.Popen(
                command,
                cwd=self.work,
                stdout=f if output else subprocess.PIPE,
                text=True,
                preexec_fn=end_with_parent,
            )
            try:
                text, _ = child.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                end_child(child, False)
                return None
            except BaseException as e:
                end_child(child, isinstance(e, KeyboardInterrupt) and not isinstance(e, Stopped))
                raise
        if child.returncode not in allowed:
            raise Failed("%s: exit status %d" % (shlex.join(command), child.returncode))
        return text

    def start_arbiter(self, socket, log, env, *options):
        """heshare fair serve for the GPU, at a socket of its own. @return the process, once it listens"""
        command = [self.heshare, "fair", "serve", "--gpus", self.gpu["uuid"], "--no-clocks"]
        child = subprocess.Popen(
            [*command, "--socket", socket, *options],
            cwd=self.work,
            env=env,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent,
        )
        until = time.monotonic() + 20
        while not os.path.exists(socket):
            if child.poll() is not None or time.monotonic() > until:
                end_child(child, False)
                raise Failed("heshare fair serve did not start; see %s" % log.name)
            time.sleep(0.02)
        return child

    def find_gpu(self):
        self.work = os.getcwd()
        if self.lab:
            self.fleet = os.path.abspath("heshare-bench-%s.yaml" % self.o.lab)
            self.write_fleet(self.o.lab)
        try:
            gpus = json.loads(self.call("gpus", "--json"))["gpus"]
        finally:
            if self.lab:
                os.unlink(self.fleet)
        if self.o.gpu >= len(gpus):
            raise Failed("--gpu %d: there are %d GPUs" % (self.o.gpu, len(gpus)))
        gpu = gpus[self.o.gpu]
        if not gpu["gpu_type"]:
            raise Failed(
                "%s is not in the catalogue of GPU types (data/gpu_types.yaml)" % gpu["name"]
            )
        self.check_gpu(gpu, gpus)
        return gpu

    def check_gpu(self, gpu, gpus):
        """For an experiment that cannot use every GPU. Raises Failed."""

    def write_fleet(self, kind):
        with open(self.fleet, "w", encoding="utf-8") as f:
            f.write(FLEET % kind)

    def command(self, iterations):
        """What runs: the network in PyTorch, or its stand-in."""
        if self.lab:
            return [
                "vgpu-task",
                "--workload",
                "{workload}",
                "--batch",
                "{batch}",
                "--iterations",
                str(iterations),
            ]
        return [
            sys.executable,
            os.path.join(HERE, "job.py"),
            "--network",
            "{workload}",
            "--batch",
            "{batch}",
            "--iterations",
            str(iterations),
        ]


def stop(_signal, _frame):
    """Once: a second signal, such as to the process group, must not cut off the cleaning up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    raise Stopped


def main(name, experiment, stopped="stopped; the same command goes on from here"):
    """Run it with a sentence for what goes wrong. @return the exit status"""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        return experiment()
    except (Failed, OSError) as e:
        print("bench/gpu/%s: %s" % (name, e), file=sys.stderr)
    except KeyboardInterrupt:
        print("bench/gpu/%s: %s" % (name, stopped), file=sys.stderr)
    return 1
