"""Recall: the passages that answer a query, read from the notes themselves."""

import re
from collections.abc import Iterable, Iterator

from bonsai.errors import Usage
from bonsai.notes.layout import Kind, domain_of, fold, is_archived, kind_of
from bonsai.notes.note import parse
from bonsai.notes.passage import Found, rank
from bonsai.notes.summary import clean, note_type, without_escapes
from bonsai.passes.reports import Hit, RecallReport

MAX_TEXT = 2000  # characters of a hit: a line of a megabyte helps nobody

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a note must not drive the terminal it is printed on


def recall(
    query: str, notes: Iterable[tuple[str, bytes]], *, limit: int, domain: str = "", type: str = ""
) -> RecallReport:
    """Search live notes and boot files, given as (path, bytes). `domain` takes its sub-domains along.

    Raises Usage for an empty query or a limit below 1.
    """
    if not query.strip():
        raise Usage("the query is empty", hint="Say what to look for: bonsai recall 'pricing of events'.")
    if limit < 1:
        raise Usage(f"a limit of {limit} finds nothing", hint="Give a --limit of 1 or more.")
    hits = [_hit(found) for found in rank(query, _chosen(notes, domain, type), limit)]
    return RecallReport(query, hits, fresh=True)


def _chosen(notes: Iterable[tuple[str, bytes]], domain: str, type_: str) -> Iterator[tuple[str, bytes]]:
    for path, data in notes:
        if kind_of(path) not in (Kind.NOTE, Kind.BOOT) or is_archived(path):
            continue
        if domain and not f"{fold(domain_of(path) or '')}/".startswith(f"{fold(domain).strip('/')}/"):
            continue
        if type_ and note_type(parse(data).fields).casefold() != type_.casefold():
            continue
        yield path, data


def _hit(found: Found) -> Hit:
    text, passage = _CONTROL.sub("", without_escapes(found.passage.text)), found.passage
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT - 1]}…"
    heading, title = clean(passage.heading), clean(found.title)
    return Hit(found.path, passage.lines, heading, title, text, found.score, found.why, "warm")
