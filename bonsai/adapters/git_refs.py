"""The refs of a damaged repository: HEAD, packed-refs, and every branch, tag and stash beside the branch of HEAD.

What a ref was is found where git wrote it as well: in packed-refs, and in the log of the ref. A log whose ref is gone
tells of a lost ref, since git takes the log along when a ref is deleted.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from bonsai.adapters import git_reflog
from bonsai.adapters.git_damage import Aside
from bonsai.adapters.git_repo import is_id
from bonsai.adapters.git_run import GitRun

_MOVED = re.compile(rb"\tcheckout: moving from [^\n ]{1,1000} to ([^\n ]{1,1000})")
_HEAD = re.compile(rb"ref: (refs/heads/[^\n\0 ~^:?*\[\\]{1,1000})\n")  # as git writes it
_PACKED = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs/[^\n\0 ~^:?*\[\\]{1,1000})")
_PEELED = re.compile(rb"\^([0-9a-f]{40}(?:[0-9a-f]{24})?)")

Kinds = Callable[[Iterable[str]], dict[str, str]]  # the kind of each object that is there, by its id
Usable = Callable[[str], bool]  # whether a commit is there with all its folders


def mend_head(git_dir: str, common_dir: str, aside: Aside) -> list[str]:
    """Let HEAD name the branch again that it was on, where it is no more than garbage; says what was done."""
    head = os.path.join(git_dir, "HEAD")
    data = git_reflog.read(head)
    names = _branches(common_dir)
    if is_id(data.decode("ascii", "replace").strip()) or os.path.islink(head):
        return []
    found = _HEAD.fullmatch(data)
    named = os.fsdecode(found[1]).removeprefix("refs/heads/") if found else ""
    near = [name for name in names if _is_a_bit_off(name, named)]
    if named and (named in names or len(near) != 1):
        return []  # perhaps a branch that has no commit yet
    branch = near[0] if near else _last_branch(git_dir, names, data)
    if not branch:
        return []
    aside.keep(head)
    git_reflog.write(head, f"ref: refs/heads/{branch}\n".encode("utf-8", "surrogateescape"))
    return [f"HEAD is on refs/heads/{branch} again"]


def _branches(common_dir: str) -> list[str]:
    """The names of all branches, without git."""
    heads = os.path.join(common_dir, "refs", "heads")
    found = [name.removeprefix("refs/heads/") for name in _below(common_dir, heads)]
    lines = git_reflog.read(os.path.join(common_dir, "packed-refs")).decode("utf-8", "surrogateescape").split("\n")
    found += [line.partition(" refs/heads/")[2] for line in lines if " refs/heads/" in line]
    return list(dict.fromkeys(found))


def _is_a_bit_off(name: str, other: str) -> bool:
    """Whether the names differ in one bit: what a broken memory chip or cable does, and no person."""
    pairs = list(zip(os.fsencode(name), os.fsencode(other), strict=False))
    return len(os.fsencode(name)) == len(os.fsencode(other)) and sum((a ^ b).bit_count() for a, b in pairs) == 1


def _last_branch(git_dir: str, names: list[str], data: bytes) -> str:
    """The branch that HEAD was on: as it still says, as its log says, the only one there is, or a usual one."""
    said = data.decode("utf-8", "surrogateescape").split("\n")[0].removeprefix("ref: refs/heads/")
    moves = _MOVED.findall(git_reflog.read(os.path.join(git_dir, "logs", "HEAD")))
    for name in (said, os.fsdecode(moves[-1]) if moves else ""):
        if name in names:
            return name
    usual = [name for name in ("main", "master") if name in names]
    found = names if len(names) == 1 else usual
    return found[0] if found else ""


def newest(common_dir: str, ref: str) -> str:
    """What a ref named last, as its log says; "" where there is none, zeros where it was deleted."""
    return next((new for _, new in git_reflog.entries(os.path.join(common_dir, "logs", ref))), "")


def is_behind(common_dir: str, ref: str, sha: str) -> bool:
    """Whether packed-refs has what a ref named before: then the file is lost in which git wrote what came later."""
    logged = [new for _, new in git_reflog.entries(os.path.join(common_dir, "logs", ref))]
    return sha in logged[1:] and sha != logged[0]


def _kinds_of(ref: str) -> tuple[str, ...]:
    return ("commit",) if ref.startswith(("refs/heads/", "refs/stash")) else ("commit", "tag", "tree", "blob")


class Refs:
    """All refs of a repository but one, the branch of HEAD, which needs more care."""

    def __init__(self, run: GitRun, common_dir: str, branch: str, kinds: Kinds, usable: Usable, aside: Aside) -> None:
        self._run, self._common, self._branch = run, common_dir, branch
        self._kinds, self._usable, self._aside = kinds, usable, aside
        self.done: list[str] = []
        self.lost: list[str] = []

    def mend(self) -> None:
        """Let each ref name again what it named last, as far as that is there. Raises OSError."""
        before = self._packed()
        self._mend_packed()
        packed = self._packed()
        loose = {name: self._text(name) for name in _below(self._common, os.path.join(self._common, "refs"))}
        logs = os.path.join(self._common, "logs")
        logged = {name: newest(self._common, name) for name in _below(logs, os.path.join(logs, "refs"))}
        there = self._kinds(loose.values())
        for name in sorted({*before, *loose, *logged} - {self._branch}):
            if name in loose:
                text = loose[name]
                if text.startswith("ref: refs/") or there.get(text, "") in _kinds_of(name):
                    continue
                self._aside.take(os.path.join(self._common, name))
            elif name in packed and not is_behind(self._common, name, packed[name]):
                continue
            elif name not in before and not logged[name].strip("0"):
                continue  # deleted
            self._put_back(name, packed.get(name, ""))

    def _mend_packed(self) -> None:
        """Keep of packed-refs the lines that name something."""
        path = os.path.join(self._common, "packed-refs")
        if not os.path.lexists(path):
            return
        data = git_reflog.read(path)
        lines = [line for line in data.split(b"\n") if line]
        rest = lines[1:] if lines and lines[0].startswith(b"# pack-refs with:") else lines
        refs = [found for line in rest if (found := _PACKED.fullmatch(line))]
        peeled = [found for line in rest if (found := _PEELED.fullmatch(line))]
        there = self._kinds(found[1].decode() for found in [*refs, *peeled])
        kept = [found for found in refs if there.get(found[1].decode(), "") in _kinds_of(os.fsdecode(found[2]))]
        readable = len(refs) + len(peeled) == len(rest) and data.endswith(b"\n")
        names = [found[2] for found in refs]
        if readable and kept == refs and names == sorted(names) and all(item[1].decode() in there for item in peeled):
            return
        ordered = sorted(kept, key=lambda item: item[2])
        self._aside.keep(path)  # what the tags lead to is left out: git finds it out by itself
        git_reflog.write(path, b"".join([b"# pack-refs with: \n", *(item[0] + b"\n" for item in ordered)]))
        self.done.append("left out what is damaged of packed-refs")
        if not readable:
            self.lost.append("lines of packed-refs, perhaps with names of tags")

    def _packed(self) -> Mapping[str, str]:
        """What packed-refs says: ref → object id."""
        lines = git_reflog.read(os.path.join(self._common, "packed-refs")).split(b"\n")
        return {os.fsdecode(found[2]): found[1].decode() for found in map(_PACKED.fullmatch, lines) if found}

    def _text(self, name: str) -> str:
        return git_reflog.read(os.path.join(self._common, name)).decode("ascii", "replace").removesuffix("\n")

    def _put_back(self, ref: str, packed: str) -> None:
        """Set a ref to what it named last, as far as that can be read."""
        logged = [new for _, new in git_reflog.entries(os.path.join(self._common, "logs", ref))]
        candidates = dict.fromkeys([*logged, packed])
        kinds = self._kinds(candidates)
        for sha in candidates:
            if kinds.get(sha, "") in _kinds_of(ref) and (kinds[sha] != "commit" or self._usable(sha)):
                words = ("update-ref", "--create-reflog", "-m", "bonsai doctor", ref, sha)
                if self._run(*words).code == 0:
                    self.done.append(f"{ref} is at {sha[:10]} again")
                    return
        self.lost.append(f"{ref}, of which nothing is left that can be read")


def _below(top: str, folder: str) -> Iterator[str]:
    """The files below a folder, as paths from another one with `/`; no locks."""
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if not name.endswith(".lock"):
                yield os.path.relpath(os.path.join(place, name), top)
