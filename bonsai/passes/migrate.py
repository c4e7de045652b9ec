"""Split MEMORY.md into notes of their domains: the plan. Nothing is summarised, cut or overwritten."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import takewhile

from bonsai.errors import BadData, Usage
from bonsai.notes import boot as boot_file
from bonsai.notes import feedback, moment
from bonsai.notes.boot import HOT_NAMES, TYPE_NAMES
from bonsai.notes.change import Drop, Plan, Put
from bonsai.notes.draft import Draft
from bonsai.notes.layout import BACKUP, Kind, Tree, fold, folder_of, is_archived, kind_of, name_of, printable
from bonsai.notes.note import BOM, set_fields
from bonsai.notes.printed import count_tokens, counted
from bonsai.notes.problem import Problem
from bonsai.notes.prose import conflict_line
from bonsai.notes.split import Section, split
from bonsai.notes.taxonomy import DATES, GENERAL, classify, slug, unique
from bonsai.notes.view import View
from bonsai.passes.reports import Created, MigrateReport, Skipped, Tokens

_LOOSE = re.compile(r"\d{4}-[^/]*\.md|[^/]*-progress[^/]*\.md", re.DOTALL)
COMMAS = 20  # that a heading has at most, for --keep
_ATX = re.compile(rb" {0,3}#{1,6}(?:[ \t\r\n]|\Z)")


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migrate would do. The caller writes MEMORY.md: it splices the block into `boot`."""

    puts: tuple[Put, ...]
    drops: tuple[Drop, ...]
    created: list[Created]
    skipped: list[Skipped]
    moved: list[tuple[str, str]]
    backup: str | None  # where the original goes, None where it is there already or there is none
    rest: bytes  # what stays in MEMORY.md outside the block
    boot: bytes  # MEMORY.md without what leaves it; untouched, its block included, where nothing leaves


def plan(
    boot: bytes,
    *,
    tree: Tree,
    has_backup: bool,
    keep: Collection[str],
    taken: Collection[str],
    loose: Mapping[str, bytes],
    today: date,
) -> Migration:
    """Plan the migrate of one boot file.

    Args:
        boot: the bytes of MEMORY.md.
        has_backup: whether an earlier migrate left MEMORY.md.bak; then hot sections stay where they are.
        keep: headings of sections that stay, each alone or several with commas; case does not matter.
        taken: every path that stands on disk or in HEAD.
        loose: the files right in the folder of the tree, path → bytes; daily notes among them move to `daily/`.
        today: the local day; its daily note and yesterday's stay where agents look for them.

    Raises BadData for conflict markers, Usage for a name in `keep` that is no heading.
    """
    _refuse_conflict(boot, tree)
    outside = boot_file.strip(boot)
    frontmatter, sections = split(outside)
    keep = list(_spread(keep, {_key(section.heading) for section in sections}))
    _refuse_unknown(keep, sections)
    hot = HOT_NAMES if has_backup else ()
    stays = _stays(sections, [*keep, *hot], titles=has_backup and boot_file.current(boot) is not None)
    names = _Names(tree, taken)
    backup = None if has_backup or _is_blank(outside) else tree.at(BACKUP)
    puts = [Put(backup, outside)] if backup else []
    created = []
    for section in (section for section, stay in zip(sections, stays, strict=True) if not stay):
        path = names.for_section(section)
        data = _typed(section)
        puts.append(Put(path, data))
        created.append(Created(path, _printable(section.heading), count_tokens(data.decode("utf-8", "replace"))))
    skipped = [
        Skipped(tree.boot, f"the section {_printable(section.heading)!r} stays in it")
        for section, stay in zip(sections, stays, strict=True)
        if stay and not section.bare
    ]
    moves, left = _moves(loose, tree, names, today)
    puts += [Put(new, loose[old]) for old, new in moves]
    rest = _joined(frontmatter, sections, stays) if created else outside
    return Migration(
        puts=tuple(puts),
        drops=tuple(Drop(old, loose[old]) for old, _ in moves),
        created=created,
        skipped=skipped + left,
        moved=moves,
        backup=backup,
        rest=rest,
        boot=rest if created else boot,
    )


def kept_by_default(boot: bytes) -> list[str]:
    """The headings of the four type sections in a boot file: what a person is asked about before the first migrate."""
    types = {_key(name) for name in TYPE_NAMES}
    found = {_key(item.heading): item.heading for item in split(boot_file.strip(boot)).sections}
    return [heading for key, heading in found.items() if key in types]


def _stays(sections: Sequence[Section], names: Iterable[str], titles: bool) -> list[bool]:
    """Which sections stay: blank ones, those that are named, and (`titles`) a title with its comments on top."""
    keys = {_key(name) for name in names} - {""}
    top = len(list(takewhile(lambda section: section.bare, sections))) if titles else 0
    return [
        number < top or _key(section.heading) in keys or _is_blank(section.data)
        for number, section in enumerate(sections)
    ]


def _is_blank(data: bytes) -> bool:
    return not data.removeprefix(BOM).decode("utf-8", "replace").strip()


class _Names:
    """The names that are still free, so that no note ever lands on another."""

    def __init__(self, tree: Tree, taken: Iterable[str]) -> None:
        self.tree = tree
        self.folders: dict[str, str] = {}  # folded → as it is spelled on disk
        self.taken: dict[str, set[str]] = defaultdict(set)  # folded folder → folded names without `.md`
        for path in taken:
            self.take(path)

    def take(self, path: str) -> None:
        """Mark a path and the folders above it as taken."""
        self._mark(path)
        folder = folder_of(path)
        while folder and fold(folder) not in self.folders:
            self.folders[fold(folder)] = folder
            self._mark(folder)
            folder = folder_of(folder)

    def _mark(self, path: str) -> None:
        name = fold(name_of(path))
        if name.endswith(".md"):
            self.taken[fold(folder_of(path))].add(name.removesuffix(".md"))

    def is_free(self, path: str) -> bool:
        name = name_of(path).removesuffix(".md")
        return unique(name, self.taken[fold(folder_of(path))]) == name

    def for_section(self, section: Section) -> str:
        """The path of the note that a section becomes."""
        domain = classify(section.heading) if section.kind == "section" else GENERAL
        dates = self.tree.at(f"{DATES}.md")
        if domain == DATES and self.is_free(dates):
            self.take(dates)
            return dates
        if domain == DATES:  # the file is taken: `Client birthdays` are about clients, too
            domain = classify(section.heading, but=DATES)
        wanted = f"{self.tree.domains}/{domain}"
        folder = self.folders.get(fold(wanted), wanted)  # `Business`, where a person has made it so
        name = "preamble" if section.kind == "preamble" else slug(section.heading)
        path = f"{folder}/{unique(name, self.taken[fold(folder)])}.md"
        self.take(path)
        return path


def _key(heading: str) -> str:
    return fold(" ".join(heading.split()))


def _printable(heading: str) -> str:
    return heading.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refuse_conflict(boot: bytes, tree: Tree) -> None:
    line = conflict_line(boot.decode("utf-8", "surrogateescape"))
    if line is not None:
        raise BadData(
            f"line {line + 1} is a conflict marker of git", path=tree.boot, hint="Resolve the conflict, then migrate."
        )


def _spread(names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """Each name of lists with commas. A heading may hold commas itself ("Quiet hours (added 3 May, 2026)")."""
    for name in names:
        parts = name.split(",")
        while parts:
            spans = range(min(len(parts), COMMAS + 1), 0, -1)
            end = next((end for end in spans if _key(",".join(parts[:end])) in known), 1)
            if one := ",".join(parts[:end]).strip():
                yield one
            parts = parts[end:]


def _refuse_unknown(keep: Collection[str], sections: Iterable[Section]) -> None:
    headings = [_printable(section.heading) for section in sections if section.heading]
    known = {_key(name) for name in (*HOT_NAMES, *(section.heading for section in sections))}
    unknown = [name for name in keep if _key(name) not in known]
    if unknown:
        raise Usage(
            f"there is no section {', '.join(map(repr, unknown))} to keep",
            hint=f"The sections are: {', '.join(headings) or '(none)'}.",
        )


def _typed(section: Section) -> bytes:
    """The section, word for word; one that is named after a type gets that `type:` on top."""
    kind = _key(section.heading)
    if section.kind == "section" and kind in map(_key, TYPE_NAMES):
        return set_fields(section.data, {"type": kind})
    return section.data


def _joined(frontmatter: bytes, sections: Iterable[Section], stays: Iterable[bool]) -> bytes:
    """What stays, in its order.

    An underlined heading that used to follow another section would take the last line of the text that it now
    follows into itself, so an empty line comes between.
    """
    rest, parted = b"", False
    for section, stay in zip(sections, stays, strict=True):
        if stay and rest and parted and not _ATX.match(section.data):
            rest += b"\r\n" if rest.endswith((b"\r\n", b"\r")) else b"\n"
        rest += section.data if stay else b""
        parted = not stay
    return frontmatter + rest


def _moves(
    loose: Mapping[str, bytes], tree: Tree, names: _Names, today: date
) -> tuple[list[tuple[str, str]], list[Skipped]]:
    recent = (today.isoformat(), moment.before(today, 1).isoformat())
    moves, left = [], []
    for path in sorted(loose):
        if not _LOOSE.fullmatch(name_of(path)) or is_archived(path):
            continue
        target = f"{tree.daily}/{name_of(path)}"
        if name_of(path).startswith(recent):
            left.append(Skipped(path, "the daily notes of today and yesterday stay where agents look for them"))
        elif not names.is_free(target):
            left.append(Skipped(path, f"{target} is there already"))
        else:
            names.take(target)
            moves.append((path, target))
    return moves, left


def _numbered_twice(view: View, draft: Draft, tree: Tree, created: Sequence[Created]) -> list[Problem]:
    """Entries of feedback keep the numbers that they have; one that is there twice is told."""
    new = [item.path for item in created if feedback.is_feedback(_key(item.heading), item.heading)]
    texts = {path: draft.get(path) or b"" for path in [*feedback.places(view, tree), *new]}
    return feedback.numbered_twice(
        feedback.gathered({path: data.decode("utf-8", "replace") for path, data in texts.items()})
    )


def draft(view: View, draft: Draft, tree: Tree, keep: Collection[str], today: date) -> tuple[Plan, MigrateReport]:
    """Plan the migrate of a tree over a draft. The index run that follows splices the block into MEMORY.md."""
    boot = draft.get(tree.boot) or b""
    loose = {
        path: draft.need(path)
        for path, row in view.rows.items()
        if row.stat is not None and folder_of(path) == tree.memory and kind_of(path) is Kind.NOTE
    }
    found = plan(
        boot,
        tree=tree,
        has_backup=draft.get(tree.at(BACKUP)) is not None,
        keep=keep,
        taken={*view.rows, *view.unread},
        loose=loose,
        today=today,
    )
    for put in found.puts:
        draft.create(put.path, put.data)
    for drop in found.drops:
        draft.drop(drop.path)
    if found.boot != boot:
        draft.put(tree.boot, found.boot)
    before = count_tokens(boot.decode("utf-8", "replace"))
    report = MigrateReport(found.created, found.skipped, found.moved, found.backup, Tokens(before, before), None)
    report.problems = _numbered_twice(view, draft, tree, found.created)
    body = [f"add {printable(item.path)} from {item.heading!r}" for item in found.created]
    body += [f"move {printable(old)} to {printable(new)}" for old, new in found.moved]
    subject = f"migrate: {tree.boot} to {counted(len(found.created), 'note')}"
    return draft.plan("migrate", subject, "\n".join(body)), report
