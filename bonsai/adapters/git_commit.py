"""Making a commit: one `git fast-import` without index, hooks or filters, signed only where the person wants it."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from bonsai.adapters.git_run import KILLED, GitRun, Result
from bonsai.errors import BonsaiError, Busy
from bonsai.notes.printed import encoded
from bonsai.ports.history import Author, FileChange

PRIVATE = "refs/bonsai/unsigned-"  # where an unsigned commit waits for its signature
_SIGNING_SECONDS = 3.0
_IMPORT_SECONDS = 600.0
_CRUD = re.compile(r"[\x00-\x1f\x7f<>]{1,500}")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FORMATS = {"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}


class Person(NamedTuple):
    """A name and an address as they stand in a commit."""

    name: str
    email: str

    def line(self, now: datetime) -> str:
        """As in a commit: `Name <email> seconds zone`."""
        return f"{self.name} <{self.email}> {max(0, int(now.timestamp()))} {now.strftime('%z')[:5] or '+0000'}"


@dataclass(frozen=True)
class Config:
    """git's settings: all of them, and those of the person (global and system) alone."""

    every: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)

    def author(self, given: Author) -> Person:
        """Who a commit is by: the given name, else the person, else bonsai."""
        found = self._person("author")
        return _person(given.name or found.name, given.email or ("" if given.name else found.email))

    def committer(self) -> Person:
        """Who commits: the person, else bonsai."""
        return _person(*self._person("committer"))

    def signing(self) -> tuple[str, ...] | None:
        """The settings under which to sign, from the person's own config alone; None: do not sign."""
        if self.own.get("commit.gpgsign", "false").lower() not in _TRUE:
            return None
        chosen = self.own.get("gpg.format", "openpgp")
        found = [f"gpg.format={chosen}", f"gpg.ssh.defaultKeyCommand={self.own.get('gpg.ssh.defaultkeycommand', '')}"]
        for name, program in _FORMATS.items():
            plain = self.own.get("gpg.program", program) if name == "openpgp" else program
            found.append(f"gpg.{name}.program={self.own.get(f'gpg.{name}.program', plain)}")
        found.append(f"gpg.program={self.own.get('gpg.openpgp.program', self.own.get('gpg.program', 'gpg'))}")
        key = self.own.get("user.signingkey")
        return (*found, f"user.signingKey={key}") if key else tuple(found)

    def _person(self, role: str) -> Person:
        name, email = (
            os.environ.get(f"GIT_{role.upper()}_{part}")
            or self.every.get(f"{role}.{key}")
            or self.every.get(f"user.{key}")
            for part, key in (("NAME", "name"), ("EMAIL", "email"))
        )
        return Person(name or "", email or os.environ.get("EMAIL", ""))


def read_config(run: GitRun) -> Config:
    """Ask git for its settings, once."""
    config = Config()
    for scope, key, value in settings(run):
        if scope != "command":
            config.every[key] = value
        if scope in {"system", "global"}:
            config.own[key] = value
    return config


def settings(run: GitRun) -> Iterator[tuple[str, str, str]]:
    """(scope, key, value) of everything that git is told: system, global, local, worktree, command."""
    tokens = run.ok("config", "--list", "-z", "--show-scope").decode("utf-8", "surrogateescape").split("\0")
    for scope, item in zip(tokens[::2], tokens[1::2], strict=False):
        key, equals, value = item.partition("\n")
        yield scope, key, value if equals else "true"


class Draft(NamedTuple):
    """All that goes into a commit; the paths are full, `parent` is "" for the first one."""

    parent: str
    changes: Sequence[FileChange]
    message: str
    author: Person
    committer: Person
    now: datetime
    also: str = ""  # the second parent, "" for none
    odd: Sequence[tuple[str, tuple[int, str]]] = ()  # full path, mode (0 deletes) and object id of what is no file


def stream(ref: str, draft: Draft) -> list[bytes]:
    """What fast-import reads, in parts. Deletions come first, so that a name may change its case or its kind."""
    message = _message(draft.message)
    parts = [
        b"feature done\ncommit %s\nmark :1\n" % encoded(ref),
        b"author %s\n" % encoded(draft.author.line(draft.now)),
        b"committer %s\n" % encoded(draft.committer.line(draft.now)),
        b"data %d\n%s\n" % (len(message), message),
        b"from %s\n" % draft.parent.encode() if draft.parent else b"",
        b"merge %s\n" % draft.also.encode() if draft.also else b"",
    ]
    parts += [b"D %s\n" % quote(path) for path, (mode, _) in draft.odd if not mode]
    parts += [b"D %s\n" % quote(item.path) for item in draft.changes if item.data is None]
    for item in draft.changes:
        if item.data is not None:
            parts += [b"M %o inline %s\ndata %d\n" % (item.mode, quote(item.path), len(item.data)), item.data, b"\n"]
    parts += [b"M %o %s %s\n" % (mode, oid.encode(), quote(path)) for path, (mode, oid) in draft.odd if mode]
    return [*parts, b"get-mark :1\ndone\n"]


def quote(path: str) -> bytes:
    """A path in C quotes, as fast-import reads it."""
    raw = encoded(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % raw


class Committer:
    """Makes commits on a branch; `unsigned` says why the last ones are not signed although the person wants it."""

    def __init__(self, run: GitRun) -> None:
        self._run = run
        self.unsigned = ""

    def commit(self, ref: str, draft: Draft, signing: tuple[str, ...] | None, git_dir: str) -> str:
        """One commit on `ref`, which must be at the parent. Raises Busy when it is not, IoFailed."""
        if signing is None or self.unsigned:
            return self._import(stream(ref, draft), git_dir)
        private = f"{PRIVATE}{uuid4().hex}"
        try:
            plain = self._import(stream(private, draft), git_dir)
            chosen = self._sign(plain, draft, signing) or plain
            self._publish(ref, draft.parent, chosen, (private, plain))
        except BaseException:
            with suppress(BonsaiError):
                self._run("update-ref", "--no-deref", "-d", private)
            raise
        return chosen

    def _import(self, data: list[bytes], git_dir: str) -> str:
        result = self._run("fast-import", "--quiet", "--date-format=raw-permissive", data=data, seconds=_IMPORT_SECONDS)
        if result.code:
            with suppress(OSError):
                os.unlink(os.path.join(git_dir, f"fast_import_crash_{result.pid}"))
            raise self._refusal(result)
        return result.out.decode().strip()

    def _refusal(self, result: Result) -> BonsaiError:
        if "Not updating refs/" in result.err or "but expected" in result.err:
            return Busy("the branch moved meanwhile", path=self._run.root, hint="Try again.")
        return self._run.failure(result)

    def _sign(self, plain: str, draft: Draft, signing: tuple[str, ...]) -> str:
        """The signed twin of a commit, "" when the program fails or takes too long (a passphrase nobody types)."""
        env: dict[str, str] = {}
        for role, person in (("AUTHOR", draft.author), ("COMMITTER", draft.committer)):
            env |= {f"GIT_{role}_NAME": person.name, f"GIT_{role}_EMAIL": person.email}
            env[f"GIT_{role}_DATE"] = "@" + person.line(draft.now).rpartition("> ")[2]
        parents = [word for parent in (draft.parent, draft.also) if parent for word in ("-p", parent)]
        result = self._run(
            "commit-tree", "-S", *parents, "-F", "-", f"{plain}^{{tree}}",
            data=_message(draft.message), seconds=_SIGNING_SECONDS, env=env, config=signing,
        )  # fmt: skip
        if result.code:
            late = f"the signing program did not answer within {_SIGNING_SECONDS:g} s"
            self.unsigned = late if result.code == KILLED else f"signing failed: {result.words}"
            return ""
        return result.out.decode().strip()

    def _publish(self, ref: str, old: str, new: str, private: tuple[str, str]) -> None:
        """Move the branch from `old` to `new` and drop the private ref, both or neither."""
        orders = f"update {ref}\0{new}\0{old or '0' * len(new)}\0delete {private[0]}\0{private[1]}\0"
        result = self._run("update-ref", "--create-reflog", "-m", "bonsai", "--stdin", "-z", data=encoded(orders))
        if result.code:
            raise self._refusal(result)


def _message(text: str) -> bytes:
    return encoded(text.replace("\0", "").rstrip("\n") + "\n")


def _person(name: str, email: str) -> Person:
    name = " ".join(_CRUD.sub(" ", name).split()).strip(" .,:;\"'\\")
    email = _CRUD.sub("", email).strip()
    return Person(name or email.partition("@")[0] or "bonsai", email or "bonsai@localhost")
