"""The commit-graph: what lets git tell the log of one path, or the newest commits, without reading all the others.

At 10,000 commits the 20 newest in topological order take 130 ms without it and 3 ms with it, the log of one note 95 ms
and 9 ms. It is derived, and git checks what it says: a damaged one goes, and is written again.
"""

import os
import shutil
from contextlib import suppress

from bonsai.adapters.git_run import GitRun
from bonsai.errors import BonsaiError

_SECONDS = 20.0  # a history that takes longer belongs to a repository that has a gc of its own
_FILTERS = 20_000  # commits whose changed paths are looked at in one go; the next one goes on from there
PLACES = ("commit-graph", "commit-graphs")  # in objects/info


def write(run: GitRun) -> bool:
    """Add what is new to the commit-graph, as one layer more; says whether that worked, and costs nothing if not."""
    with suppress(BonsaiError):
        result = run(
            *("commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress"),
            f"--max-new-filters={_FILTERS}",
            seconds=_SECONDS,
        )
        return result.code == 0
    return False


def is_there(common_dir: str) -> bool:
    """Whether there is a commit-graph of any kind."""
    return any(os.path.lexists(os.path.join(common_dir, "objects", "info", name)) for name in PLACES)


def remove(common_dir: str) -> list[str]:
    """Remove the commit-graph; returns what was removed. Raises OSError."""
    removed = []
    for name in PLACES:
        path = os.path.join(common_dir, "objects", "info", name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        else:
            continue
        removed.append(path)
    return removed
