"""What a daily note lacks so that somebody could do it again; and the facts that stand in it."""

import re
from dataclasses import dataclass

from bonsai.facts.extract import Metadata, extract
from bonsai.facts.score import IMPORTANCE
from bonsai.facts.wording import weight
from bonsai.notes.note import parse
from bonsai.notes.prose import lines

MOST = 50  # warnings of one file, facts of one note
_SHORT, _LONG = 12, 600  # characters of an entry that is taken for a fact
_TOOL = re.compile(
    r"\b(?:using|used|use|try|tried|installed|install|set up|switched to|found|discovered|integrated|tested|with the"
    r"|the tool|model|library|framework|app)[ \t]+(?:the[ \t]+)?"
    r"([A-Z][\w.+#]{1,30}(?:-[A-Za-z0-9]{1,20}){0,3}(?:[ ][A-Z][\w.+#-]{1,30})?)"
)
_NAMED = re.compile(r"\b((?:[A-Z][a-z]{0,20}[A-Z][\w]{0,20}|[A-Z][\w]{0,20}-[A-Z][\w]{1,20})(?:[ ]v?\d[\w.]{0,10})?)\b")
_NOT_TOOLS = frozenset({"i", "we", "the", "it", "today", "tomorrow", "user", "agent", "todo", "monday", "friday"})
_ACTION = re.compile(
    r"\b(install(?:ed|ing)?|set ?up|configur(?:e|ed|ing)|deploy(?:ed|ing)?|download(?:ed|ing)?|clon(?:e|ed|ing)|"
    r"upgrad(?:e|ed|ing)|migrat(?:e|ed|ing)|compil(?:e|ed|ing))\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|agreed to|chose|settled on|going with|we['’]ll go with)\b", re.IGNORECASE
)
_NEXT = re.compile(
    r"\b(?:next step|next:|todo|to do|to-do|then we|will \w+|needs? to|must|by "
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|deadline|follow.?up|action:|plan:|tomorrow|next week)|\[ \]",
    re.IGNORECASE,
)
_BASE = {"installed": "install", "installing": "install", "deployed": "deploy", "deploying": "deploy"}
URLS, COMMANDS, STEPS = (
    "Add URLs for mentioned tools/services",
    "Include command examples for setup/installation steps",
    "Document next steps after decisions",
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What is missing in a note, and what to do about it."""

    warnings: list[str]
    suggestions: list[str]


@dataclass(frozen=True, slots=True)
class Found:
    """A fact in a daily note."""

    text: str
    importance: float
    metadata: Metadata


def check(text: str) -> Checked:
    """Tools without a URL, actions without a command, decisions without a next step; an entry is a block of lines."""
    warnings: dict[str, None] = {}
    suggestions: dict[str, None] = {}
    blocks = _blocks(text)
    for at, block in enumerate(blocks):
        near = "\n".join(blocks[at : at + 2])
        found = extract(near)
        if not found.urls:
            for tool in _tools(block):
                warnings.setdefault(f"Tool '{tool}' mentioned without URL/documentation link")
                suggestions.setdefault(URLS)
        if not found.commands:
            for match in _ACTION.finditer(block):
                word = match[1].casefold().replace(" ", "")
                warnings.setdefault(f"Action '{_BASE.get(word, word)}' mentioned without command example")
                suggestions.setdefault(COMMANDS)
        if _DECISION.search(block) and not _NEXT.search(near):
            words = " ".join(block.split())
            warnings.setdefault(f"Decision without next step: '{words[:60].rstrip()}{'…' if len(words) > 60 else ''}'")
            suggestions.setdefault(STEPS)
    order = [item for item in (URLS, COMMANDS, STEPS) if item in suggestions]
    return Checked(list(warnings)[:MOST], order)


def _tools(block: str) -> list[str]:
    names = [match[1] for match in _TOOL.finditer(block)] + [match[1] for match in _NAMED.finditer(block)]
    kept = [name.strip(".") for name in names if name.casefold() not in _NOT_TOOLS]
    return [name for name in dict.fromkeys(kept) if not any(name != other and name in other for other in kept)]


def entries(text: str) -> list[Found]:
    """The facts of a daily note: its bullets and paragraphs that say something, without headings and open tasks."""
    found: dict[str, Found] = {}
    for block in _blocks(text):
        said = " ".join(block.split())
        if said.startswith(("[ ]", "[x]", "[X]")):
            said = said[3:].strip()
        value = weight(said)
        if not _SHORT <= len(said) <= _LONG or value < 0.3 or said.endswith(("?", ":")):
            continue
        important = min(0.9, max(0.4, IMPORTANCE + 0.1 * (value - 1)))
        found.setdefault(said, Found(said, round(important, 2), extract(block)))
    return list(found.values())[:MOST]


def _blocks(text: str) -> list[str]:
    """The entries of a note: a bullet with what is indented below it, or a paragraph."""
    found: list[list[str]] = []
    fence = opened = False
    for row in lines(parse(text.encode("utf-8", "replace")).text):
        bare = row.strip()
        if bare.startswith(("```", "~~~")):
            fence = not fence
            if found and opened:
                found[-1].append(bare)
            continue
        if not fence and (not bare or bare.startswith("#")):
            opened = False
            continue
        bullet = not fence and row.lstrip()[:2] in ("- ", "* ", "+ ")
        if opened and found and not (bullet and not row.startswith((" ", "\t"))):
            found[-1].append(bare)
        else:
            found.append([bare[2:].strip() if bullet else bare])
            opened = True
    return ["\n".join(block) for block in found]
