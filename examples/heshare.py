"""Joules of a part of a Python program: copy this file next to it.

    import heshare

    with heshare.window() as w:
        train()
        torch.cuda.synchronize()  # work that is only queued would end after the window
    print(w.joules, w.seconds, w.power_w)

It runs `heshare measure` meanwhile. The joules are those of whole GPUs, whatever caused them. A
window of ten seconds or more is measured well.
"""
import json
import subprocess
import tempfile

# It says that the meter has begun, and ends when its input does: also when this program dies.
UNTIL_CLOSED = ["sh", "-c", "echo begun; cat >/dev/null"]


class Window:
    """joules, seconds and power_w (the mean) of all GPUs together once it has ended; gpus has
    each, as `heshare measure --json` prints it. A value that could not be measured is None."""

    def __init__(self, command):
        self.joules = self.seconds = self.power_w = None
        self.gpus = []
        self._command = command

    def __enter__(self):
        self._report = tempfile.NamedTemporaryFile(suffix=".json")
        self._errors = tempfile.TemporaryFile()
        self._meter = subprocess.Popen(
            [*self._command, "-o", self._report.name, "--", *UNTIL_CLOSED],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C is for this program
        )
        if not self._meter.stdout.readline():
            self._end()
        return self

    def __exit__(self, *_):
        self._end()
        with open(self._report.name, encoding="utf-8") as f:
            report = json.load(f)
        self._report.close()
        self.gpus, self.seconds = report["gpus"], report["seconds"]
        joules = [gpu["energy_j"] for gpu in self.gpus]
        watts = [gpu["power_w"] for gpu in self.gpus]
        self.joules = None if None in joules else sum(joules)
        self.power_w = None if None in watts else sum(watts)

    def _end(self):
        self._meter.stdin.close()
        self._meter.stdout.close()
        status = self._meter.wait()
        if status:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
            raise RuntimeError("heshare measure ended with %d: %s" % (status, said))


def window(gpus="all", program="heshare"):
    """@param gpus  as of heshare measure --gpus"""
    return Window([program, "measure", "--json", "--gpus", gpus])
