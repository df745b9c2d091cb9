"""
The guard undoes changes to the GPU when a measurement was killed: a process that waits for the end of its parent.

It reads lines from a pipe. {"mps": DIRECTORY} and {"clocks": GPU INDEX} register what to undo; {"drop": KIND} removes that.
When the pipe ends, the guard undoes what is registered: it stops the MPS daemon and resets the clocks.
"""
import json
import subprocess
import sys


class Guard:
    """The parent's end."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def _send(self, line):
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as e:
            raise RuntimeError(
                "the process that undoes changes after a crash has ended; "
                "without it nothing is changed"
            ) from e

    def register(self, kind, what):
        self._send({kind: what})

    def drop(self, kind):
        self._send({"drop": kind})

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)


def main():
    import clocks
    import mps

    undo = {}
    for line in sys.stdin:
        entry = json.loads(line)
        if "drop" in entry:
            undo.pop(entry["drop"], None)
        else:
            undo.update(entry)
    if "clocks" in undo:
        clocks.reset(undo["clocks"])
    if "mps" in undo:
        mps.quit_daemon(undo["mps"])


if __name__ == "__main__":
    main()
