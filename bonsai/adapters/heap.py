"""Memory that this process has freed, and the system has not got back."""

import ctypes
import gc
import sys


def trim() -> None:
    """Give it back. A daemon that committed 10,000 notes at once would hold on to a quarter of it for ever."""
    gc.collect()
    if sys.platform == "linux":
        give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; musl gives it back by itself
        if give_back:
            give_back(0)
