"""What a reflection asks about, the staging file it waits in, and the guard over what is decided."""

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

from bonsai.errors import BadData
from bonsai.notes.index import json_text
from bonsai.notes.similar import Pair
from bonsai.notes.taxonomy import GENERAL


class Limits(Protocol):
    """The settings, by section and key."""

    def __getitem__(self, key: tuple[str, str]) -> int | float: ...


class NoteView(NamedTuple):
    """One live note of a domain, as far as a reflection looks at it."""

    path: str
    domain: str  # "" outside the domains
    age_days: int
    tokens: int
    blob: str


@dataclass(slots=True)
class Candidate:
    """One thing that a reflection asks about; `hash` is that of the bytes the decision is for ("" for a domain)."""

    file: str
    domain: str
    age_days: int
    tokens: int
    reason: str
    hash: str
    suggest: dict[str, Any] = field(default_factory=dict)


def candidates(notes: Iterable[NoteView], domains: str, settings: Limits) -> list[Candidate]:
    """The notes and domains that need a decision, sorted by path, each once with all its reasons.

    Args:
        domains: the folder of the domains. A domain counts what is right in its folder: a split into sub-domains is
            the cure, so it must be seen to help.
    """
    found, inside = [], defaultdict(list)
    for note in notes:
        if note.domain:
            inside[note.domain].append(note)
        reason = "; ".join(_note_reasons(note, settings))
        if reason:
            found.append(Candidate(note.path, note.domain, note.age_days, note.tokens, reason, note.blob))
    for domain, members in inside.items():
        tokens = sum(note.tokens for note in members)
        reason = "; ".join(_domain_reasons(len(members), tokens, settings))
        if reason:
            found.append(Candidate(f"{domains}/{domain}", domain, 0, tokens, reason, ""))
    return sorted(found, key=lambda item: item.file)


def with_duplicates(found: Sequence[Candidate], notes: Iterable[NoteView], pairs: Iterable[Pair]) -> list[Candidate]:
    """The candidates and the shorter note of each near-duplicate pair, with the longer one as `into` to merge into.

    Of two equal ones the longer name goes: `inbox 2.md` into `inbox.md`.
    """
    known, by_file = {note.path: note for note in notes}, {item.file: item for item in found}
    for one, two, share in sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])):
        into, note = sorted((known[one], known[two]), key=lambda note: (-note.tokens, len(note.path), note.path))
        item = by_file.setdefault(
            note.path, Candidate(note.path, note.domain, note.age_days, note.tokens, "", note.blob)
        )
        if "into" not in item.suggest:  # the most alike comes first, and one target is enough
            item.suggest["into"] = into.path
            item.reason = "; ".join(filter(None, [item.reason, f"near-duplicate of {into.path} ({share:.0%})"]))
    return sorted(by_file.values(), key=lambda item: item.file)


def guard(
    dropped: Mapping[str, tuple[int, int]], tree_tokens_before: int, tree_tokens_after: int, max_loss: float
) -> str | None:
    """Why a run is to be refused: too large a part of a note or of the tree would vanish. None where it may go on.

    Args:
        dropped: path → tokens before and after, of the notes whose loss no archive shows.
        max_loss: the part, 0 to 1, that may vanish.
    """
    for path, (before, after) in sorted(dropped.items()):
        if _loses(before, after, max_loss):
            return f"{path} would lose more than {max_loss:.0%} of its text ({before} → {after} tokens)"
    if _loses(tree_tokens_before, tree_tokens_after, max_loss):
        sizes = f"({tree_tokens_before} → {tree_tokens_after} tokens)"
        return f"the memory would lose more than {max_loss:.0%} of its text {sizes}"
    return None


def staging_json(found: Iterable[Candidate], now_iso: str, before: Mapping[str, Any] | None = None) -> str:
    """The text of `_reflect_staging.json`.

    Args:
        before: the staging that waits already; what was decided in it on the very same bytes is kept.
    """
    waiting = (before or {}).get("candidates")
    items = [item for item in waiting if isinstance(item, dict)] if isinstance(waiting, list) else []
    decided = {(item.get("file"), item.get("hash")): item for item in items if item.get("decision")}
    candidates = [{**_as_item(item), **decided.get((item.file, item.hash), {})} for item in found]
    return json_text({"triggered_at": now_iso, "candidates": candidates})


def read_staging(data: bytes) -> dict[str, Any]:
    """The staging object, whose `candidates` are objects with a `file`. Raises BadData where it is damaged."""
    try:
        staging = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadData(f"the staged reflection is no JSON ({error})", hint="Run `bonsai reflect` again.") from error
    items = staging.get("candidates") if isinstance(staging, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) and _is_text(item.get("file")) for item in items):
        raise BadData("the staged reflection has no list of candidates", hint="Run `bonsai reflect` again.")
    return {**staging, "triggered_at": _text(staging, "triggered_at") or None}


def staged_candidates(staging: Mapping[str, Any]) -> list[Candidate]:
    """The candidates of a staging object that `read_staging` gave; a value of the wrong kind is as if missing."""
    return [
        Candidate(
            item["file"],
            _text(item, "domain"),
            _number(item, "age_days"),
            _number(item, "tokens"),
            _text(item, "reason"),
            _text(item, "hash"),
            item["suggest"] if isinstance(item.get("suggest"), dict) else {},
        )
        for item in staging["candidates"]
    ]


def left_over(staging: Mapping[str, Any], waiting: Container[str]) -> str | None:
    """The text of the staging file with the candidates that still wait; None when all is applied."""
    left = [item for item in staging["candidates"] if item["file"] in waiting]
    return json_text({**staging, "candidates": left}) if left else None


def _note_reasons(note: NoteView, settings: Limits) -> Iterable[str]:
    days, most = settings["reflect", "general_days"], settings["reflect", "file_tokens"]
    if note.domain.partition("/")[0] == GENERAL and note.age_days > days:
        yield f"general/ file older than {days} days ({note.age_days}d)"
    if note.tokens > most:
        yield f"file has {note.tokens} tokens (more than {most})"


def _domain_reasons(files: int, tokens: int, settings: Limits) -> Iterable[str]:
    most_files, most_tokens = settings["reflect", "domain_files"], settings["reflect", "domain_tokens"]
    if files > most_files:
        yield f"domain has {files} files (more than {most_files})"
    if tokens > most_tokens:
        yield f"domain has {tokens} tokens (more than {most_tokens})"


def _loses(before: int, after: int, max_loss: float) -> bool:
    return before - after > max_loss * before


def _as_item(candidate: Candidate) -> dict[str, Any]:
    item = asdict(candidate)
    if not candidate.suggest:
        del item["suggest"]
    return item


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _number(item: Mapping[str, Any], key: str) -> int:
    value = item.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
