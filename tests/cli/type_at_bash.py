#!/usr/bin/env python3
"""Type keys at a real interactive bash and print what it shows: type_at_bash.py SETUP KEYS"""
import os
import pty
import sys


def main(setup, keys):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    os.write(fd, (setup + "\n" + keys + "\nexit\n").encode())
    shown = b""
    try:
        while piece := os.read(fd, 4096):
            shown += piece
    except OSError:  # the terminal is gone: bash has ended
        pass
    os.waitpid(pid, 0)
    sys.stdout.write(shown.decode(errors="replace"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
