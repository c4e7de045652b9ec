"""The other side: fetching a branch, pushing it, and what two histories have in common. Nothing is ever forced."""

import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from bonsai.adapters.git_address import Address, parse
from bonsai.adapters.git_commit import read_config
from bonsai.adapters.git_join import Histories
from bonsai.adapters.git_locks import Locks, tidied
from bonsai.adapters.git_run import KILLED, Result
from bonsai.adapters.git_trust import Named
from bonsai.errors import BonsaiError, Busy, Misconfigured, Refused, Unavailable

_SECONDS = 600.0  # for a transfer
_FETCHED = "refs/bonsai/fetched-"  # what a fetch brought, until it is merged
_SYNCED = "refs/bonsai/synced-"  # what a remote had when we last met
#: In the repository at the other end of a path no program runs either: a stick from somebody else has hooks, too.
_FAR = " ".join(
    f"-c {item}"
    for item in (
        *("core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "receive.autogc=false"),
        "core.alternateRefsCommand=true",
    )
)
_FAR_END = {"fetch": ("--upload-pack", "upload-pack"), "push": ("--receive-pack", "receive-pack")}
_CONFIG = (
    "fetch.fsckObjects=true",
    "fetch.unpackLimit=1",  # a pack can be taken back
    "fetch.fsck.zeroPaddedFilemode=ignore",
    "fetch.fsck.badTimezone=ignore",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "push.gpgSign=false",
    "transfer.bundleURI=false",
    "http.followRedirects=initial",
)
_SSH = "ssh -oBatchMode=yes -oConnectTimeout=20"
_RACE = (
    "fetch first",
    "non-fast-forward",
    "failed to update ref",
    "cannot lock ref",
    "stale info",
    "incorrect old value",
)


class Remote(NamedTuple):
    """Where to, and what it is called there."""

    name: str  # as the repository's config calls it, "" for an address that was typed
    fetch: Address
    push: Address
    branch: str  # the branch there


class GitRemote(Histories):
    """The remotes of the repository around a workspace.

    Raises Misconfigured (no remote), Refused (an address that is not allowed, a damaged transfer), Unavailable (nobody
    answers), and what `GitRun.failure` makes.
    """

    def __init__(self, root: str, helpers: Sequence[Named] = ()) -> None:
        super().__init__(root)
        self._helpers = helpers  # the person's own ways to log in, where they have agreed to them
        self._before: set[str] = set()  # the packs that there were before the last fetch

    # --- which ------------------------------------------------------------------------------------------------------

    def find(self, given: str, folder: str) -> Remote:
        """The remote of this name or address; "": that of the branch, else `origin`, else the only one there is.

        Raises Misconfigured, Busy (HEAD is on no branch), and what `git_address.parse` does.
        """
        layout, config = self.layout, read_config(self.run).every
        branch = self._repo.branch().removeprefix("refs/heads/")
        if not branch:
            raise Busy("HEAD is on no branch", path=self.run.root, hint="Run `git switch BRANCH`.")
        upstream = config.get(f"branch.{branch}.remote", "")
        names = {key[7:-4] for key in config if key.startswith("remote.") and key.endswith(".url")}
        name = given or (upstream if upstream in names else "origin" if "origin" in names else "")
        if not name and len(names) == 1:
            name = next(iter(names))
        if not name:
            raise Misconfigured(
                "there is no remote to sync with", path=self.run.root, hint="Run `git remote add origin ADDRESS`."
            )
        if name not in names:
            address = parse(name, folder)
            return Remote("", address, address, branch)
        there = config.get(f"branch.{branch}.merge", "").removeprefix("refs/heads/") if name == upstream else ""
        fetch = parse(config[f"remote.{name}.url"], layout.top)
        push = config.get(f"remote.{name}.pushurl", "")
        return Remote(name, fetch, parse(push, layout.top) if push else fetch, there or branch)

    # --- over there -------------------------------------------------------------------------------------------------

    def fetch(self, remote: Remote) -> tuple[Remote, str]:
        """What the branch there is at, with all its objects here; "" where the remote is empty.

        A remote without the branch is asked for its own where ours is the only one here: a repository that was made
        with another default name. Among several a branch means something, and goes to no other.
        """
        for ref in self._refs(_FETCHED):
            self._forget(ref)
        self._before = self._packs()
        place = f"{_FETCHED}{token_hex(8)}"
        for known in (remote.branch, ""):
            branch = known or (self._head_there(remote) if len(self._refs("refs/heads/")) < 2 else "")
            if not branch:
                return remote, ""
            words = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--refmap=")
            result = self._talk("fetch", remote.fetch, *words, refs=[f"refs/heads/{branch}:{place}"])
            if result.code == 0:
                found = self.run.ok("rev-parse", "--verify", "--end-of-options", f"{place}^{{commit}}").decode().strip()
                return remote._replace(branch=branch), found
            if "couldn't find remote ref" not in result.err:
                raise self._failure(result, remote.fetch)
        return remote, ""

    def discard(self, commit: str) -> None:
        """Take back the pack with which a fetch brought a commit, for what must not be in this repository.

        A commit made meanwhile may rest on it: git writes no bytes twice. Then it stays, and nothing leads to the rest.
        """
        for ref in self._refs(_FETCHED):
            self._forget(ref)
        packs = [pack for pack in self._packs() - self._before if self._is_in(commit, pack)]
        files = [f"{pack}.{suffix}" for pack in packs for suffix in ("idx", "rev", "pack")]
        moved = [name for name in files if _moved(name, f"{name}.gone")]
        if moved and self.run("fsck", "--connectivity-only", "--no-dangling", "--no-progress").code:
            for name in reversed(moved):  # without its index a pack is none
                _moved(f"{name}.gone", name)
        for name in moved:
            with suppress(OSError):
                os.unlink(f"{name}.gone")

    def _packs(self) -> set[str]:
        """The packs that there are, without suffix."""
        folder = os.path.join(self.layout.common_dir, "objects", "pack")
        return {os.path.join(folder, path.removesuffix(".idx")) for path in glob.glob("pack-*.idx", root_dir=folder)}

    def _is_in(self, commit: str, pack: str) -> bool:
        with suppress(OSError), open(f"{pack}.idx", "rb") as file:
            return commit.encode() in self.run("show-index", data=file.read()).out
        return False

    def push(self, remote: Remote, commit: str) -> str:
        """Move the branch there to a commit that holds what it is at; "" when that is done, else why not.

        Raises Busy when somebody else was faster, Refused when the other side does not want it.
        """
        words = ("--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no")
        result = self._talk("push", remote.push, *words, refs=[f"{commit}:refs/heads/{remote.branch}"])
        if result.code == 0:
            return ""
        if "branch is currently checked out" in result.err:
            return f"{remote.push.shown} is itself a work tree: it takes this over with a `bonsai sync` of its own"
        if any(words in result.err for words in _RACE):
            raise Busy("somebody else pushed at the same time", path=remote.push.shown, hint="Try again.")
        if "rejected]" in result.err or "hook declined" in result.err:
            lines = [line.strip() for line in result.err.splitlines() if "rejected]" in line]
            raise Refused(
                f"the other side does not take it: {(lines or [result.words])[0]}",
                path=remote.push.shown,
                hint="Everything is committed here; ask who runs the remote.",
            )
        raise self._failure(result, remote.push)

    def _head_there(self, remote: Remote) -> str:
        """The branch that HEAD of the remote names, or the only one there is; "" for that asked for, or for none.

        A bare repository made with another default name than that of the first branch pushed to it has such a HEAD
        that leads nowhere; a second branch beside the first would split the memory for good without a word.
        """
        result = self._talk("ls-remote", remote.fetch, "--symref", "--quiet", refs=["HEAD", "refs/heads/*"])
        if result.code:
            raise self._failure(result, remote.fetch)
        lines = result.out.decode("utf-8", "surrogateescape").split("\n")
        named = [line[16:].partition("\t")[0] for line in lines if line.startswith("ref: refs/heads/")]
        heads = [name[11:] for line in lines if (name := line.partition("\t")[2]).startswith("refs/heads/")]
        name = named[0] if named else heads[0] if len(heads) == 1 else ""
        return "" if name == remote.branch else name

    def _talk(self, verb: str, address: Address, *words: str, refs: Sequence[str]) -> Result:
        option, program = _FAR_END.get(verb, _FAR_END["fetch"])
        far = f"git {_FAR} {program}" if address.transport == "file" else f"git-{program}"
        with tidied(self.run, lambda: Locks(self.layout, self._repo.branch())):
            return self.run(
                verb,
                *words,
                f"{option}={far}",
                "--",
                address.url,
                *refs,
                seconds=_SECONDS,
                env={"GIT_ALLOW_PROTOCOL": "file:ssh:https"},
                config=(*_CONFIG, *self._own_ways()),
            )

    def _own_ways(self) -> tuple[str, ...]:
        """How to log in: ssh without questions, and what the person's own config names where they agreed to it."""
        own = [f"{key}={value}" for key, value in self._helpers]
        return (f"core.sshCommand={_SSH}", *own)

    def _failure(self, result: Result, address: Address) -> BonsaiError:
        if "fsck" in result.err or "fatal: bad object" in result.err or "invalid index-pack" in result.err:
            hint = "Nothing of it was taken over. Look at the remote with `git fsck`."
            return Refused(f"sent what git does not accept: {result.words}", path=address.shown, hint=hint)
        found = self.run.failure(result)
        if isinstance(found, Busy) and result.code != KILLED:
            return found
        if any(words in result.err for words in ("No space left", "Read-only file system", "quota exceeded")):
            return found
        return Unavailable(
            f"cannot be reached: {result.words}" if result.code != KILLED else "did not answer in time",
            path=address.shown,
            hint="Everything is committed here; run `bonsai sync` again when it can be reached.",
        )

    # --- what we remember of it -------------------------------------------------------------------------------------

    def synced(self, remote: Remote) -> str:
        """What the remote had when we last met, "" for never."""
        result = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{_meeting(remote)}^{{commit}}")
        return result.out.decode().strip() if result.code == 0 else ""

    def remember(self, remote: Remote, commit: str) -> None:
        """Note what the remote has now; also under the name that `git status` compares with."""
        names = [_meeting(remote), *([f"refs/remotes/{remote.name}/{remote.branch}"] if remote.name else [])]
        for name in names if commit else ():
            with suppress(BonsaiError):
                self.run("update-ref", "--no-deref", "-m", "bonsai sync", name, commit)
        for ref in self._refs(_FETCHED):
            self._forget(ref)

    def _refs(self, prefix: str) -> list[str]:
        wanted = prefix if prefix.endswith("/") else f"{prefix}*"
        return self.run.ok("for-each-ref", "--format=%(refname)", wanted).decode("utf-8", "surrogateescape").split()

    def _forget(self, ref: str) -> None:
        with suppress(BonsaiError):
            self.run("update-ref", "--no-deref", "-d", ref)


def _moved(old: str, new: str) -> bool:
    try:
        os.rename(old, new)
    except OSError:
        return False
    return True


def _meeting(remote: Remote) -> str:
    name = sha256(f"{remote.fetch.url}\0{remote.branch}".encode("utf-8", "surrogateescape")).hexdigest()
    return f"{_SYNCED}{name[:16]}"
