"""Where a heading belongs and what its file is called: domains, slugs, agent ids."""

import re
import unicodedata
from collections.abc import Container

from bonsai.errors import BadData, Usage
from bonsai.notes.layout import ARCHIVED, fold

DATES = "dates"
GENERAL = "general"
MAX_NAME = 60  # characters; even four bytes each leave room for `__DELETE.md` within the 255 bytes of a file name
MAX_DEPTH = 8  # segments of a domain
_MAX_READ = 4000  # characters of a heading that can matter for its name

KEYWORDS: dict[str, tuple[str, ...]] = {
    "identity": (
        "identity",
        "personal",
        "family",
        "personality",
        "preferences",
        "network",
        "professional network",
    ),
    "business": ("business", "revenue", "company", "seo", "events", "product", "brand", "pricing", "clients"),
    "infrastructure": ("infrastructure", "services", "cron", "voice", "api", "issues", "quirks", "config", "tools"),
    "community": ("community", "directory", "meetup", "group"),
    "agents": ("agent", "task", "sub-agent", "monitoring"),
    "legal": ("legal", "non-compete", "contract", "compliance"),
    DATES: ("dates", "remember", "anniversary", "birthday"),
}

# Scripts without spaces are cut off from a Latin word beside them: `API文档` is about an API.
_WORD = re.compile(r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_RESERVED = _DEVICES | {"index"}
_AGENT_MARKS = frozenset("._-")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.removesuffix("s") for word in _WORD.findall(text.casefold()))


# Longest keyword first; the sort is stable, so equal lengths stay in the order of the table.
_RULES: list[tuple[tuple[str, ...], str]] = [
    (_words(keyword), domain)
    for keyword, domain in sorted(
        ((keyword, domain) for domain, keywords in KEYWORDS.items() for keyword in keywords),
        key=lambda rule: -len(rule[0]),
    )
]


def classify(heading: str, but: str = "") -> str:
    """The domain of a heading, `dates` for one about dates, `general` where no keyword stands in it.

    `but`: a domain that it cannot be.
    """
    words = _words(heading)
    spaced = f" {' '.join(words)} "
    return next((domain for rule, domain in _RULES if domain != but and f" {' '.join(rule)} " in spaced), GENERAL)


def slug(text: str) -> str:
    """A file name (without `.md`) for any heading: never empty, never reserved, at most MAX_NAME characters."""
    name = _plain(text)
    if not name:
        from hashlib import sha256

        return f"note-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return f"note-{name}" if _is_reserved(name) else name


def unique(name: str, taken: Container[str]) -> str:
    """The slug itself, or the first of `name-2`, `name-3` … that is free.

    Args:
        name: a slug.
        taken: names (without `.md`) of the same folder as `layout.fold` gives them. An archive takes its old name
            too, so that it can be restored.
    """
    candidate, number = name, 1
    while fold(candidate) in taken or fold(f"{candidate}{ARCHIVED}") in taken:
        number += 1
        ending = f"-{number}"
        candidate = _cut(name, MAX_NAME - len(ending)) + ending
    return candidate


def domain_path(text: str) -> str:
    """A domain as given to a command, slugified segment by segment: `Business/SEO` → `business/seo`.

    Raises BadData for what names no folder below `domains/`.
    """
    segments = text.removesuffix("/").split("/")
    if len(segments) > MAX_DEPTH:
        raise _bad_domain(text, f"is deeper than {MAX_DEPTH} levels")
    names = []
    for segment in segments:
        name = _plain(segment)
        if not name or segment.startswith("."):
            raise _bad_domain(text, "has a part that is empty, begins with a dot, or has no letter or digit")
        if _is_reserved(name):
            raise _bad_domain(text, f"has the reserved name {segment!r} in it")
        names.append(name)
    return "/".join(names)


def agent_id(text: str) -> str:
    """The id of an agent, checked: small letters, digits and `. _ -`, at most MAX_NAME. Raises Usage."""
    good = (
        0 < len(text) <= MAX_NAME
        and text == unicodedata.normalize("NFC", text.lower())
        and all(_is_kept(character) or character in _AGENT_MARKS for character in text)
        and _is_kept(text[0])
        and not _is_mark(text[0])
        and not any(map(_is_invisible, text))
        and not text.endswith(".")
        and ".." not in text
        and not _is_reserved(text.partition(".")[0])
    )
    if not good:
        raise Usage(f"{text!r} is no agent id", hint="Use small letters, digits, '-', '_' and '.', e.g. --agent juno.")
    return text


def _bad_domain(text: str, why: str) -> BadData:
    return BadData(f"the domain {text!r} {why}", hint="Name a domain such as business or business/seo.")


def _plain(text: str) -> str:
    """The letters, marks and digits of a text, other runs as one hyphen; "" where there are none.

    Own code, since python-slugify drops the combining marks: of Thai and Hindi words it leaves consonants only.
    """
    composed = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text[:_MAX_READ]).lower())
    parts = [""]
    for character in composed:
        if _is_invisible(character) or (_is_mark(character) and not parts[-1]):
            continue  # a mark on a symbol (the selector of ❤️, the keycap of 1️⃣) would be the whole name
        if _is_kept(character):
            parts[-1] += character
        elif parts[-1]:
            parts.append("")
    return _cut("-".join(part for part in parts if part), MAX_NAME)


def _cut(name: str, limit: int) -> str:
    """At most `limit` characters, not between a letter and its marks, without a hyphen at the end."""
    end = min(limit, len(name))
    while 0 < end < len(name) and _is_mark(name[end]):
        end -= 1
    return name[:end].rstrip("-")


def _is_kept(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _is_invisible(character: str) -> bool:
    """Joiners, soft hyphens, variation selectors, the keycap frame: they leave no gap between two letters."""
    return unicodedata.category(character) in ("Cf", "Me") or "VARIATION SELECTOR" in unicodedata.name(character, "")


def _is_reserved(name: str) -> bool:
    return unicodedata.normalize("NFKC", name) in _RESERVED  # Windows takes COM¹ for COM1
