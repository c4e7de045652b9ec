"""The texts of the domain indexes, of the root index within its budget, and of the two state files.

Everything printed here can have come from anybody (a file name, a title, a cloned repository) and is read by agents at
boot: so no control characters, no HTML comments, and no line longer than MAX_LINE characters.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from bonsai import __version__
from bonsai.notes.printed import MAX_LEAD, clean, count_tokens, counted
from bonsai.notes.summary import Summary

MAX_LINE = 300  # characters
MAX_NAME = 240  # characters of a name in a heading; a file name has at most 255 bytes, escapes can make it longer
SHORT_NAME = 60  # characters of a name in the root index
NOTHING = "_(empty)_"

#: Detail levels of the root index, richest first: characters for the summary line and for the names after it.
LEVELS = ((250, 280), (160, 200), (120, 140), (100, 100), (80, 60), (60, 40), (40, 20), (40, 0), (0, 0))

# Controls, invisible and direction-changing signs, lone surrogates, tag characters. Joiners stay: emoji and several
# scripts need them.
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_OPENS_BLOCK = re.compile(r"#{1,6}(?:\s|$)|`{3}|~{3}|</?[a-zA-Z!?]")  # would swallow the entries below it
_STAMP = r"[0-9][0-9T:.+Z-]{9,39}"


class Unnamed(NamedTuple):
    """How many notes an index does not name, and their tokens."""

    notes: int
    tokens: int


NONE = Unnamed(0, 0)


@dataclass(frozen=True, slots=True)
class DomainStat:
    """One domain in short, its sub-domains included."""

    name: str  # the whole domain path: `business/seo`
    notes: int
    tokens: int
    summary: str  # one line about it: the lead of its main note
    names: tuple[str, ...]  # of all its notes, without `.md`, relative to the domain
    main: str = ""  # the one of `names` that the summary is from


def domain_stat(name: str, notes: Sequence[tuple[str, Summary]], subdomains: Sequence[DomainStat]) -> DomainStat:
    """Sum up a domain from its own notes (file name, summary) and its direct sub-domains."""
    inner = sorted(subdomains, key=lambda item: _by_name(item.name))
    names = sorted((file.removesuffix(".md") for file, _ in notes), key=_by_name)
    names += [f"{_last(item.name)}/{inside}" for item in inner for inside in item.names]
    main, about = "", None
    if notes:
        main, about = min(notes, key=lambda item: _main_rank(name, *item))
    elif inner:
        main = f"{_last(inner[0].name)}/{inner[0].main}"
    return DomainStat(
        name,
        len(notes) + sum(item.notes for item in inner),
        sum(summary.tokens for _, summary in notes) + sum(item.tokens for item in inner),
        about.lead if about else inner[0].summary if inner else "",
        tuple(names),
        main.removesuffix(".md"),
    )


def domain_index(
    domain: str,
    notes: Sequence[tuple[str, Summary]],
    subdomains: Sequence[DomainStat],
    *,
    now_iso: str,
    previous: str | None,
    unnamed: Unnamed = NONE,
) -> str:
    """The text of a domain's `_index.md`.

    Args:
        domain: its path, `business/seo`.
        notes: file name and summary of the live notes right in it.
        subdomains: those right below it.
        previous: the index as it stands, whose time is kept where nothing else differs.
        unnamed: what else stands in it or below it. An agent reads the index as its own, and a file name can say
            `ignore-all-previous-instructions` as well as a text.
    """
    tokens = sum(summary.tokens for _, summary in notes) + sum(item.tokens for item in subdomains) + unnamed.tokens
    blocks = [_head(f"{title(domain)} Index", tokens, now_iso)]
    for name, summary in sorted(notes, key=lambda item: _by_name(item[0])):
        lead = summary.lead or summary.title or (NOTHING if summary.blank else "")
        blocks.append(_block(f"### {printable(name)} (~{summary.tokens} tokens)", _line(lead, MAX_LEAD)))
    for stat in sorted(subdomains, key=lambda item: _by_name(item.name)):
        size = f"(~{stat.tokens} tokens, {counted(stat.notes, 'note')})"
        blocks.append(_block(f"### {printable(_last(stat.name))}/ {size}", _line(stat.summary, MAX_LEAD)))
    if unnamed.notes:
        count = counted(unnamed.notes, "note")
        blocks.append(f"_{count} from outside, not promoted (~{unnamed.tokens} tokens): bonsai recall_")
    return keep_time("\n\n".join(blocks) + "\n", previous, "Last indexed")


def root_index(
    domains: Sequence[DomainStat],
    *,
    daily: int,
    daily_folder: str,
    also: Sequence[str],
    budget: int,
    now_iso: str,
    previous: str | None,
    unnamed: int = 0,
) -> str:
    """The text of the root index: as much detail as fits, and a last line that says how many notes it does not name.

    Args:
        domains: the top-level domains.
        daily: how many daily notes there are, in `daily_folder`.
        also: names of the notes outside domains.
        budget: the most it may cost, in tokens; never more than four times as many characters. Below 40 tokens the
            head alone is longer than that.
        previous: the index as it stands, whose time is kept where nothing else differs.
        unnamed: how many more notes there are, which it may not name.
    """
    logs = f"### Daily Logs ({daily} files in {daily_folder.rstrip('/')}/)\nSearchable via memory_search."
    root = _Root(
        sorted(domains, key=lambda item: _by_name(item.name)),
        sorted(also, key=_by_name),
        _head("Memory Index", sum(item.tokens for item in domains), now_iso),
        logs if daily else "",
        budget,
        unnamed,
    )
    return keep_time(root.richest(), previous, "Last indexed")


def is_generated(data: bytes) -> bool:
    """Whether an `_index.md` is one of ours (or empty); also git's conflict markers in it make it nobody else's.

    Other programs give the name to pages that people write (Hugo), and in a folder that is adopted these have perhaps
    never been in git.
    """
    head = data.lstrip().split(b"\n", 8)[:8]
    return not head[0] or any(line.startswith(b"_Last indexed: ") for line in head)


def keep_time(new: str, previous: str | None, label: str) -> str:
    """`previous` where the two differ in nothing but the time on the first line `…label: <time>`; else `new`.

    So a second run is a no-op, byte for byte. What stands in the place of the time must look like one: a text that
    somebody wrote there is not carried along.
    """
    line = re.compile(rf'^([_# "]{{0,4}}{re.escape(label)}"?: "?)({_STAMP})(?=[_",]{{0,2}}$)', re.MULTILINE)
    fresh, old = line.search(new), line.search(previous or "")
    if previous is None or fresh is None or old is None:
        return new
    return previous if new[: fresh.start(2)] + old[2] + new[fresh.end(2) :] == previous else new


def title(domain: str) -> str:
    """A domain as it is printed: `business/seo` → `Business/Seo`."""
    return "/".join(part[:1].upper() + part[1:] for part in printable(domain).split("/"))


def printable(name: str) -> str:
    """A name as it stands on disk, but for what would not show or would end the line: that is escaped (`\\n`)."""
    shown = _ODD.sub(_escape, name).replace("<!--", "<\\!--")
    return shown if len(shown) <= MAX_NAME else f"{shown[: MAX_NAME - 12]}…{shown[-11:]}"


def stats(domains: Iterable[DomainStat]) -> dict[str, dict[str, int]]:
    """Files and tokens of each domain, sorted by name."""
    return {item.name: {"files": item.notes, "tokens": item.tokens} for item in sorted(domains, key=lambda i: i.name)}


def stats_json(domains: Iterable[DomainStat], general_age_violations: int) -> str:
    """The text of `_stats.json`."""
    return json_text({"domains": stats(domains), "general_age_violations": general_age_violations})


def meta_json(domain_count: int, total_tokens: int, *, now_iso: str, previous: str | None) -> str:
    """The text of `_meta.json`; the time of `previous` is kept where nothing else differs."""
    meta = {
        "last_reindex": now_iso,
        "domain_count": domain_count,
        "total_tokens": total_tokens,
        "script_version": __version__,
    }
    return keep_time(json_text(meta), previous, "last_reindex")


def json_text(value: Any) -> str:
    """JSON that people read (names of every script as they are) and that is UTF-8 even for a name that is not."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


@dataclass(frozen=True, slots=True)
class _Root:
    """What the root index is about, sorted."""

    domains: list[DomainStat]
    also: list[str]
    head: str
    logs: str  # "" where there are no daily notes
    budget: int
    unnamed: int = 0

    def richest(self) -> str:
        """At the first level that fits, else as a list of names."""
        texts = (self.at_level(summary, names) for summary, names in LEVELS)
        return next((text for text in texts if self.fits(text)), None) or self.names_only()

    def at_level(self, summary: int, names: int) -> str:
        """With so many characters for each summary and list of names; "" as soon as it is clear that it is too long."""
        blocks, size, left_out = [self.head, "## Domains"], 0, self.unnamed
        for stat in self.domains:
            block, missing = _domain_block(stat, summary, names)
            blocks.append(block)
            left_out += missing
            size += len(block)
            if size > 4 * self.budget:  # 3,000 domains at nine levels would be work for nothing
                return ""
        listed, shown = _listed(self.also, names)
        others = _block(f"### Other Notes ({len(self.also)} files)", listed) if self.also else ""
        return _text([*blocks, self.logs, others], left_out + len(self.also) - shown)

    def names_only(self) -> str:
        """As a list of domain names, cut where the budget ends: the heaviest domains stay."""
        heaviest = sorted(self.domains, key=lambda item: (-item.tokens, _by_name(item.name)))
        notes = self.unnamed + len(self.also) + sum(item.notes for item in self.domains)

        def render(count: int) -> str:
            kept = sorted((_short(item.name) for item in heaviest[:count]), key=_by_name)
            return _text([self.head, "## Domains", "\n".join(_wrapped(kept)), self.logs], notes)

        # A name takes three characters at least, so no more than this can fit.
        count = _most(min(len(heaviest), 2 * self.budget), lambda count: self.fits(render(count)))
        return render(count) if count else _text([self.head], notes)

    def fits(self, text: str) -> bool:
        """Whether the budget allows for the text."""
        return 0 < len(text) <= 4 * self.budget and count_tokens(text) <= self.budget


def _most(limit: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `limit` that fits, 0 where none does, in log(limit) steps."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _domain_block(stat: DomainStat, summary: int, names: int) -> tuple[str, int]:
    """One domain of the root index and how many of its notes it does not name."""
    lines = [f"### {_short(title(stat.name))} (~{stat.tokens} tokens)"]
    main = stat.main if summary else ""
    about = ": ".join(filter(None, [_short(main), stat.summary]))
    if summary and about:
        lines.append(_line(about, summary))
    listed, shown = _listed((name for name in stat.names if not main or name != main), names)
    if listed:
        lines.append(f"_Also: {listed}_")
    return "\n".join(lines), max(0, stat.notes - bool(main) - shown)


def _listed(names: Iterable[str], limit: int) -> tuple[str, int]:
    """As many whole names as go into `limit` characters, and how many these are."""
    text, count = "", 0
    for name in names:
        more = f"{text}, {_short(name)}" if text else _short(name)
        if len(more) > limit:
            return (f"{text}, …" if text else ""), count
        text, count = more, count + 1
    return text, count


def _wrapped(names: Iterable[str]) -> list[str]:
    """Names in lines of at most MAX_LEAD characters."""
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + len(name) + 3 <= MAX_LEAD:
            lines[-1] += f", {name}"
        else:
            lines.append(name)
    return lines


def _head(name: str, tokens: int, now_iso: str) -> str:
    return f"# {name}\n_Last indexed: {now_iso}_\n_Estimated tokens: ~{tokens}_"


def _block(heading: str, line: str) -> str:
    return f"{heading}\n{line}" if line else heading


def _text(blocks: list[str], left_out: int) -> str:
    more = f"… {left_out} more: bonsai recall" if left_out else ""
    return "\n\n".join(filter(None, [*blocks, more])) + "\n"


@lru_cache(maxsize=3_000)
def _line(text: str, limit: int) -> str:
    """Text of a note as one harmless line of at most `limit` characters; kept, since an edit changes one of many."""
    plain = clean(text, limit)
    return clean(f"\\{plain}", limit) if _OPENS_BLOCK.match(plain) else plain


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= SHORT_NAME else f"{shown[: SHORT_NAME - 1]}…"


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as file names bring it
        return f"\\x{code - 0xDC00:02x}"
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _by_name(name: str) -> tuple[str, str]:
    return name.casefold(), name


def _last(domain: str) -> str:
    return domain.rpartition("/")[2]


def _main_rank(domain: str, file: str, summary: Summary) -> tuple[int, int, tuple[str, str]]:
    """The main note is the one named for its domain, else the longest; never one that says nothing."""
    stem = file.removesuffix(".md").casefold()
    named = stem in (_last(domain).casefold(), "overview", "readme")
    return (2 if not summary.lead else 0 if named else 1), -summary.tokens, _by_name(file)
