"""Packs: each commit leaves a small one, so now and then they are put together, a few at a time."""

import os
from contextlib import suppress

from bonsai.adapters.git_run import GitRun
from bonsai.errors import BonsaiError

MANY = 50  # packs: git's own limit (gc.autoPackLimit) before it thinks of gathering them


class Packs:
    """The packs of one object store."""

    def __init__(self, run: GitRun) -> None:
        self._run = run

    def gather(self, common_dir: str) -> None:
        """Put small packs together when there are many; a failure costs nothing but another try later.

        Geometric: each pack stays twice the size of the next, so that the work of a commit is logarithmic on average.
        """
        try:
            packs = sum(name.endswith(".pack") for name in os.listdir(os.path.join(common_dir, "objects", "pack")))
        except OSError:
            return
        if packs > MANY:
            with suppress(BonsaiError):
                self._run("repack", "-d", "-q", "--geometric=2", config=("pack.compression=-1",))
