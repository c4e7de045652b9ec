"""Links in a note: find them, tell where they lead, rewrite them each in its own line.

Line numbers and offsets are those of `prose.lines`. What has a scheme (`https:`, `mailto:`) or is a pure `#fragment`
is no link here; neither is anything in code or in an HTML comment.
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from bonsai.notes.layout import Kind, fold, folder_of, is_archived, kind_of, name_of, tree_of
from bonsai.notes.prose import lines, prose_lines

if TYPE_CHECKING:
    from bonsai.notes.summary import Summary

MAX_PARENTHESES = 8  # nested in a destination; CommonMark allows 32, hostile text would make that slow

_OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]{0,30}:|#|//", re.IGNORECASE)
_WIKI = re.compile(r"\[\[([^\[\]|\r\n]{1,500})(?:\|[^\[\]\r\n]{0,500})?\]\]")
_DEFINITION = re.compile(r"\ufeff? {0,3}\[(?!\^)[^\[\]\r\n]{1,999}\]:[ \t]*")
_ANGLE = re.compile(r"<([^<>\r\n]{0,2000})>")
_TICKS = re.compile("`+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_UNSAFE = re.compile("[\x00-\x20\x7f\"#%'()<>\\\\\udc80-\udcff]")
_UNSAFE_IN_ANGLES = re.compile("[\x00-\x1f\x7f#%<>\\\\\udc80-\udcff]")


class Link(NamedTuple):
    """A link: its 0-based line, the span of its target in that line, the target as written (fragment included)."""

    line: int
    start: int
    end: int
    target: str
    wiki: bool


def find(text: str) -> list[Link]:
    """Inline links and images, reference definitions and `[[wiki]]` links, in order."""
    if "](" not in text and "[[" not in text and "]:" not in text:
        return []
    found: list[Link] = []
    for number, row in _visible(text):
        if "]" not in row:
            continue
        spans = [(*span, False) for span in (*_inline(row), *_definition(row)) if not _OUTSIDE.match(span[2])]
        done = 0
        for start, end, target, wiki in sorted([*spans, *((*span, True) for span in _wiki(row))]):
            if start >= done:  # `[a]([[b]])` is one link
                found.append(Link(number, start, end, target, wiki))
                done = end
    return found


def targets(text: str) -> tuple[str, ...]:
    """The targets of the links in a text as `broken` wants them: as written, wiki links as `[[name]]`, each once."""
    return tuple(dict.fromkeys(f"[[{link.target}]]" if link.wiki else link.target for link in find(text)))


def resolve(source: str, target: str) -> str | None:
    """The workspace-relative path that a target leads to, None where it leads out of the workspace or nowhere.

    A target that begins with `/` counts from the workspace.
    """
    path = unquote(_ESCAPE.sub(r"\1", target.partition("#")[0]), errors="surrogateescape")
    if not path or "\0" in path:
        return None
    steps = [] if path.startswith("/") else [part for part in folder_of(source).split("/") if part]
    for part in path.split("/"):
        if part == "..":
            if not steps:
                return None
            steps.pop()
        elif part not in ("", "."):
            steps.append(part)
    return "/".join(steps) or None


def rewrite(data: bytes, source_old: str, source_new: str, moved: Mapping[str, str]) -> bytes:
    """A note's bytes once it stands at `source_new` and the notes of `moved` (old path: new path) have moved.

    Only the targets that would lead elsewhere are changed. `[[name]]` stays, since a name leads to wherever it is.
    """
    text = data.decode("utf-8", "surrogateescape")
    found = find(text)
    if not found:
        return data
    rows = lines(text)
    moved = {unicodedata.normalize("NFC", old): new for old, new in moved.items()}
    for number, group in groupby(found, key=lambda link: link.line):
        row, parts, done = rows[number], [], 0
        for link in group:
            if link.wiki:
                new = _wiki_target(link.target, source_old, moved)
            else:
                new = _target(link.target, source_old, source_new, moved, angle=row[link.start - 1] == "<")
            parts += [row[done : link.start], new]
            done = link.end
        rows[number] = "".join([*parts, row[done:]])
    return "".join(rows).encode("utf-8", "surrogateescape")


def known_names(paths: Iterable[str], summaries: Iterable["Summary"]) -> set[str]:
    """All that a wiki link may say: stems and file names under `memory/`, titles, names and aliases, folded."""
    live = [path for path in paths if not is_archived(path)]
    files = {fold(name_of(path)) for path in live}
    stems = {name.removesuffix(".md") for name in files if name.endswith(".md")}
    return files | stems | {fold(name) for summary in summaries for name in summary.names}


def leads_to(source: str, link: str, places: Container[str]) -> bool:
    """Whether a link (as `targets` gives it) is written as a path to one of `places`: `rewrite` looks at these."""
    if link.startswith("[["):
        name = link[2:-2].partition("#")[0]
        return "/" in name and any(path in places for _, path in _wiki_paths(source, name))
    path = resolve(source, link)
    return path is not None and (path in places or f"{path}.md" in places)


def broken(source: str, links: Iterable[str], existing: Container[str], names: Container[str]) -> list[str]:
    """The targets (as `targets` gives them) that lead nowhere inside the memory.

    Args:
        source: the note that holds them.
        existing: every path there is; folders may be among them.
        names: what a wiki link may say, from `known_names`.
    """
    return [link for link in links if not _leads_somewhere(source, link, existing, names)]


def _leads_somewhere(source: str, link: str, existing: Container[str], names: Container[str]) -> bool:
    if link.startswith("[[") and link.endswith("]]"):
        name = link[2:-2].partition("#")[0].strip()
        if not name or (fold(name) in names) or fold(name.removesuffix(".md")) in names:
            return True
        return any(_stands(path, existing) for _, path in _wiki_paths(source, name))
    path = resolve(source, link)
    if path is None or kind_of(path) in (Kind.OUTSIDE, Kind.HELPER, Kind.STATE):
        return True  # nothing that bonsai keeps: it cannot tell
    return link.partition("#")[0].endswith("/") or _stands(path, existing) or _stands(f"{path}.md", existing)


def _stands(path: str, existing: Container[str]) -> bool:
    return any(form in existing for form in (path, *(unicodedata.normalize(kind, path) for kind in ("NFC", "NFD"))))


def _visible(text: str) -> Iterator[tuple[int, str]]:
    """The prose lines with code spans and comments blanked out, offsets unchanged."""
    last_end = text.rfind("-->")
    inside, passed = False, 0
    for number, row in prose_lines(text):
        passed += len(row)  # never past the true offset: code lines are not counted
        closes = last_end >= passed  # perhaps: a comment that nothing ends in the rest of the text is none
        inside, shown = _without_comments(row, inside, closes)
        yield number, shown


def _without_comments(row: str, inside: bool, closes: bool) -> tuple[bool, str]:
    """Whether a comment goes on behind the line, and the line with code and comments blanked out."""
    shown = row
    if inside:
        end = row.find("-->")
        if end < 0:
            return True, ""
        shown = " " * (end + 3) + row[end + 3 :]
    shown = _without_code(shown) if "`" in shown else shown
    at = shown.find("<!--")
    while at >= 0:
        end = shown.find("-->", at + 4)
        if end < 0:
            goes_on = closes or not shown[:at].strip()
            return goes_on, shown[:at] if goes_on else shown
        shown = shown[:at] + " " * (end + 3 - at) + shown[end + 3 :]
        at = shown.find("<!--", end + 3)
    return False, shown


def _without_code(row: str) -> str:
    """A line with its code spans blanked out; a span ends at the next run of as many backticks."""
    runs = [found.span() for found in _TICKS.finditer(row)]
    following: dict[int, int] = {}
    partner = [-1] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        size = runs[at][1] - runs[at][0]
        partner[at] = following.get(size, -1)
        following[size] = at
    parts, at, done = [], 0, 0
    while at < len(runs):
        if partner[at] < 0:
            at += 1
            continue
        begin, end = runs[at][0], runs[partner[at]][1]
        parts += [row[done:begin], " " * (end - begin)]
        done, at = end, partner[at] + 1
    return "".join([*parts, row[done:]])


def _inline(row: str) -> Iterator[tuple[int, int, str]]:
    closed = row.rfind(")")
    at = row.find("](")
    while 0 <= at < closed:
        span = None if _is_escaped(row, at) else _destination(row, at + 2)
        if span and _ends(row, span[1], ")", closed):
            yield span[0], span[1], row[span[0] : span[1]]
        at = row.find("](", at + 2)


def _definition(row: str) -> Iterator[tuple[int, int, str]]:
    found = _DEFINITION.match(row)
    span = _destination(row, found.end()) if found else None
    if span and _ends(row, span[1], "", len(row)):
        yield span[0], span[1], row[span[0] : span[1]]


def _wiki(row: str) -> Iterator[tuple[int, int, str]]:
    for found in _WIKI.finditer(row) if "[[" in row else ():
        name = found[1].removesuffix("\\")  # `[[a\|b]]` inside a table
        if name == name.strip() and name[0] not in "#^" and "://" not in name:
            yield found.start(1), found.start(1) + len(name), name


def _is_escaped(row: str, at: int) -> bool:
    before = at
    while before > 0 and row[before - 1] == "\\" and at - before < 16:
        before -= 1
    return (at - before) % 2 == 1


def _destination(row: str, at: int) -> tuple[int, int] | None:
    """The span of a link destination that begins at or after `at`, without its angle brackets."""
    while at < len(row) and row[at] in " \t":
        at += 1
    if row.startswith("<", at):
        found = _ANGLE.match(row, at)
        return found.span(1) if found and found[1] else None
    start, depth = at, 0
    while at < len(row) and at - start < 2000 and row[at] > " ":
        if row[at] == "\\":
            at += 1
        elif row[at] == "(":
            depth += 1
        elif row[at] == ")":
            if depth == 0:
                break
            depth -= 1
        if depth > MAX_PARENTHESES:
            return None
        at += 1
    return (start, at) if start < at <= len(row) and depth == 0 else None


def _ends(row: str, at: int, closing: str, limit: int) -> bool:
    """Whether what follows a destination (perhaps a title) makes it one."""
    at += row.startswith(">", at)
    rest = row[at : at + 80].lstrip(" \t")
    if closing and rest.startswith(closing):
        return True
    spaced = row[at : at + 1] in (" ", "\t") and rest[:1] in ("'", '"', "(")
    return (spaced and at < limit) or (not closing and not rest.strip())


def _target(target: str, source_old: str, source_new: str, moved: Mapping[str, str], angle: bool) -> str:
    old = resolve(source_old, target)
    if old is None:
        return target
    raw, hash_mark, fragment = target.partition("#")
    new = _new_place(old, moved)
    if new == old and (raw.startswith("/") or resolve(source_new, target) == old):
        return target
    if raw.startswith("/"):
        path = f"/{new}"
    else:
        path = relative(source_new, new)
        path = f"./{path}" if raw.startswith("./") and not path.startswith(".") else path
    path = f"{path}/" if raw.endswith("/") else path
    spelled = {unquote(_ESCAPE.sub(r"\1", part), errors="surrogateescape"): part for part in raw.split("/")}
    unsafe = _UNSAFE_IN_ANGLES if angle else _UNSAFE
    parts = [spelled.get(part) or unsafe.sub(_percent, part) for part in path.split("/")]
    return "/".join(parts) + hash_mark + fragment


def _percent(found: re.Match[str]) -> str:
    return quote(found[0].encode("utf-8", "surrogateescape"), safe="")


def _new_place(old: str, moved: Mapping[str, str]) -> str:
    """Where a path is now; the target may lack its `.md`."""
    key = unicodedata.normalize("NFC", old)
    if key in moved:
        return moved[key]
    with_ending = moved.get(f"{key}.md")
    return with_ending.removesuffix(".md") if with_ending else old


def relative(source: str, path: str) -> str:
    """The way from the folder of the note `source` to `path`."""
    here, there = [part for part in folder_of(source).split("/") if part], path.split("/")
    same = 0
    while same < min(len(here), len(there) - 1) and here[same] == there[same]:
        same += 1
    return "/".join([".."] * (len(here) - same) + there[same:])


def _wiki_paths(source: str, name: str) -> Iterator[tuple[str, str]]:
    """(folder, path) for everywhere that a wiki link may mean: an editor's vault can begin at any of these folders."""
    tree = tree_of(source)
    folders, here = [tree.domains, tree.memory, ""], folder_of(source)
    while here:
        folders.append(here)
        here = folder_of(here)
    ending = "" if "." in name_of(name) else ".md"
    for folder in dict.fromkeys(folders):
        path = resolve(f"{folder}/x" if folder else "x", quote(name + ending, errors="surrogateescape"))
        if path:
            yield folder, path
            if ending == "":
                yield folder, f"{path}.md"


def _wiki_target(target: str, source: str, moved: Mapping[str, str]) -> str:
    name, hash_mark, fragment = target.partition("#")
    if "/" not in name:
        return target
    for folder, path in _wiki_paths(source, name):
        new = moved.get(unicodedata.normalize("NFC", path))
        if new is None:
            continue
        tree = tree_of(new)
        base = next(base for base in (folder, tree.domains, tree.memory, "") if not base or new.startswith(f"{base}/"))
        spelled = new.removeprefix(f"{base}/") if base else new
        spelled = spelled if name.endswith(".md") else spelled.removesuffix(".md")
        return target if re.search(r"[\[\]|#]", spelled) else spelled + hash_mark + fragment
    return target
