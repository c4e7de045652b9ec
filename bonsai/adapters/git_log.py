"""The log: commits with their trailers, and the times of paths, each from one pass of git."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice

from bonsai.notes.change import PathTime
from bonsai.ports.history import Commit

FORMAT = "--format=%x00%H%x00%P%x00%cI%x00%an%x00%B"
TIMES = "--format=:%ct"
_FOUR_DIGITS = re.compile(r"\d{4}-")
_TRAILER = re.compile(r"([A-Za-z][A-Za-z-]{0,40}):[ \t]{0,8}(.*)")
_OURS = ("Bonsai-Op", "Bonsai-Actor", "Bonsai-Run", "Bonsai-Session", "Bonsai-Undoes")


def commits(out: bytes, managed: Callable[[str], str], ends: Collection[str] = ()) -> Iterator[Commit]:
    """Read `git log -z --name-only` in FORMAT; `managed` gives the workspace path of a full one, or "".

    `ends`: the commits at which a shallow clone ends.
    """
    tokens = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for sha in tokens:
        if not sha:
            continue
        fields = [sha, *islice(tokens, 4)]
        names: list[str] = []
        # The names end with the empty token before the NUL that begins the next commit.
        while name := next(tokens, ""):
            names.append(name if names else name.removeprefix("\n"))
        paths = tuple(path for path in map(managed, names) if path)
        yield _commit(fields, paths, sha in ends)


def trailers(message: str) -> dict[str, str]:
    """The trailers in the last paragraph of a message; later ones win."""
    found = {}
    for line in message.rstrip().rpartition("\n\n")[2].split("\n"):
        match = _TRAILER.fullmatch(line.rstrip("\r"))
        if match:
            found[match[1]] = match[2].strip()
    return found


def times(out: bytes, managed: Callable[[str], str], known: Mapping[str, PathTime]) -> dict[str, PathTime]:
    """Read `git log -z --name-status --no-renames` in TIMES, newest first: what is seen first is the last that was."""
    changed: dict[str, int] = {}
    named: dict[str, int] = {}
    when = 0
    tokens = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for token in tokens:
        if token.startswith(":"):
            when = int(token[1:])
            continue
        status = token.lstrip("\n")
        if not status:
            continue
        path = next(tokens)
        changed.setdefault(path, when)
        if status[0] == "A":
            named.setdefault(path, when)
    found = dict(known)
    for full, time in changed.items():
        path = managed(full)
        if path:
            before = known.get(path)
            found[path] = PathTime(time, named.get(full, before.named if before else time))
    return found


def _time(text: str) -> str:
    """A time as git prints it. A commit can be dated to any year, or be damaged and have no date."""
    if not text:
        return "1970-01-01T00:00:00+00:00"
    return text if _FOUR_DIGITS.match(text) else "9999-12-31T23:59:59+00:00"


def _commit(fields: list[str], paths: tuple[str, ...], cut: bool) -> Commit:
    sha, parents, time, author, message = fields
    text = message.encode("utf-8", "surrogateescape").decode("utf-8", "replace").lstrip("\n")
    subject, _, body = text.partition("\n")
    given = trailers(text)
    op, actor, run, session, undoes = (given.get(name, "") for name in _OURS)
    return Commit(
        sha,
        _time(time),
        author,
        subject.strip(),
        body.strip("\n"),
        op,
        actor,
        run,
        session,
        undoes,
        paths,
        tuple(parents.split()),
        cut,
    )
