"""
Completion times in a shared file: one writer (a worker's lane), one reader (the measuring process).

Layout, native 8-byte words: run flag, count of completions, then SLOTS completion times (monotonic seconds, the same
clock for all processes), the n-th in slot n % SLOTS. The time is written before the count that includes it.
"""
import mmap

SLOTS = 1 << 17


class Ring:
    def __init__(self, path, create=False):
        with open(path, "w+b" if create else "r+b") as f:
            if create:
                f.truncate(8 * (2 + SLOTS))
            self._map = mmap.mmap(f.fileno(), 8 * (2 + SLOTS))
        view = memoryview(self._map)
        self._words = view[:16].cast("q")
        self._times = view[16:].cast("d")

    def running(self):
        return self._words[0] != 0

    def stamp(self, when):
        n = self._words[1]
        self._times[n % SLOTS] = when
        self._words[1] = n + 1

    def start(self):
        self._words[1] = 0
        self._words[0] = 1

    def stop(self):
        self._words[0] = 0

    def count(self):
        return self._words[1]

    def between(self, start, end):
        """Completion times within [start, end], as far back as the ring reaches."""
        n = self._words[1]
        out = []
        for i in range(n - 1, max(-1, n - SLOTS + 1), -1):
            t = self._times[i % SLOTS]
            if t < start:
                break
            if t <= end:
                out.append(t)
        return out[::-1]

    def close(self):
        self._words.release()
        self._times.release()
        self._map.close()
