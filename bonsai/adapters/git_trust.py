"""What in a repository's own config would make git run a program, and which of it the person has agreed to.

A clone brings no config, but an unpacked archive or a shared folder does. Nothing that bonsai does on the disk obeys
it; over the network git has more ways to run what it names, so there bonsai asks first.
"""

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from bonsai.adapters.git_commit import settings
from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_run import GitRun
from bonsai.errors import IoFailed

FILE = ".bonsai/trusted.json"
#: The merge drivers of `git_drivers`; exactly these values need nobody's trust.
DRIVERS = {
    "merge.bonsai.name": "bonsai: notes by their passages",
    "merge.bonsai.driver": (
        "command -v bonsai >/dev/null || exec git merge-file %A %O %B; exec bonsai merge-driver %O %A %B %P"
    ),
    "merge.bonsai-generated.name": "bonsai: indexes, which are written anew",
    "merge.bonsai-generated.driver": "true",
}
_SECTIONS = ("filter.", "credential.", "gpg.", "url.", "alias.", "include.", "includeif.", "submodule.", "protocol.")
_KEYS = frozenset(
    {
        *("core.hookspath", "core.sshcommand", "core.editor", "core.pager", "core.gitproxy", "core.askpass"),
        *("core.alternaterefscommand", "core.worktree", "diff.external", "sequence.editor", "gc.recentobjectshook"),
        *("interactive.difffilter", "uploadpack.packobjectshook", "http.proxy", "http.cookiefile"),
    }
)
_PARTS = re.compile(
    r"diff\..{0,999}\.(?:textconv|command)|merge\..{0,999}\.driver|pager\..{0,999}|trailer\..{0,999}\.(?:command|cmd)"
    r"|remote\..{0,999}\.(?:uploadpack|receivepack|vcs|proxy)|(?:difftool|mergetool|man|browser)\..{0,999}\.(?:cmd|path)"
    r"|sendemail\..{0,999}(?:cmd|server)|http\..{0,999}\.(?:proxy|cookiefile)",
    re.DOTALL,
)
_BOOLEAN = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})


class Named(NamedTuple):
    """A key of the repository's own config that can make git run something; `value` is not to be shown."""

    key: str
    value: str


def programs(run: GitRun) -> list[Named]:
    """The keys of the repository's own config, with the files that it includes, that can make git run a program."""
    own = [Named(key, value) for scope, key, value in settings(run) if scope in ("local", "worktree")]
    return [item for item in own if _runs(item.key, item.value)]


def helpers(run: GitRun) -> list[Named]:
    """How the person's own config, of no repository, says to log in: credential helpers and the ssh command."""
    own = {key: Named(key, value) for scope, key, value in settings(run) if scope in ("system", "global")}
    return [item for key, item in sorted(own.items()) if key == "core.sshcommand" or key.startswith("credential.")]


def _runs(key: str, value: str) -> bool:
    if DRIVERS.get(key) == value:
        return False
    if key == "core.fsmonitor":  # the daemon that is built into git is a boolean
        return value.lower() not in _BOOLEAN
    return key in _KEYS or key.startswith(_SECTIONS) or bool(_PARTS.fullmatch(key))


def fingerprint(items: Sequence[Named], layout: Layout) -> str:
    """What the person agrees to: these values, in this repository, on this machine.

    The file with it lies in the workspace. Whoever prepares an archive could put one in it, so it must be made of what
    they cannot know.
    """
    words = [json.dumps(sorted(items)), os.path.realpath(layout.common_dir), str(os.geteuid()), _machine()]
    with suppress(OSError):
        found = os.stat(layout.common_dir)
        words.append(f"{found.st_dev} {found.st_ino}")
    return sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()


def agreed(root: str) -> list[str]:
    """The fingerprints that the person agreed to."""
    with suppress(OSError, ValueError, RecursionError):
        with open(os.open(os.path.join(root, FILE), os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            found = json.loads(file.read(65_536))
        if isinstance(found, list):
            return [item for item in found if isinstance(item, str)]
    return []


def agree(root: str, fingerprints: Sequence[str]) -> None:
    """Remember what the person agrees to, readable for nobody else. Raises IoFailed."""
    path = os.path.join(root, FILE)
    temporary = f"{path}.{os.getpid()}"
    try:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(sorted(fingerprints)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise IoFailed(f"{error.strerror}", path=FILE, hint="Correct that, then run the command again.") from error


def _machine() -> str:
    with suppress(OSError), open("/etc/machine-id", encoding="ascii", errors="replace") as file:
        return file.read(64).strip()
    return ""
