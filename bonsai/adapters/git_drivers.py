"""The merge drivers: so that a plain `git pull` or `git merge` treats notes as `sync` does."""

import os
from contextlib import suppress

from bonsai.adapters.git_locks import Locks, tidied
from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_run import GitRun
from bonsai.adapters.git_trust import DRIVERS
from bonsai.errors import BonsaiError

ATTRIBUTES = "memory/.gitattributes"
_START = "# Written by bonsai: how git merges the notes (docs/sync.md)."
#: In memory/.gitattributes, which is committed.
LINES = (
    _START,
    "*.md merge=bonsai",
    "_index.md merge=bonsai-generated",
    "_purge_log.json merge=bonsai",
)
_BOOT = "MEMORY*.md merge=bonsai"


def is_installed(layout: Layout) -> bool:
    """Whether the drivers are named where `install` names them."""
    return _is_named(layout) and not _missing(layout)


def install(run: GitRun, layout: Layout) -> None:
    """Name the drivers in the repository's own config, and the boot files in info/attributes.

    The boot files stand outside memory/, where a .gitattributes would be the person's. What cannot be written (a
    config that is locked) is left for the next time: git falls back to its own merge.
    """
    with suppress(BonsaiError, OSError), tidied(run, lambda: Locks(layout, "HEAD")):
        for key, value in DRIVERS.items():
            run.ok("config", "--local", "--replace-all", "--", key, value)
        _add(layout)


def attributes(old: bytes | None) -> bytes:
    """memory/.gitattributes with our lines, before those of the person, which then count more."""
    have = set((old or b"").decode("utf-8", "replace").splitlines())
    missing = [line for line in LINES if line not in have]
    if not missing or (missing == [_START]):
        return old or b""
    return "".join(f"{line}\n" for line in missing).encode() + (old or b"")


def _is_named(layout: Layout) -> bool:
    """Whether the config names our drivers as they are now; read as text, since that costs no process."""
    text = _read(os.path.join(layout.common_dir, "config")).replace('\\"', '"')
    return all(value in text for value in DRIVERS.values())


def _missing(layout: Layout) -> list[str]:
    have = _read(_place(layout)).splitlines()
    return [line for line in [f"/{_escaped(layout.prefix)}{_BOOT}"] if line not in have]


def _add(layout: Layout) -> None:
    missing = _missing(layout)
    if not missing:
        return
    path = _place(layout)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    old = _read(path)
    gap = "\n" if old and not old.endswith("\n") else ""
    with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
        file.write("".join([gap, *(f"{line}\n" for line in missing)]))


def _place(layout: Layout) -> str:
    return os.path.join(layout.common_dir, "info", "attributes")


def _escaped(prefix: str) -> str:
    """A folder as an attribute pattern: a blank would end the pattern, so any character stands for it."""
    plain = "".join(f"\\{char}" if char in "*?[]\\" else char for char in prefix)
    return "".join("?" if char.isspace() or char == '"' else char for char in plain)


def _read(path: str) -> str:
    with suppress(OSError), open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
    return ""
