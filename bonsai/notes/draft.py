"""A draft of changes over the tree: passes write into it, a Plan comes out of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bonsai.errors import CannotCreate, NotFound
from bonsai.notes import layout
from bonsai.notes.change import Drop, Plan, Put

FILE = 0o100644  # the mode of a new file


class Draft:
    """The files as they would be. Reads go through to the store once and are kept as the bytes to expect.

    Args:
        read: gives the bytes of a file, raises NotFound.
        taken: whether something stands on disk under a name that would clash (case, Unicode form).
        mode: gives the mode of a file on disk, which goes with it when it is renamed.
    """

    def __init__(
        self, read: Callable[[str], bytes], taken: Callable[[str], bool], mode: Callable[[str], int] = lambda path: FILE
    ) -> None:
        self._read, self._taken, self._mode = read, taken, mode
        self._was: dict[str, bytes | None] = {}
        self._now: dict[str, bytes | None] = {}
        self._modes: dict[str, int] = {}
        self._names: dict[str, str] = {}  # folded → the new name that was given away

    def original(self, path: str) -> bytes | None:
        """The bytes on disk, None where there is no file."""
        if path not in self._was:
            try:
                self._was[path] = self._read(path)
            except NotFound:
                self._was[path] = None
        return self._was[path]

    def get(self, path: str) -> bytes | None:
        """The bytes as drafted, None where there would be no file."""
        return self._now[path] if path in self._now else self.original(path)

    def need(self, path: str) -> bytes:
        """The bytes as drafted. Raises NotFound."""
        data = self.get(path)
        if data is None:
            raise NotFound("there is no such note", path=path, hint="`bonsai log` shows what there was.")
        return data

    def free(self, path: str) -> bool:
        """Whether a new file may take this name."""
        if path in self._now:
            return self._now[path] is None
        rival = self._names.get(layout.fold(path))  # `A.md` and `a.md` are one file on some disks
        return (rival is None or self._now.get(rival) is None) and not self._taken(path)

    def put(self, path: str, data: bytes) -> None:
        """Write, whatever stands there."""
        self.original(path)
        self._now[path] = data

    def create(self, path: str, data: bytes, mode: int = FILE) -> None:
        """Write a new file. Raises CannotCreate where the name is taken."""
        if not self.free(path):
            raise CannotCreate("the name is taken", path=path, hint="Rename one of the two first.")
        self.put(path, data)
        self._modes[path], self._names[layout.fold(path)] = mode, path

    def drop(self, path: str) -> None:
        """Delete."""
        self.need(path)
        self._now[path] = None

    def rename(self, old: str, new: str, data: bytes | None = None) -> None:
        """Move a file, optionally with other bytes. Raises CannotCreate where the new name is taken."""
        kept = self.need(old)
        self.create(new, kept if data is None else data, self._modes.get(old) or self._mode(old))
        self.drop(old)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Of what is drafted inside, keep all or, when an error comes out of it, nothing."""
        before = dict(self._now)
        try:
            yield
        except BaseException:
            self._now = before
            raise

    def plan(self, op: str, subject: str, body: str = "", trailers: dict[str, str] | None = None) -> Plan:
        """What is to be done to get there."""
        puts, drops = [], []
        for path in sorted(self._now):
            was, now = self.original(path), self._now[path]
            if now is None and was is not None:
                drops.append(Drop(path, was))
            elif now is not None and now != was:
                puts.append(Put(path, now, was, self._modes.get(path, FILE)))
        return Plan(op, subject, body, tuple(puts), tuple(drops), trailers or {})
