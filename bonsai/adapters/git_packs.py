"""Packs: each commit leaves a small one, so now and then they are put together, a few at a time."""

import os
from collections import Counter
from contextlib import suppress

from bonsai.adapters import git_graph
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
            kinds = Counter(
                os.path.splitext(name)[1] for name in os.listdir(os.path.join(common_dir, "objects", "pack"))
            )
        except OSError:
            return
        # In a partial clone (.promisor) git before 2.45 would mix what the remote still has with what is only here.
        if kinds[".pack"] - kinds[".keep"] > MANY and not kinds[".promisor"]:
            words = ("repack", "-d", "-l", "-q", "--geometric=2", "--no-write-bitmap-index")
            with suppress(BonsaiError):
                self._run(*words, config=("pack.compression=-1",))
            git_graph.write(self._run)  # so many commits are not in it yet
