"""The config file of a damaged repository: what git cannot read is taken out, line by line, and the rest stays.

Without it git does nothing at all, and neither does bonsai. What a lost line said nobody knows: a remote is named again
with `git remote add`.
"""

import os
import re

from bonsai.adapters import git_reflog
from bonsai.adapters.git_damage import Aside
from bonsai.adapters.git_run import GitRun

_LINE = re.compile(r"bad config line (\d{1,9}) in")
_VALUE = re.compile(r"bad (?:boolean|numeric) config value '[^\n]{0,1000}' for '([a-z0-9.-]{1,200})'", re.IGNORECASE)
_FORMAT = re.compile(r"Expected git repo version|unknown repository extension|repo version is 0, but v1-only extension")
_TRIES = 200  # lines that are taken out one by one, before all of it goes
_LONG_ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def mend(root: str, git_dir: str, common_dir: str, aside: Aside) -> tuple[list[str], list[str]]:
    """Make the config readable; words for what was done, and for what is lost. Raises OSError."""
    path = os.path.join(common_dir, "config")
    lines = git_reflog.read(path).split(b"\n")
    kept = _parsable(lines, path)
    if kept == lines and any(lines) and not _fault(root):
        return [], []
    aside.keep(path)
    for _ in range(_TRIES):
        git_reflog.write(path, b"\n".join(kept))
        fault = _fault(root)
        if any(kept) and not fault:
            break
        fewer = _without(kept, fault)
        if len(fewer) == len(kept):
            git_reflog.write(path, _fresh(git_dir, common_dir))
            break
        kept = fewer
    lost = "lines of .git/config: look at `git remote -v`, and name again what is not there"
    return ["made the config of the repository readable again"], [lost]


def _parsable(lines: list[bytes], path: str) -> list[bytes]:
    """The lines that git can read."""
    run = GitRun(os.sep)  # in the repository itself git would stumble over the very file
    probe, kept = path, lines
    try:
        for _ in range(_TRIES):
            if kept != lines:
                probe = f"{path}.bonsai-probe"
                git_reflog.write(probe, b"\n".join(kept))
            result = run("config", "--file", probe, "--list")
            found = _LINE.search(result.err) if result.code else None
            if found:
                kept = _without_line(kept, min(int(found[1]), len(kept)) - 1)
            elif result.code:
                break  # nothing there, or nothing that can be told apart
            elif any(map(_is_key, kept[: (start := _next_section(kept, 0))])):  # git takes a key of no section for one
                kept = kept[start:]
            else:
                return kept
        return []
    finally:
        if probe != path:
            os.unlink(probe)


def _without_line(lines: list[bytes], number: int) -> list[bytes]:
    """The lines without one of them; without all of a section where it is the name of that."""
    named = lines[number].lstrip().startswith(b"[") or lines[number].rstrip().endswith(b"]")
    end = _next_section(lines, number + 1) if named else number + 1
    return [*lines[:number], *lines[end:]]


def _is_key(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith((b"#", b";"))


def _next_section(lines: list[bytes], start: int) -> int:
    return next((at for at in range(start, len(lines)) if lines[at].lstrip().startswith(b"[")), len(lines))


def _fault(root: str) -> str:
    """What git says against the config, "" for nothing; what else may be damaged says nothing about it."""
    run = GitRun(root)
    for words in (("rev-parse", "--git-dir"), ("ls-files", "--", ".git")):
        result = run(*words)
        if result.code and (_LINE.search(result.err) or _VALUE.search(result.err) or _FORMAT.search(result.err)):
            return result.err
    return ""


def _without(lines: list[bytes], fault: str) -> list[bytes]:
    """The lines without those of a key that git does not take."""
    found = _VALUE.search(fault)
    keys = [found[1].rpartition(".")[2]] if found else []
    if _FORMAT.search(fault):
        keys = ["repositoryformatversion"]
    keyed = [line.partition(b"=")[0].strip().lower() for line in lines]
    return [line for line, key in zip(lines, keyed, strict=True) if key.decode("latin-1") not in keys]


def _fresh(git_dir: str, common_dir: str) -> bytes:
    """The config of a new repository with the same kind of object ids."""
    logs = git_reflog.read(os.path.join(git_dir, "logs", "HEAD")) + git_reflog.read(
        os.path.join(common_dir, "packed-refs")
    )
    long = bool(_LONG_ID.search(logs))
    core = f"[core]\n\trepositoryformatversion = {int(long)}\n\tfilemode = true\n\tbare = false\n"
    return f"{core}\tlogallrefupdates = true\n{'[extensions]' if long else ''}\n".encode() + (
        b"\tobjectformat = sha256\n" if long else b""
    )
