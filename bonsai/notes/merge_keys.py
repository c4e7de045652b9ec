"""Three versions of a frontmatter, merged key by key: of one key the newer value, the other beside it as a comment."""

from collections.abc import Sequence
from typing import NamedTuple

from bonsai.notes.compare import split
from bonsai.notes.note import parse

OTHER = b"# bonsai: both kept, the other device has: "


class _Key(NamedTuple):
    """The lines of one key, and the comments and empty lines behind it."""

    value: bytes
    tail: tuple[bytes, ...]


_NOTHING = _Key(b"", ())


def merge(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bool] | None:
    """The merged block and whether a value stands in it twice; None where it cannot be done key by key.

    Args:
        base: the block with both its `---` lines, every line ended by a line feed; empty where there is none.
        newer: that of the side with the later commit.
        older: that of the other.
    """
    was, new, old = (_keys(block) for block in (base, newer, older))
    if was is None or new is None or old is None:
        return None
    found: list[bytes] = []
    both = False
    for key in dict.fromkeys([*new, *old]):
        value, twice = _value(was.get(key), new.get(key), old.get(key))
        tails = [keys.get(key, _NOTHING).tail for keys in (was, new, old)]
        if value is None:  # deleted; its comments go with it
            continue
        tail = _tail(*tails)
        if twice:
            both = True
            tail = [*(row for row in twice if row not in tail), *tail]
        found += [value, *tail]
    block = b"".join([b"---\n", *found, b"---\n"])
    after = parse(block)
    wanted = [key for key in dict.fromkeys([*new, *old]) if key and _kept(was.get(key), new.get(key), old.get(key))]
    return (block, both) if not after.fault and list(after.fields) == wanted else None


def _keys(block: bytes) -> dict[str, _Key] | None:
    """The keys in order, under "" what stands before the first; None where that is not a plain list of keys."""
    if not block:
        return {}
    rows = split(block)[1:-1]
    starts = [at for at, row in enumerate(rows) if row[:1] not in b" \t#-\n" and b":" in row]
    names = [rows[at].partition(b":")[0].strip().strip(b"\"'").decode("utf-8", "replace") for at in starts]
    found = parse(block)
    if found.fault or found.block is None or names != list(found.fields):
        return None
    keys = {"": _Key(b"", tuple(rows[: starts[0] if starts else len(rows)]))} if rows else {}
    for name, first, last in zip(names, starts, [*starts, len(rows)][1:], strict=True):
        end = last
        while end > first + 1 and (not rows[end - 1].strip() or rows[end - 1].startswith(b"#")):
            end -= 1
        keys[name] = _Key(b"".join(rows[first:end]), tuple(rows[end:last]))
    return keys


def _kept(was: _Key | None, new: _Key | None, old: _Key | None) -> bool:
    return _value(was, new, old)[0] is not None


def _value(was: _Key | None, new: _Key | None, old: _Key | None) -> tuple[bytes | None, list[bytes]]:
    """The lines of a key, None where it is deleted, and the comment that keeps the other value."""
    values = [key.value if key else None for key in (was, new, old)]
    base, newer, older = values
    if older in (newer, base):
        return newer, []
    if newer == base:
        return older, []
    if newer is None or older is None:
        return newer if older is None else older, []
    united = _united(base, newer, older)
    if united:
        return united, []
    return newer, [OTHER + row for row in split(older)]


def _tail(was: Sequence[bytes], new: Sequence[bytes], old: Sequence[bytes]) -> list[bytes]:
    """Comments of both sides; those that one of them took away are gone."""
    kept = [row for row in new if row in old or row not in was]
    return kept + [row for row in old if row not in new and row not in was]


def _united(base: bytes | None, newer: bytes, older: bytes) -> bytes | None:
    """A list on one line, `tags: [a, b]`, with what both sides added; None where it is no such list."""
    was, new, old = (_items(value) if value is not None else [] for value in (base, newer, older))
    if was is None or new is None or old is None:
        return None
    kept = [item for item in new if item in old or item not in was]
    kept += [item for item in old if item not in new and item not in was]
    return newer[: newer.index(b"[") + 1] + b", ".join(kept) + newer[newer.rindex(b"]") :]


def _items(value: bytes) -> list[bytes] | None:
    """The items of `key: [a, b]`; None for any other value, and where one of them is more than a plain word."""
    rest = value.partition(b":")[2].strip()
    inner = rest[1:-1]
    if not (rest.startswith(b"[") and rest.endswith(b"]")) or any(mark in inner for mark in b"[]{}\"'#\n"):
        return None
    return [item.strip() for item in inner.split(b",") if item.strip()]
