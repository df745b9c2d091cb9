#!/usr/bin/env python3
"""Type keys at a real interactive shell and print what it shows: type_at_shell.py bash|zsh SETUP KEYS

Keys are typed when the prompt is there, as a person would.
"""
import os
import pty
import sys

SHELLS = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}
PROMPT = b"now> "


def main(shell, setup, keys):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(shell, [shell] + SHELLS[shell])
    # Written so that the prompt does not show before it is one.
    os.write(fd, (setup + "; PS1='n''ow> '\n").encode())
    shown, typed = b"", False
    try:
        while piece := os.read(fd, 4096):
            shown += piece
            if not typed and PROMPT in shown:
                os.write(fd, (keys + "\nexit\n").encode())
                typed = True
    except OSError:  # the terminal is gone: the shell has ended
        pass
    os.waitpid(pid, 0)
    sys.stdout.write(shown.decode(errors="replace"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
