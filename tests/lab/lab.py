"""The virtual lab as tests of faults need it: GPUs, who belongs to a run, waiting for what is to happen.

This program itself is outside of the lab: its time is real. Used by lab_run.py and faults.py.
"""
import contextlib
import os
import signal
import subprocess
import sys
import time

HESHARE = os.environ.get("HESHARE", "build/src/cli/heshare")
LAB = os.environ.get("HES_LAB", "build/lab/lab")
SPEED = 50
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
PATIENCE_S = 60  # for what is to happen at all

FLEET = """name: faults
nodes:
  - name: lab
    gpus: [ { type: T4, count: 2 }, { type: A100-SXM-80, count: 1 } ]
"""


class Wrong(Exception):
    """What was to hold does not."""


def expect(holds, *what):
    if not holds:
        raise Wrong(" ".join(str(w) for w in what))


def await_that(what, holds, patience_s=PATIENCE_S):
    """@return the seconds it took"""
    begin = time.monotonic()
    while not holds():
        expect(time.monotonic() - begin < patience_s, "waited for:", what)
        time.sleep(0.005)
    return time.monotonic() - begin


def runs(pid):
    """Whether a process is there and has not ended."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            text = f.read()
        return text[text.rindex(")") + 2] not in "ZX"
    return False


def kill(pid, sig=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, sig)


def enter_namespace():
    """Run this program again in a PID namespace of its own, where root may make one: a wrong number then hits nobody outside."""
    words = ["unshare", "--fork", "--pid", "--mount-proc"]
    if (
        os.environ.get("HESHARE_TEST_NAMESPACE")
        or os.geteuid() != 0
        or subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode
    ):
        return
    os.environ["HESHARE_TEST_NAMESPACE"] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


class Lab:
    """The GPUs, and an environment to see them in."""

    def __init__(self, folder):
        self.folder = folder
        path = os.path.join(folder, "environment")
        fleet = os.path.join(folder, "fleet.yaml")
        with open(fleet, "w", encoding="ascii") as f:
            f.write(FLEET)
        self._process = subprocess.Popen(
            [
                LAB,
                "--fleet",
                fleet,
                "--speed",
                str(SPEED),
                "--",
                "sh",
                "-c",
                f"env -0 >'{path}.new'; mv '{path}.new' '{path}'; cat",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        await_that("the lab", lambda: os.path.exists(path))
        with open(path, encoding="utf-8") as f:
            self.env = dict(row.split("=", 1) for row in f.read().split("\0") if row)

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def tool(self, *argv):
        return subprocess.run(
            argv, env=self.env, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def changed(self):
        """GPUs that are not as they were."""
        rows = [line.split() for line in self.tool("vgpu-look").splitlines()[1:]]
        return [
            f"GPU {r[0]}: clock {r[2]}, limit {r[3]}" for r in rows if r[2] != "-" or r[3] != "-"
        ]

    def fault(self, *specs):
        self.tool("vgpu-fault", *specs)


class Process:
    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            text = f.read()
        self.name = text[text.index("(") + 1 : text.rindex(")")]
        self.state, self.parent = text[text.rindex(")") + 2 :].split()[:2]
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            self.argv = f.read().decode(errors="replace").split("\0")
        with open(f"/proc/{pid}/environ", "rb") as f:
            self.env = f.read().split(b"\0")

    def is_guard(self):
        return "--guard" in self.argv

    def is_held(self):
        """Its cgroup is frozen, or it was stopped by a signal."""
        try:
            with open(f"/proc/{self.pid}/cgroup", encoding="ascii") as f:
                name = next((line[3:].strip() for line in f if line.startswith("0::/")), "")
            return self.state == "T" or any(
                "frozen 1" in open(f"{at}{name}/cgroup.events", encoding="ascii").read()
                for at in CGROUPS
                if os.path.exists(f"{at}{name}/cgroup.events")
            )
        except OSError:
            return False

    def is_daemon(self):
        return self.name == "nvidia-cuda-mps" and any(a in ("-d", "-f") for a in self.argv)

    def is_server(self):
        return self.name == "nvidia-cuda-mps" and "control" not in self.argv[0]

    def __str__(self):
        return f"{self.pid} {' '.join(self.argv)[:60]}"
