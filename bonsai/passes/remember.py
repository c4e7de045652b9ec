"""Remember: a fact becomes a note, or the newer value of the note that has its key."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bonsai.errors import BadData, Usage
from bonsai.facts import fact as facts
from bonsai.facts.extract import Metadata, extract
from bonsai.facts.score import CONFIDENCE, IMPORTANCE, Rules, tier
from bonsai.notes import layout, rename, taxonomy
from bonsai.notes.change import Plan
from bonsai.notes.draft import Draft
from bonsai.notes.layout import Tree
from bonsai.notes.note import can_splice, parse, set_fields
from bonsai.notes.provenance import PROMOTED
from bonsai.notes.summary import field_text
from bonsai.notes.view import View
from bonsai.passes.tiered import RememberReport


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing to remember.

    Args:
        text: markdown; of a keyed one the empty lines go, so that its value is one paragraph.
        domain: where it belongs; "" lets its words decide.
        key: same key = same note, updated. `scope`: the domain below which the key is looked for, "" is the whole tree.
        importance, confidence: 0 to 1; None: the usual one for a new note, the old one for a note that is updated.
        folder: a folder of the tree instead of a domain (that of a user, `memory/users/ann`); its keys are its own.
        created: an ISO 8601 time for the note of an older thing, "" for now.
        keep_confident: an older value of higher confidence stays.
    """

    text: str
    domain: str = ""
    type: str = facts.TYPE
    importance: float | None = None
    key: str = ""
    confidence: float | None = None
    metadata: Metadata = field(default_factory=Metadata)
    tags: Sequence[str] = ()
    source: str = ""
    id: str = ""
    created: str = ""
    scope: str = ""
    folder: str = ""
    keep_confident: bool = False


def remember(
    view: View, draft: Draft, tree: Tree, wanted: Sequence[Wanted], now_iso: str, rules: Rules
) -> tuple[Plan, list[RememberReport]]:
    """Plan to remember some things in one run. Raises BadData, Usage; then nothing of it is done."""
    known = _keys(view, tree) if any(item.key for item in wanted) else {}
    reports = [_one(view, draft, tree, item, now_iso, rules, known) for item in wanted]
    changed = [report for report in reports if report.new or draft.get(report.path) != draft.original(report.path)]
    names = layout.listed(list(dict.fromkeys(report.path for report in changed)))
    body = "\n".join(f"{'add' if report.new else 'update'} {report.path}" for report in changed)
    return draft.plan("remember", f"remember: {names}", body), reports


def _keys(view: View, tree: Tree) -> dict[str, list[str]]:
    """Key → the live notes that have it."""
    found: dict[str, list[str]] = {}
    for row in view.notes(tree):
        if row.summary and row.summary.key:
            found.setdefault(row.summary.key, []).append(row.path)
    return found


def _one(
    view: View, draft: Draft, tree: Tree, wanted: Wanted, now_iso: str, rules: Rules, known: dict[str, list[str]]
) -> RememberReport:
    for name, value in (("importance", wanted.importance), ("confidence", wanted.confidence)):
        if value is not None and not 0 <= value <= 1:
            raise Usage(f"an {name} of {value:g} is not between 0 and 1", hint=f"Give --{name} 0.5, or leave it out.")
    if wanted.folder:
        domain, folder = "", wanted.folder
        if layout.path_fault(folder) or not folder.startswith(f"{tree.memory}/"):
            raise BadData("is no folder of this memory", path=folder, hint="Name one below memory/.")
    else:
        domain = _domain(view, tree, wanted.domain or classified(wanted.text))
        folder = f"{tree.domains}/{domain}"
    metadata = wanted.metadata.joined(extract(wanted.text))
    if wanted.key:
        path = _with_key(tree, known.get(wanted.key, []), folder, wanted)
        if path:
            return _updated(draft, path, wanted, metadata, now_iso, rules)
    number = wanted.id or facts.fact_id(tree.agent, domain or folder, wanted.text, wanted.key)
    path = _new_path(draft, folder, wanted, number)
    report = RememberReport(number, path, _tier(wanted.importance, rules), metadata, None, domain)
    if draft.get(path) is not None:
        report.new = False
        return report
    draft.create(path, facts.note_of(wanted.text, _fields(wanted, number, domain, metadata, now_iso)))
    if wanted.key:
        known.setdefault(wanted.key, []).append(path)
    return report


def _domain(view: View, tree: Tree, given: str) -> str:
    """The domain that somebody names, under the name it has on disk. Raises BadData."""
    plain = taxonomy.domain_path(given)
    start = f"{tree.domains}/{plain}/"
    if plain == given and any(path.startswith(start) for path in view.rows):  # the usual case, and ten times as fast
        return plain
    return rename.domain_on_disk(view, tree, given)


def classified(text: str) -> str:
    """The domain that the words of a text name."""
    found = taxonomy.classify(text[:400])
    return taxonomy.GENERAL if found == taxonomy.DATES else found


def _with_key(tree: Tree, paths: Sequence[str], folder: str, wanted: Wanted) -> str:
    """The note that has the key, "" where there is none; one in the folder itself comes first."""
    scope = f"{tree.domains}/{taxonomy.domain_path(wanted.scope)}" if wanted.scope else wanted.folder
    inside = [path for path in paths if path.startswith(f"{scope}/")] if scope else []
    if not scope:
        inside = [path for path in paths if not layout.is_of_user(path)]
    return min(inside, key=lambda path: (layout.folder_of(path) != folder, path), default="")


def _new_path(draft: Draft, folder: str, wanted: Wanted, number: str) -> str:
    """A free name, or that of the very same fact. Raises BadData where the note of a key can no longer be read."""
    stem = facts.file_name(wanted.text, number, wanted.key)
    note = parse(draft.get(f"{folder}/{stem}.md") or b"")
    if wanted.key and note.fault:
        raise _broken(f"{folder}/{stem}.md", wanted.key, note.fault.message)
    if not wanted.key and field_text(note.fields.get("id")) == number:
        return f"{folder}/{stem}.md"
    taken = set[str]()
    while True:
        name = taxonomy.unique(stem, taken)
        names = (name, f"{name}{layout.ARCHIVED}")
        if all(draft.free(f"{folder}/{each}.md") for each in names):
            return f"{folder}/{name}.md"
        taken.add(layout.fold(name))


def _fields(
    wanted: Wanted, number: str, domain: str, metadata: Metadata, now_iso: str
) -> dict[str, str | Sequence[str] | None]:
    confidence = wanted.confidence if wanted.confidence is not None else CONFIDENCE if wanted.key else None
    importance = wanted.importance
    if importance is None and wanted.type == facts.TYPE:
        importance = IMPORTANCE
    return {
        "id": number,
        "type": wanted.type,
        "key": wanted.key,
        "domain": domain,
        "created": wanted.created or now_iso,
        "importance": shown(importance),
        "confidence": shown(confidence),
        "version": "1" if wanted.key else None,
        "source": wanted.source,
        "tags": list(wanted.tags),
        "urls": metadata.urls,
        "commands": metadata.commands,
        "paths": metadata.paths,
    }


def shown(value: float | None) -> str | None:
    """A number as it stands in a note."""
    return None if value is None else f"{value:.4g}"


def _updated(draft: Draft, path: str, wanted: Wanted, metadata: Metadata, now_iso: str, rules: Rules) -> RememberReport:
    data = draft.need(path)
    note = parse(data)
    if not can_splice(note):
        why = note.fault.message if note.fault else "there is no plain block of keys on top"
        raise _broken(path, wanted.key, why)
    old = facts.read(path, data)
    version = _whole(field_text(note.fields.get("version")))
    report = RememberReport(old.id, path, _tier(old.importance, rules), metadata, None, old.category, version=version)
    report.new = False
    sure = facts.number(note.fields.get("confidence"), CONFIDENCE)
    confidence = CONFIDENCE if wanted.confidence is None else wanted.confidence
    body = facts.with_value(data, wanted.text)
    if body == data and wanted.confidence in (None, sure) and wanted.importance in (None, old.importance):
        return report
    if wanted.keep_confident and sure > confidence:
        return report
    report.version += 1
    importance = old.importance if wanted.importance is None else wanted.importance
    changes: dict[str, str | Sequence[str] | None] = {
        "updated": wanted.created or now_iso,
        "confidence": shown(confidence),
        "version": str(report.version),
        "urls": metadata.urls or None,
        "commands": metadata.commands or None,
        "paths": metadata.paths or None,
    }
    if wanted.importance is not None:
        changes["importance"] = shown(wanted.importance)
    if wanted.source:
        changes["source"] = wanted.source
        if PROMOTED in note.fields:  # what was promoted is the older value
            changes[PROMOTED] = None
    if wanted.tags:
        changes["tags"] = list(wanted.tags)
    draft.put(path, set_fields(body, changes))
    report.tier = _tier(importance, rules)
    return report


def _broken(path: str, key: str, why: str) -> BadData:
    return BadData(f"has the key {key!r}, but cannot be updated: {why}", path=path, hint="Correct it, then try again.")


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 1


def _tier(importance: float | None, rules: Rules) -> str:
    return tier(IMPORTANCE if importance is None else importance, rules)
