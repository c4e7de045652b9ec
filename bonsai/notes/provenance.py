"""Where the text of a note comes from, and whether anybody here speaks for it.

What a page or a program said is data. A note of it may be recalled, but its words never come into the boot file, which
an agent reads as its own, before a person has promoted the note.
"""

from bonsai.notes.fields import Value
from bonsai.notes.note import Note

UNTRUSTED = frozenset({"web", "tool", "untrusted"})
OUTSIDE = UNTRUSTED | {"import"}  # sources that nobody here speaks for: none of their facts is hot
_HEAD = 64 * 1024  # bytes in which frontmatter ends
PROMOTED = "promoted"  # the key that a promotion writes, with its time; `source` stays, so that the origin is known


def source(fields: dict[str, Value]) -> str:
    """The `source:` of a note (or its `metadata.source`) as one text, "" where it says none."""
    nested = fields.get("metadata")
    found = fields.get("source") or (nested.get("source") if isinstance(nested, dict) else None)
    words = found if isinstance(found, list) else [found]
    return ", ".join(word for word in words if isinstance(word, str))


def is_from(said: str, kinds: frozenset[str]) -> bool:
    """Whether one of the sources is of these kinds; `web:https://example.org` is of the kind web."""
    return any(part.strip().partition(":")[0].rstrip().casefold() in kinds for part in said.split(","))


def is_untrusted(note: Note, kinds: frozenset[str] = UNTRUSTED) -> bool:
    """Whether the note is from outside and nobody has promoted it.

    A title that was copied from a page can break the frontmatter that it stands in: then a line that looks like
    `source: web` counts, since the note would else be trusted for being broken.
    """
    if not note.fault:
        return is_from(source(note.fields), kinds) and not note.fields.get(PROMOTED)
    rows = note.data[:_HEAD].decode("utf-8", "replace").splitlines()
    said = (row.strip().partition(":") for row in rows)
    return any(key.strip("\"' ") == "source" and is_from(value.strip("[]\"' "), kinds) for key, _, value in said)
