"""An MPS control daemon of our own, in a directory of its own, for one GPU. It changes no setting of the GPU."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

CONTROL = "nvidia-cuda-mps-control"


def environment(directory):
    """What a client, and the daemon, find each other by."""
    return {
        "CUDA_MPS_PIPE_DIRECTORY": os.path.join(directory, "pipe"),
        "CUDA_MPS_LOG_DIRECTORY": os.path.join(directory, "log"),
    }


def client_environment(directory, share_pct):
    return {**environment(directory), "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(share_pct)}


def start_daemon(uuid, guard):
    """
    @return (directory, None), or (None, why not)
    """
    if not shutil.which(CONTROL):
        return None, "%s is not installed" % CONTROL
    directory = tempfile.mkdtemp(prefix="heshare-mps-")
    for name in ("pipe", "log"):
        os.mkdir(os.path.join(directory, name), 0o700)
    guard.register("mps", directory)
    env = {**os.environ, **environment(directory)}
    if uuid:
        env["CUDA_VISIBLE_DEVICES"] = uuid
    try:
        done = subprocess.run([CONTROL, "-d"], env=env, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as e:
        quit_daemon(directory)
        return None, "%s -d: %s" % (CONTROL, e)
    if done.returncode != 0:
        why = "%s -d: exit %d: %s" % (
            CONTROL,
            done.returncode,
            (done.stderr or done.stdout).strip()[-300:],
        )
        quit_daemon(directory)
        return None, why
    return directory, None


def log_tail(directory, n=5):
    """The last lines of the daemon's and the server's logs, to tell why a client failed."""
    lines = []
    for name in ("control.log", "server.log"):
        try:
            with open(
                os.path.join(directory, "log", name), encoding="utf-8", errors="replace"
            ) as f:
                lines += f.read().splitlines()[-n:]
        except OSError:
            pass
    return " | ".join(lines)


def _kill_by_pid_file(directory):
    try:
        with open(os.path.join(directory, "pipe", CONTROL + ".pid"), encoding="ascii") as f:
            os.kill(int(f.read().strip().rstrip("\0")), signal.SIGTERM)
    except (OSError, ValueError):
        pass


def quit_daemon(directory):
    """Stop the daemon and its servers, whatever state they are in, and remove the directory. May be called again."""
    if not os.path.isdir(directory):
        return
    env = {**os.environ, **environment(directory)}
    try:
        subprocess.run(
            [CONTROL], input="quit -t 5\n", env=env, capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        pass
    _kill_by_pid_file(directory)
    time.sleep(0.1)
    shutil.rmtree(directory, ignore_errors=True)
