"""Two versions of a text merged by git, in files beside the notes, since git merges nothing else."""

import os
import secrets
from contextlib import suppress

from bonsai.adapters.git_run import GitRun
from bonsai.errors import IoFailed
from bonsai.notes.layout import TEMPORARY


def merge(run: GitRun, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """What `History.merge` promises. Where git will not merge (binary data) the answer is `ours`, not clean."""
    # Beside MEMORY.md and under the name of our temporary files: what a kill leaves there, the next look clears up.
    names = [os.path.join(run.root, f"{TEMPORARY}{secrets.token_hex(8)}.tmp") for _ in range(3)]
    try:
        for name, data in zip(names, (ours, base, theirs), strict=True):
            with open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
        labels = [word for label in ("now", "base", "wanted") for word in ("-L", label)]
        result = run("merge-file", "-p", "--quiet", *labels, "--", *map(_argument, names))
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=run.root, hint="Correct that, then try again.") from error
    finally:
        for name in names:
            with suppress(OSError):
                os.unlink(name)
    if 0 <= result.code < 128:
        return result.out, result.code == 0
    if "binary" in result.err or result.code == 255:
        return ours, False
    raise run.failure(result)


def _argument(path: str) -> str:
    """A path of the file system as text that the runner takes."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")
