"""
The measuring process's end of the workers: start them, give them networks, keep those that will be used again.

With MPS a lane is a process whose share was fixed at its start; with green contexts all lanes are threads of one
process; with neither a lane is a process on the whole GPU.
"""
import json
import os
import select
import subprocess
import sys
import tempfile
import time

import mps
import ring

START_S, ANSWER_S = 180, 120  # a first import of PyTorch from a cold disk is slow


class WorkerFailed(Exception):
    """A worker died, or answered with an error."""


class OutOfMemory(WorkerFailed):
    """A network found no room on the GPU."""


def clean_environment(env):
    """Ours without what its owner set for GPUs and MPS: a client of our daemon sees one GPU, whatever its index."""
    return {
        **{
            k: v
            for k, v in os.environ.items()
            if k != "CUDA_VISIBLE_DEVICES" and not k.startswith("CUDA_MPS_")
        },
        **env,
    }


def answer_of(line):
    """@raise WorkerFailed when it is none, or an error"""
    try:
        answer = json.loads(line)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise WorkerFailed("the worker answered with no JSON object: %s" % line.strip()[:100])
    if "error" in answer:
        text = answer["error"].lower()
        full = "out of memory" in text or "alloc_failed" in text
        raise (OutOfMemory if full else WorkerFailed)(answer["error"])
    return answer


class Worker:
    def __init__(self, device, env, small):
        here = os.path.dirname(os.path.abspath(__file__))
        args = [sys.executable, os.path.join(here, "worker.py"), device] + (
            ["small"] if small else []
        )
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(
            args,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=clean_environment(env),
            start_new_session=True,
        )
        self._facts = None

    def facts(self):
        """What the worker said of itself when it was ready."""
        if self._facts is None:
            self._facts = self._answer(START_S)
        return self._facts

    def _last_words(self):
        self._errors.seek(0)
        text = self._errors.read().strip().splitlines()
        return text[-1][-200:] if text else "no message"

    def _answer(self, limit_s):
        ready, _, _ = select.select([self._process.stdout], [], [], limit_s)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            self.kill()
            raise WorkerFailed(
                "the worker %s: %s"
                % ("ended" if ready else "gave no answer in %d s" % limit_s, self._last_words())
            )
        return answer_of(line)

    def ask(self, **command):
        self.facts()
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except OSError as e:
            raise WorkerFailed("the worker ended: %s" % self._last_words()) from e
        return self._answer(ANSWER_S)

    def alive(self):
        return self._process.poll() is None

    def kill(self):
        if self.alive():
            self._process.kill()
        self._process.wait()

    def tell_to_end(self):
        try:
            self._process.stdin.write('{"do": "quit"}\n')
            self._process.stdin.close()
        except OSError:
            pass

    def end(self, limit_s):
        try:
            self._process.wait(max(0.0, limit_s))
        except subprocess.TimeoutExpired:
            self.kill()
        self._errors.close()


def close(workers, limit_s=5.0):
    """Ask all to end, side by side, so that no work of an MPS client is cut off; kill those that do not in time."""
    end = time.monotonic() + limit_s
    for worker in workers:
        worker.tell_to_end()
    for worker in workers:
        worker.end(end - time.monotonic())


class Lane:
    """One network that can be run: a worker's lane and its ring."""

    def __init__(self, worker, name, directory):
        self.worker = worker
        self.name = name
        self.path = os.path.join(directory, name.replace("/", "-"))
        self.ring = ring.Ring(self.path, create=True)
        self.loaded = None
        self.memory_mib = None
        self.sms = None

    def load(self, network, batch, precision, sms):
        wanted = (network, batch, precision, sms)
        if self.loaded == wanted:
            return
        self.unload()
        answer = self.worker.ask(
            do="load",
            lane=self.name,
            path=self.path,
            network=network,
            batch=batch,
            precision=precision,
            sms=sms,
        )
        self.memory_mib = answer["memory_mib"]
        self.sms = sms or self.worker.facts()["sms"]
        self.loaded = wanted

    def unload(self):
        if self.loaded:
            self.loaded = None
            self.worker.ask(do="unload", lane=self.name)


class Crew:
    """All workers of a run. @param mechanism  "mps", "green" or "none" """

    def __init__(self, mechanism, device, mps_directory=None, uuid=None, small=False):
        self.mechanism = mechanism
        self.device = device
        self.small = small
        self.mps_directory = mps_directory
        self.plain_env = {"CUDA_VISIBLE_DEVICES": uuid} if uuid else {}
        self.workers = {}
        self.lanes = {}
        self.sm_count = None
        self._directory = tempfile.mkdtemp(prefix="heshare-lanes-")

    def _worker_key(self, share_pct, slot):
        if self.mechanism == "green":
            return "all"
        return (share_pct, slot) if self.mechanism == "mps" else slot

    def _env(self, share_pct):
        if self.mechanism == "mps":
            return mps.client_environment(self.mps_directory, share_pct)
        return self.plain_env

    def call_in(self, members):
        """Start the workers that these (share, slot) need, side by side; they get ready while others are measured."""
        for share_pct, slot in members:
            key = self._worker_key(share_pct, slot)
            if key not in self.workers or not self.workers[key].alive():
                self.workers[key] = Worker(self.device, self._env(share_pct), self.small)
                self.lanes = {k: lane for k, lane in self.lanes.items() if k[0] != key}

    def dismiss_but(self, members):
        """Close the workers that none of these needs."""
        keep = {self._worker_key(*m) for m in members}
        close([self.workers.pop(key) for key in [k for k in self.workers if k not in keep]])
        self.lanes = {k: lane for k, lane in self.lanes.items() if k[0] in self.workers}

    def make_room(self):
        """Unload every network."""
        for lane in self.lanes.values():
            if lane.worker.alive():
                lane.unload()

    def lane(self, share_pct, slot):
        self.call_in([(share_pct, slot)])
        key = self._worker_key(share_pct, slot)
        worker = self.workers[key]
        facts = worker.facts()
        if share_pct == 100 or self.mechanism == "green":
            self.sm_count = self.sm_count or facts["sms"]
        at = (key, slot)
        if at not in self.lanes:
            self.lanes[at] = Lane(worker, "%s-%d" % (id(worker), slot), self._directory)
        return self.lanes[at]

    def sms_for(self, share_pct):
        """SMs of a green context: the share rounded down to what the hardware splits by; None where MPS or nothing splits."""
        if self.mechanism != "green" or share_pct == 100:
            return None
        return max(8, int(self.sm_count * share_pct / 100) // 8 * 8)

    def lose(self, lane):
        """After a failure: end the worker of a lane, so that the next call starts a fresh one."""
        for key in [k for k, w in self.workers.items() if w is lane.worker]:
            self.workers.pop(key).kill()
            self.lanes = {k: v for k, v in self.lanes.items() if k[0] != key}

    def close(self):
        close(list(self.workers.values()))
        self.workers.clear()
        for name in os.listdir(self._directory):
            os.unlink(os.path.join(self._directory, name))
        os.rmdir(self._directory)


def run(lanes):
    """Set lanes going, those of one worker together."""
    for lane in lanes:
        lane.ring.start()
    for worker in {id(lane.worker): lane.worker for lane in lanes}.values():
        worker.ask(do="run", lanes=[lane.name for lane in lanes if lane.worker is worker])


def halt(lanes):
    for lane in lanes:
        lane.ring.stop()
    for worker in {id(lane.worker): lane.worker for lane in lanes}.values():
        worker.ask(do="join", lanes=[lane.name for lane in lanes if lane.worker is worker])


def wait_for(lanes, completions, limit_s):
    """Until every lane has completed so many iterations. @raise WorkerFailed when one has not in time"""
    end = time.monotonic() + limit_s
    while any(lane.ring.count() < completions for lane in lanes):
        if time.monotonic() > end or not all(lane.worker.alive() for lane in lanes):
            slow = [lane.loaded[0] for lane in lanes if lane.ring.count() < completions]
            raise WorkerFailed(
                "%s: no %d iterations within %d s" % (", ".join(slow), completions, limit_s)
            )
        time.sleep(0.005)
