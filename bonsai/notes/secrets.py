"""Text that looks like a credential: found by the shape that its issuer gave it, told without being quoted."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from bonsai.notes.secret_shapes import RULES, SHORTEST, Rule

HIDDEN = "(secret)"  # what stands in its place wherever a text is shown; no YAML, no markdown
PIECE, OVERLAP = 1_000_000, 1000  # characters: a list of all words of a huge note would not fit into memory
SAMPLE = 8000  # bytes: with a NUL in them a file that is no note counts as binary, as git has it

_PLACEHOLDER = (
    "password|passwd|passphrase|pass|pwd|secret|token|key|user(?:name)?|admin|root|guest|none|null|true|false"
)
_FAKE = re.compile(
    r"example|placeholder|redacted|change.?me|your[_-]|my[_-]?(?:password|token|secret)|_here\b|x{6}|\.{3}"
)
_BLANK = re.compile(
    rf"[x*.•_#0-]+|[<\[{{(].*|[%$][a-z_{{(].*|.*(?:\$\{{|\{{\{{|…).*|.*[>\]}})]|{_PLACEHOLDER}|tbd|todo"
)
_DOCUMENTED = ("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",)  # the token that everybody shows what a JWT is with


def _by_hint(loose: bool) -> dict[str, list[int]]:
    """For each hint the rules to try, as their place in the table."""
    found: dict[str, list[int]] = {}
    for at, rule in enumerate(RULES):
        for hint in rule.hints if rule.loose is loose else ():
            found.setdefault(hint, []).append(at)
    return found


_IN_TEXT, _IN_WORDS = _by_hint(True), _by_hint(False)


class Secret(NamedTuple):
    """One finding. It holds nothing of the secret but at most its first four characters."""

    line: int  # 1-based
    kind: str  # what it looks like: `GitHub token`
    masked: str  # `ghp_…`
    fingerprint: str  # 12 hex digits, the same wherever and whenever it is found


class _Span(NamedTuple):
    start: int
    end: int
    kind: str


def find(text: str) -> list[Secret]:
    """Every credential in a text, in its order. Linear in time; a text without one costs some substring tests."""
    return _told(text, _spans(text))


def find_in(data: bytes) -> list[Secret]:
    """The same for the bytes of a file, whatever its encoding."""
    return find(_decoded(data)[0])


def without(data: bytes) -> tuple[bytes, tuple[Secret, ...]]:
    """The bytes with `(secret)` in the place of every credential, and what was found; the same object without any."""
    text, encoding = _decoded(data)
    spans = list(_spans(text))
    if not spans:
        return data, ()
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], HIDDEN, "\n" * text.count("\n", span.start, span.end)]
        at = span.end
    shown = "".join([*parts, text[at:]])
    return shown.encode(encoding, "surrogateescape"), tuple(_told(text, spans))


def is_text(data: bytes) -> bool:
    """Whether a file that is no note may hold text at all."""
    return b"\0" not in data[:SAMPLE]


def described(kind: str, value: str, line: int) -> Secret:
    """A finding without its secret."""
    from hashlib import sha256  # not at the top: OpenSSL takes longer to load than a recall

    digest = sha256(f"{kind}\n{value}".encode("utf-8", "surrogateescape")).hexdigest()
    shown = value[: min(4, len(value) // 3)]
    masked = "".join(char if char.isprintable() else "?" for char in shown) + "…"
    return Secret(line, kind, masked, digest[:12])


def _decoded(data: bytes) -> tuple[str, str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "utf-16"
    text = data.decode("utf-8", "surrogateescape")
    return (text.replace("\0", "") if "\0" in text else text), "utf-8"


def _told(text: str, spans: Iterable[_Span]) -> list[Secret]:
    found, line, at = [], 1, 0
    for span in spans:
        line += text.count("\n", at, span.start)
        at = span.start
        found.append(described(span.kind, text[span.start : span.end], line))
    return found


def _long_words(text: str) -> str:
    """The words that can hold a credential with a shape of its own: a tenth of a usual note."""
    pieces = (text[at : at + PIECE + OVERLAP] for at in range(0, len(text), PIECE))
    return "\n".join([word for piece in pieces for word in piece.split() if len(word) >= SHORTEST])


def _spans(text: str) -> Iterator[_Span]:
    """Where they stand, none inside another: the first rule that knows a place names it."""
    long, low = _long_words(text), text.lower()
    hints = [hint for hint in _IN_TEXT if hint in low]
    if long:
        hints += [hint for hint in _IN_WORDS if hint in long]
    if not hints:
        return
    rules = {at for hint in hints for at in (*_IN_TEXT.get(hint, ()), *_IN_WORDS.get(hint, ()))}
    found = [span for at in sorted(rules) for span in _of(text, RULES[at])]
    end = 0
    for span in sorted(found, key=lambda span: span.start):  # stable: of two at one place the earlier rule's
        if span.start >= end:
            end = span.end
            yield span


def _of(text: str, rule: Rule) -> Iterator[_Span]:
    for match in _pattern(rule.pattern).finditer(text):
        start, end = match.span(match.lastindex or 0)
        if rule.alone and start and (text[start - 1].isalnum() or text[start - 1] in "_-"):
            continue
        if not _is_placeholder(match, text[start:end], rule):
            yield _Span(start, end, rule.kind)


@cache
def _pattern(source: str) -> re.Pattern[str]:
    """Compiled when a text first needs it: all of them together would cost every command 20 ms."""
    return re.compile(source)


def _is_placeholder(match: re.Match[str], value: str, rule: Rule) -> bool:
    """Whether the text only shows where a credential would stand."""
    low = value.lower()
    if _FAKE.search(low) or value.endswith(_DOCUMENTED):
        return True
    if not rule.weak:
        return False
    user = match.groupdict().get("user")
    return user == value or (value.isdigit() and len(value) < 6) or bool(_BLANK.fullmatch(low))
