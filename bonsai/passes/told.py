"""Facts about a user as notes of the tree: one note a key, in the folder of that user, every version in git."""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import date

from bonsai.conversation.armour import armour, bare
from bonsai.conversation.fact import CONFIDENCE, Fact, Told, replaces
from bonsai.errors import BadData
from bonsai.facts import fact as facts
from bonsai.notes import dates, layout, taxonomy
from bonsai.notes.change import Plan, Row
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.note import can_splice, parse, set_fields
from bonsai.notes.summary import field_text
from bonsai.notes.view import View

OWN = "facts"  # the domain of what is known about the owner of the memory, who has no name
_HASHED = re.compile(r".*-[0-9a-f]{12}", re.DOTALL)


def folder(tree: Tree, user: str) -> str:
    """Where the facts about a user stand; no two users share a folder, whatever their names are.

    A name that is a file name already is its folder's name; any other gets its hash behind it.
    """
    if not user:
        return f"{tree.domains}/{OWN}"
    name = taxonomy.slug(user)
    if name != user or _HASHED.fullmatch(user):
        name = f"{name[:44].rstrip('-')}-{hashlib.sha256(armour(user).encode()).hexdigest()[:12]}"
    return f"{layout.users(tree)}/{name}"


def rows(view: View, tree: Tree, user: str) -> dict[str, Row]:
    """The notes with a key that are about a user: key → note. Of two with one key, the one that is named first."""
    inside = f"{folder(tree, user)}/"
    found: dict[str, Row] = {}
    for row in view.notes(tree):
        if row.summary is None or not row.summary.key:
            continue
        if row.path.startswith(inside) if user else not layout.is_of_user(row.path):
            key = bare(row.summary.key)
            if key not in found or row.path < found[key].path:
                found[key] = row
    return found


def read(path: str, data: bytes, user: str) -> Fact | None:
    """The fact in a note, None where it is none of that user."""
    note = parse(data)
    text = {name: field_text(value) for name, value in note.fields.items()}
    key = text.get("key", "")
    if not key or armour(user) != text.get("user", armour(user)):
        return None
    value = facts.value_of(note)
    if text.get("value") == "json":
        value = _unquoted(value)
    version = text.get("version", "")
    return Fact(
        user,
        bare(key),
        value,
        facts.number(note.fields.get("confidence"), CONFIDENCE),
        int(version) if version.isdecimal() and len(version) < 10 else 1,
        text.get("updated") or text.get("created") or "",
        bare(text.get("turn", "")),
        path,
    )


def tell(
    view: View,
    draft: Draft,
    tree: Tree,
    user: str,
    told: Sequence[Told],
    *,
    turn: str,
    since: str | None,
    now_iso: str,
    source: str,
    today: date,
) -> tuple[Plan, list[Fact]]:
    """Plan to tell facts, and how they stand then. Raises BadData for a note that cannot be given another value.

    `today` is the day on which they are told: a note is read months later, and says 2026-03-14 for `yesterday`.
    """
    known = {key: row.path for key, row in rows(view, tree, user).items()}
    changed = []
    for new in told:
        path = known.get(new.key) or _new_path(draft, folder(tree, user), new.key)
        old = read(path, data, user) if (data := draft.get(path)) is not None else None
        if old is not None and not replaces(new, _dated(old), turn, since):
            continue
        value = _dated_text(new.value, today)
        fields: dict[str, str | Sequence[str] | None] = {
            "updated": now_iso,
            "confidence": f"{new.confidence:.4g}",
            "version": str(old.version + 1 if old else 1),
            "source": source,
            "turn": armour(turn) or None,
        }
        if old is None:
            number = facts.fact_id(tree.agent, folder(tree, user), new.key, new.key)
            head = {"id": number, "type": facts.TYPE, "key": armour(new.key), "user": armour(user), "created": now_iso}
            draft.create(path, _note(value, {**head, **fields}))
        else:
            draft.put(path, _updated(path, draft.need(path), value, fields))
        known[new.key] = path
        changed.append(path)
    names = layout.listed(list(dict.fromkeys(changed)))
    plan = draft.plan("fact", f"fact: {names}", "\n".join(f"tell {path}" for path in dict.fromkeys(changed)))
    held = [read(known[new.key], draft.need(known[new.key]), user) for new in told]
    return plan, [fact for fact in held if fact is not None]


def note_down(
    draft: Draft, tree: Tree, user: str, text: str, turn: str, importance: float, now_iso: str, today: date
) -> Plan:
    """Plan a note about what a turn came to; the same turn makes the same note, once. `today` as in `tell`."""
    place = folder(tree, user)
    number = facts.fact_id(tree.agent, place, f"{turn}\n{text}")
    path = f"{place}/{facts.file_name(armour(text), number)}.md"
    if draft.free(path):
        fields: dict[str, str | Sequence[str] | None] = {
            "id": number,
            "type": facts.TYPE,
            "user": armour(user),
            "created": now_iso,
            "importance": f"{importance:.4g}",
            "source": "distilled",
            "turn": armour(turn),
        }
        draft.create(path, _note(_dated_text(text, today), fields))
    return draft.plan("distil", f"distil: {layout.short(path)}", f"add {path}")


def _new_path(draft: Draft, place: str, key: str) -> str:
    """A free name for the note of a new key. Raises BadData where a note in its place can no longer be read."""
    stem, taken = facts.file_name("", "", armour(key)), set[str]()
    while True:
        name = taxonomy.unique(stem, taken)
        path = f"{place}/{name}.md"
        note = parse(draft.get(path) or b"")
        if note.fault:
            why = f"may be the note of {key!r}, but cannot be read: {note.fault.message}"
            raise BadData(why, path=path, hint="Correct it, then try again.")
        if draft.free(path) and draft.free(layout.archived_path(path)):
            return path
        taken.add(layout.fold(name))


def _note(value: str, fields: dict[str, str | Sequence[str] | None]) -> bytes:
    text, form = _written(value)
    return facts.note_of(text, {**fields, "value": form})


def _updated(path: str, data: bytes, value: str, fields: dict[str, str | Sequence[str] | None]) -> bytes:
    """The note with another value; what a person wrote beside it stays."""
    note = parse(data)
    if not can_splice(note):
        why = note.fault.message if note.fault else "there is no plain block of keys on top"
        raise BadData(f"cannot be given another value: {why}", path=path, hint="Correct it, then try again.")
    text, form = _written(value)
    return set_fields(facts.with_value(data, text), {**fields, "value": form})


def _dated_text(value: str, today: date) -> str:
    """A value with its relative dates made absolute, where it is a plain paragraph: any other is data as it is."""
    return value if _written(value)[1] else dates.absolute(value, today)[0]


def _written(value: str) -> tuple[str, str | None]:
    """A value as the one paragraph that it is in a note: as it is where that keeps all of it, else quoted."""
    plain = value.strip() and armour(value) == value
    if plain and facts.value_of(parse(facts.note_of(value, {"key": "k"}))) == value:
        return value, None
    return armour(json.dumps(value, ensure_ascii=False)), "json"


def _unquoted(text: str) -> str:
    try:
        found = json.loads(bare(text))
    except ValueError:  # a person wrote it anew, in plain words
        return text
    return found if isinstance(found, str) else text


def _dated(old: Fact) -> Fact:
    """A fact that a person wrote may have no time, or a day alone: then nothing is known to be newer."""
    return old if re.fullmatch(r"[0-9T:.+-]{20,40}", old.updated) else old._replace(updated="0001-01-01T00:00:00+00:00")
