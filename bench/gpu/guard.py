"""
Cleans up after a measurement that was killed: a process of its own that waits for its parent's end.

Started with a pipe on its standard input. Lines name duties: {"mps": DIRECTORY}, {"clocks": GPU INDEX},
{"drop": KIND} takes one back. When the pipe ends it does what is left: stops the MPS daemon, resets the clocks.
"""
import json
import subprocess
import sys


class Guard:
    """The parent's end."""

    def __init__(self):
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, text=True,
                                         start_new_session=True)

    def _tell(self, duty):
        try:
            self._process.stdin.write(json.dumps(duty) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as e:
            raise RuntimeError("the process that restores the board after a crash is gone; "
                               "nothing is changed without it") from e

    def promise(self, kind, what):
        self._tell({kind: what})

    def drop(self, kind):
        self._tell({"drop": kind})

    def close(self):
        self._process.stdin.close()
        self._process.wait(60)


def main():
    import clocks
    import mps
    duties = {}
    for line in sys.stdin:
        duty = json.loads(line)
        if "drop" in duty:
            duties.pop(duty["drop"], None)
        else:
            duties.update(duty)
    if "clocks" in duties:
        clocks.reset(duties["clocks"])
    if "mps" in duties:
        mps.quit_daemon(duties["mps"])


if __name__ == "__main__":
    main()
