"""What a technical note names and a look can check: files, functions, options, URLs, versions.

Only names that stand out as such are taken: in code, with a slash or a suffix, with brackets. "The World Wide Web 2.0"
in prose is nobody's file. Personal facts and history hold as they are; `is_technical` tells which notes do not.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from bonsai.notes import layout
from bonsai.notes.note import parse
from bonsai.notes.prose import prose_lines
from bonsai.notes.summary import note_type

Kind = Literal["file", "function", "option", "url", "version"]

STABLE_TYPES = frozenset({"user", "feedback"})  # who somebody is and what they said: no look can tell
STABLE_SECTIONS = frozenset({"user", "owner", "identity", "feedback", "lessons", "events"})
_STABLE_DOMAINS = frozenset({"identity", "community", "legal"})

_CODE = re.compile(r"`([^`\r\n]{1,300})`")
_URL = re.compile(r"https?://[^\s<>\"'`()\[\]{}|\\^、。，）」]{3,2000}", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+-]{1,100}){1,30}/?|[\w.@+-]{1,100}(?:/[\w.@+-]{1,100}){1,30}/?")
_FILE = re.compile(r"[\w@+-][\w.@+-]{0,80}\.[A-Za-z][A-Za-z0-9]{0,7}")
_CALL = re.compile(r"([A-Za-z_][\w.]{1,100})\(\)?")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]{1,40}(?![\w-])")
_NAMED_VERSION = re.compile(
    r"\b([A-Za-z][A-Za-z0-9_+-]{1,40})"
    r"(?:[ \t]{0,3}(?:==|>=|~=|@)[ \t]{0,3}|[ \t]{1,3}(?:(?:version|v\.?)[ \t]{1,3})?)"
    r"v?(\d{1,4}(?:\.\d{1,5}){1,3})(?![\w%]|\.\d)"
)
_DATED = re.compile(r"[ \t]{0,40}(?:[-*+][ \t]{1,4})?(?:\*\*|\[|\()?\d{4}-\d{2}-\d{2}")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]{1,8}")
#: Words before a number that is no version: `about 1.5`, `costs 8.50`.
_NO_PROGRAM = (
    " about around at by costs from for in is of on over than the to under until was were with and or up "
    " rate ratio factor score price section chapter step page line figure table part level version release "
    " eur usd sek kr "
)
#: Endings of files.
_SUFFIXES = (
    " py js ts tsx jsx mjs go rs rb java kt c h cc cpp hpp cs php swift sh bash zsh fish ps1 sql html css "
    " scss vue lua pl r toml yaml yml json jsonl ini cfg conf env lock xml csv tsv txt md rst log db "
    " sqlite service timer plist tf mk gradle ipynb proto graphql pem crt key pdf png jpg svg zip gz tar "
)


class Claim(NamedTuple):
    """Something that a note says is there; `line` is 1-based. A version is `name version`."""

    kind: Kind
    name: str
    line: int


def is_technical(path: str, data: bytes) -> bool:
    """Whether what a note names may have changed since: not for people, preferences and what happened on a day."""
    if layout.is_daily(path) or layout.is_archived(path):
        return False
    if layout.name_of(path) in ("feedback.md", "dates.md"):
        return False
    kind = note_type(parse(data).fields)
    if kind in STABLE_TYPES:
        return False
    domain = (layout.domain_of(path) or "").partition("/")[0]
    return bool(kind) or domain not in _STABLE_DOMAINS


def find(data: bytes) -> list[Claim]:
    """What a note names, each name once; nothing from sections about people, from dated entries, from frontmatter."""
    note = parse(data)
    skip = data.count(b"\n", 0, note.body_start)
    found: dict[tuple[str, str], Claim] = {}
    stable = 0  # the level of the heading of a section that is not checked, 0 outside one
    for number, row in prose_lines(note.text.replace("\0", "")):
        heading = _HEADING.match(row)
        if heading and (not stable or len(heading[1]) <= stable):
            stable = len(heading[1]) if row[heading.end() :].strip().casefold() in STABLE_SECTIONS else 0
        if stable or _DATED.match(row):
            continue
        for kind, name in _in_row(row):
            found.setdefault((kind, name), Claim(kind, name, skip + number + 1))
    return list(found.values())


def _in_row(row: str) -> Iterator[tuple[Kind, str]]:
    for url in _URL.finditer(row):
        yield "url", url[0].rstrip(".,;:!?*_")
    row = _URL.sub(" ", row)
    for option in _OPTION.finditer(row):
        yield "option", option[0]
    for version in _NAMED_VERSION.finditer(row):
        if f" {version[1].casefold()} " not in _NO_PROGRAM:
            yield "version", f"{version[1]} {version[2]}"
    for code in _CODE.finditer(row):
        yield from _in_code(code[1].strip())
    for path in _PATH.finditer(_CODE.sub(" ", row)):
        name = path[0].rstrip(".")
        if "/" in name.strip("/") and (_has_suffix(name) or name.startswith(("/", "~/", "./", "../"))):
            yield "file", name


def _in_code(code: str) -> Iterator[tuple[Kind, str]]:
    for call in _CALL.finditer(code):
        yield "function", call[1]
    words = code.split()
    for word in words:
        bare = word.strip("'\",;:")
        path = _PATH.fullmatch(bare) or (_FILE.fullmatch(bare) and _has_suffix(bare))
        if (
            path
            and not bare.startswith("-")
            and ("/" in bare.strip("/") or _has_suffix(bare) or bare.startswith(("/", "~")))
        ):
            yield "file", bare


def _has_suffix(name: str) -> bool:
    stem, dot, suffix = layout.name_of(name.rstrip("/")).rpartition(".")
    return bool(dot and stem) and f" {suffix.casefold()} " in _SUFFIXES
