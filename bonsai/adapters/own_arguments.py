"""What other users of the machine see of our command line: a token in it is written over."""

import ctypes
import os
from contextlib import suppress


def hide(secret: str) -> None:
    """Take a text out of the arguments that `ps` shows (Linux; elsewhere the environment is the place for a token)."""
    wanted = os.fsencode(secret)
    if not wanted:
        return
    with suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5), counted from the state
        shown = ctypes.string_at(start, end - start)
        at = shown.find(wanted)
        while at >= 0:
            ctypes.memset(start + at, ord("x"), len(wanted))
            at = shown.find(wanted, at + len(wanted))
