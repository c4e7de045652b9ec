"""Render what is generated: indexes, the block in MEMORY.md, the operational state; write what differs."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from bonsai.config import Settings
from bonsai.errors import Busy, NotFound
from bonsai.facts.score import DAY, Rules, score
from bonsai.notes import boot, index, layout, lifecycle
from bonsai.notes.change import Row
from bonsai.notes.index import DomainStat
from bonsai.notes.layout import Kind, Tree
from bonsai.notes.printed import count_tokens
from bonsai.notes.problem import problem
from bonsai.notes.shape import Shape
from bonsai.notes.summary import Summary
from bonsai.notes.view import EVERYTHING, View
from bonsai.ports.disk import NoteStore

HOT_SHARE = 0.4  # of the generated block: so much of it hot facts may take
HOT_LINE = 160  # characters
HOT_HEAD = "\n\n## Hot Facts\n"
Read = Callable[[str], bytes | None]


def statistics(view: View, found: Shape, every: set[str]) -> dict[str, DomainStat]:
    """The numbers of every domain with everything below it; only those that changed are counted again."""
    key, start = f"stats:{found.tree.agent}", len(found.tree.domains) + 1
    kept: dict[str, DomainStat] = view.memo.get(key, {})
    again = every if EVERYTHING in view.dirty else {folder[start:] for folder in view.dirty} | (every - kept.keys())
    stats = {domain: kept[domain] for domain in every - again}
    for domain in sorted(again & every, key=lambda name: -name.count("/")):  # sub-domains before their parents
        below = [stats[child] for child in _children(domain, every)]
        notes = found.listed(domain)
        named = [item for item in notes if not item[1].untrusted]  # the root index stands in the boot file
        stat = index.domain_stat(domain, named, below)
        more = [summary.tokens for _, summary in notes if summary.untrusted]
        stats[domain] = replace(stat, notes=stat.notes + len(more), tokens=stat.tokens + sum(more)) if more else stat
    view.memo[key] = stats
    return stats


def _children(domain: str, every: Iterable[str]) -> list[str]:
    start = f"{domain}/"
    return sorted(name for name in every if name.startswith(start) and "/" not in name[len(start) :])


def render(
    view: View, found: Shape, read: Read, settings: Settings, now_iso: str, violations: int, rewrite: str
) -> dict[str, bytes | None]:
    """What the generated files of one tree should hold; None for an index that should not be there.

    Args:
        read: the bytes that stand there now, None for nothing.
        violations: the number of notes in general/ that are too old, for `_stats.json`.
        rewrite: the text of memory/.gitignore, whose lines must all be in the file.
    """
    tree, every = found.tree, found.every()
    stats = statistics(view, found, every)
    out = _domain_indexes(view, found, stats, read, now_iso)
    top = [stats[domain] for domain in found.domains]
    budget = int(settings["index", "block_tokens"]) - boot.header_tokens(tree.memory, found.first)
    hot = _hot(view, found, settings, now_iso, int(budget * HOT_SHARE))
    root = index.root_index(
        [stat for stat in top if stat.names],
        daily=len(found.daily),
        daily_folder=f"{tree.daily}/",
        also=found.others,
        unnamed=len(found.unnamed) + sum(stat.notes for stat in top if not stat.names),
        budget=budget - count_tokens(hot) - 1,
        now_iso=now_iso,
        previous=_text(read(tree.root_index)),
    )
    out[tree.root_index] = root.encode("utf-8", "replace")
    out |= _boot(view, tree, root + hot, read, now_iso, found.first)
    out |= _state(found, top, read, now_iso, violations)
    if not tree.agent:
        ignore = f"{layout.MEMORY}/.gitignore"
        out[ignore] = _with_lines(read(ignore), rewrite)
    found.drop_lists()
    return {path: data for path, data in out.items() if data != read(path)}


def _domain_indexes(
    view: View, found: Shape, stats: Mapping[str, DomainStat], read: Read, now_iso: str
) -> dict[str, bytes | None]:
    """The indexes in which something may have changed; None for one whose domain holds no note any more."""
    out: dict[str, bytes | None] = {}
    for domain in sorted(stats):
        folder = f"{found.tree.domains}/{domain}"
        path = f"{folder}/{layout.INDEX}"
        if EVERYTHING in view.dirty or folder in view.dirty or not view.on_disk(path):
            below = [stats[child] for child in _children(domain, stats)]
            text = _domain_index(domain, found.listed(domain), below, now_iso, _text(read(path)))
            out[path] = text.encode("utf-8", "replace")
    return out | dict.fromkeys(_without_notes(view, found.tree, stats))


def _domain_index(
    domain: str, notes: list[tuple[str, Summary]], below: list[DomainStat], now_iso: str, previous: str | None
) -> str:
    """Nobody here speaks for what stands in unpromoted notes from outside: it, and their names, are only counted."""
    outside = [summary.tokens for _, summary in notes if summary.untrusted]
    foreign = [stat for stat in below if not stat.names]  # all of their notes are such, and the name may be, too
    count = len(outside) + sum(stat.notes for stat in foreign)
    unnamed = index.Unnamed(count, sum(outside) + sum(stat.tokens for stat in foreign))
    named = [item for item in notes if not item[1].untrusted]
    below = [stat for stat in below if stat.names]
    shown = domain if named or below else "from outside"
    return index.domain_index(shown, named, below, now_iso=now_iso, previous=previous, unnamed=unnamed)


def _hot(view: View, found: Shape, settings: Settings, now_iso: str, budget: int) -> str:
    """The facts whose score makes them hot, a line each, the best first, within a budget of tokens; "" for none.

    Those of single users of a service are for their own conversations alone.
    """
    rules, now = Rules.of(settings), lifecycle.moment(now_iso)
    today = now.timestamp() if now else 0.0
    ranked = []
    for path, (weight, since, lead) in found.facts.items():  # a hot loop: nearly all are worth too little at any age
        if (weight < rules.hot and path not in view.accesses) or path in found.private or now is None:
            continue
        age = (today - since) / DAY if since is not None else 0.0
        value = score(weight, age, view.accesses.get(path, 0), rules)
        if value >= rules.hot:
            ranked.append((-value, path, lead))
    text = ""
    for _, _, lead in sorted(ranked):
        line = f"- {lead if len(lead) <= HOT_LINE else f'{lead[: HOT_LINE - 1].rstrip()}…'}\n"
        if count_tokens(f"{HOT_HEAD}{text}{line}") > budget:
            break
        text += line
    return f"{HOT_HEAD}{text}" if text else ""


def nothing(view: View, tree: Tree) -> dict[str, bytes | None]:
    """The generated files of a tree that is none any more, as `render` has them: all of them go."""
    indexes = (path for path in view.rows if layout.kind_of(path) is Kind.INDEX and layout.tree_of(path) == tree)
    state = (tree.at(name) for name in ("_meta.json", "_stats.json", layout.STAGING))
    return dict.fromkeys([*sorted(path for path in indexes if view.on_disk(path)), *state])


def is_complete(view: View, store: NoteStore, tree: Tree) -> bool:
    """Whether the files that every tree has are there, whatever they hold."""
    state = (tree.at(name) for name in ("_meta.json", "_stats.json"))
    return view.on_disk(tree.root_index) and view.on_disk(tree.boot) and all(map(store.exists, state))


def set_aside(view: View, store: NoteStore, out: dict[str, bytes | None], read: Read) -> list[str]:
    """Take out what is not to be written: a folder, a link, a pipe or a page of a person stands there.

    Each is a problem, and the other files are written all the same. Returns these places.
    """
    odd = [path for path, data in out.items() if data is not None and read(path) is None and store.exists(path)]
    theirs = [path for path in out if layout.kind_of(path) is Kind.INDEX and _is_theirs(view.rows.get(path), read)]
    for path in odd + theirs:
        del out[path]
    for path in odd:
        if path not in view.unread:  # the look has named it
            view.problems.append(problem("special-file", path, "is no file, but bonsai writes one here: move it away"))
    for path in theirs:
        words = "is not bonsai's, so it stays as it is, and there is no index: give it another name"
        view.problems.append(problem("stale-index", path, words, "warning"))
    return odd + theirs


def _is_theirs(row: Row | None, read: Read) -> bool:
    """Whether an `_index.md` is a page that a person wrote, and not an index that somebody wrote over."""
    return row is not None and row.head in ("", row.blob) and not index.is_generated(read(row.path) or b"")


def _without_notes(view: View, tree: Tree, every: Collection[str]) -> list[str]:
    """Indexes on disk of domains that hold no note any more."""
    start, end = f"{tree.domains}/", f"/{layout.INDEX}"
    if EVERYTHING in view.dirty:
        folders = {path[: -len(end)] for path in view.rows if path.startswith(start) and path.endswith(end)}
    else:
        folders = {folder for folder in view.dirty if folder.startswith(start)}
    gone = (folder for folder in folders if folder[len(start) :] not in every)
    return [f"{folder}{end}" for folder in gone if view.on_disk(f"{folder}{end}")]


def _boot(view: View, tree: Tree, root: str, read: Read, now_iso: str, first: str) -> dict[str, bytes | None]:
    """The boot file with its block, unless somebody must look at it first."""
    row = view.rows.get(tree.boot)
    if tree.boot in view.unread or (row and view.is_held(row)):
        return {}
    old = read(tree.boot)
    backup = view.on_disk(tree.at(layout.BACKUP))
    previous = boot.current(old) if old is not None else None
    text = boot.block(root, backup=backup, agent_memory=tree.memory, now_iso=now_iso, previous=previous, first=first)
    return {tree.boot: boot.splice(old or b"", text)}


def _state(found: Shape, top: list[DomainStat], read: Read, now_iso: str, violations: int) -> dict[str, bytes | None]:
    meta, stats = found.tree.at("_meta.json"), found.tree.at("_stats.json")
    tokens = sum(stat.tokens for stat in top)
    return {
        meta: index.meta_json(len(top), tokens, now_iso=now_iso, previous=_text(read(meta))).encode(),
        stats: index.stats_json(top, violations).encode("utf-8", "replace"),
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def _with_lines(old: bytes | None, wanted: str) -> bytes:
    """A person's .gitignore with our lines at its end where it lacks them."""
    have = set((old or b"").decode("utf-8", "replace").splitlines())
    missing = [line for line in wanted.splitlines() if line and line not in have]
    if not missing:
        return old or b""
    start = old or b""
    if start and not start.endswith(b"\n"):
        start += b"\n"
    return start + "".join(f"{line}\n" for line in missing).encode()


def write(store: NoteStore, out: Mapping[str, bytes | None], read: Read) -> list[str]:
    """Write what was rendered; what is a person's file too with care. Returns the paths that changed, sorted."""
    changed = []
    for path, data in sorted(out.items()):
        if data is None:
            store.discard(path)
            store.prune(layout.folder_of(path))
        elif layout.kind_of(path) in (Kind.BOOT, Kind.ASSET):  # MEMORY.md and memory/.gitignore have lines of a person
            if not _write_shared(store, path, data, read(path)):
                continue
        else:
            store.generate(path, data)
        changed.append(path)
    return changed


def _write_shared(store: NoteStore, path: str, data: bytes, old: bytes | None) -> bool:
    """A person's file that holds something of ours: a save made meanwhile wins, and the next reindex adds it again."""
    try:
        if old is None:
            store.create(path, data)
        else:
            store.replace(path, data, old)
    except (Busy, NotFound):
        return False
    return True
