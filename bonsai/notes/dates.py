"""Relative dates made absolute: "yesterday", 上周五, "vor zwei Wochen" → 2026-03-14 and so on.

A note is read months later, when nobody knows which day "yesterday" was. Left alone is what is no date of an event:
code, quotations, block quotes, links, frontmatter, ranges ("between today and Friday", "the last 3 days") and habits
("every day, read today's note first"). Rather leave one relative than write a wrong date.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from bonsai.notes import date_signs, date_words, quoted
from bonsai.notes.date_signs import month, quarter, shifted
from bonsai.notes.date_words import ENGLISH, FRENCH, GERMAN, SPANISH, Language
from bonsai.notes.note import parse
from bonsai.notes.prose import lines

_ENGLISH = re.compile(date_words.pattern(ENGLISH), re.IGNORECASE)
_GERMAN = re.compile(date_words.pattern(GERMAN), re.IGNORECASE)
_FRENCH = re.compile(date_words.pattern(FRENCH), re.IGNORECASE)
_SPANISH = re.compile(date_words.pattern(SPANISH), re.IGNORECASE)
_WORDS = ((ENGLISH, _ENGLISH), (GERMAN, _GERMAN), (FRENCH, _FRENCH), (SPANISH, _SPANISH))

_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_TOP = 2000  # characters in which the line with the days of a topic is looked for
_STAMP = re.compile(r"^> ?Created: ?\d{4}-\d{2}-\d{2} ?\| ?Updated: ?(\d{4}-\d{2}-\d{2})", re.MULTILINE)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_BULLET = re.compile(r"[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]")
_CLAUSE = re.compile(r"[.;!?。；！？](?:[ \t\r\n]|$)|[。；！？]")
_HABIT = re.compile(
    r"\b(?:every|each|always|whenever|usually|jede[nrsm]?|immer|stets|chaque|toujours|cada|siempre)\b|每|总是|總是|始终|毎|いつも",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"[ \t]{0,4}(?:to|until|till|through|thru|bis|jusqu['’]à|à|au|hasta|[-–—~〜～/+&→]|至|到|から|まで)[ \t]{0,4}"
)
_BETWEEN = re.compile(r"\b(?:between|zwischen|entre)\b", re.IGNORECASE)
_AND = re.compile(r"[ \t]{0,4}(?:and|und|et|y|和|与|跟)[ \t]{0,4}")
_SPAN_BEFORE = re.compile(
    r"\b(?:over|during|for|within|throughout|past|in|of)[ \t]{1,4}(?:the[ \t]{1,4})?$|\bthe[ \t]{1,4}$", re.IGNORECASE
)
_DONE = re.compile(
    r"\b(?:built|done|made|took|ran|wrote|finished|completed|shipped|fixed|solved|delivered|moved|learned|paid|sold"
    r"|fertig|geschafft|erledigt|gebaut|hecho|terminado)\b",
    re.IGNORECASE,
)
_MORNING_BEFORE = re.compile(r"\b(?:guten|jeden|am|der|den|diesem|la|esta|cada|una|buena)[ \t]{1,4}$", re.IGNORECASE)
_FRENCH_HINT = re.compile(
    r"\b(?:le|la|les|un|une|et|est|ai|a|au|du|des|il|elle|nous|on|je|pas|avec|pour|été)\b|[àçêèé]", re.IGNORECASE
)
_GERMAN_HINT = re.compile(r"\b(?:der|die|das|und|ist|nicht|ich|wir|mit|für|ein|eine)\b", re.IGNORECASE)
_ENDS = ("-", "_", "/", "=", "@", "#", "\\")


MOST = 200  # phrases of a row: one with more is no prose
AROUND = 100  # characters before and after a phrase that tell what it means


class Phrase(NamedTuple):
    """A relative date: its 1-based line, its span in the text, the words, and what they say in absolute terms."""

    line: int
    start: int
    end: int
    text: str
    absolute: str


def find(text: str, today: date, written: Mapping[int, date] | None = None) -> list[Phrase]:
    """The relative dates of a note, frontmatter left out, each as of its own day.

    The day is that of the entry where one is named: at the start of the bullet or line (`- 2026-03-09: …`), else in the
    heading above (`### F003: … (2026-02-11)`), else the day on which the line (1-based) was `written`, else `today`.
    """
    if not any(pattern.search(text) for _, pattern in _WORDS) and not date_signs.matches(text):
        return []  # most notes: the parser would take ten times as long to tell
    body = _body(text)
    days, place = _Days(), body
    found: list[Phrase] = []
    first = text.count("\n", 0, body) + 1  # frontmatter has no other line ends
    rows = zip(lines(text[body:]), lines(quoted.masked(text[body:])), strict=True)
    for number, (row, own) in enumerate(rows, start=first):
        if not row.strip() or own.strip("\0\r\n"):
            day = days.of(row) or (written or {}).get(number, today)
            for start, end, absolute in _in_row(row, own, day):
                found.append(Phrase(number, place + start, place + end, row[start:end], absolute))
        place += len(row)
    return found


def _body(text: str) -> int:
    """Where the text of the writer begins, behind the frontmatter, be that broken."""
    if not text.startswith(("---", "\ufeff")):
        return 0
    data = text.encode("utf-8", "surrogatepass")
    return len(data[: parse(data).prose_start].decode("utf-8", "surrogatepass"))


def stamped(text: str) -> date | None:
    """The day of the line that a topic has on top, `> Created: 2026-01-01 | Updated: 2026-02-03`; None without one."""
    found = _STAMP.search(text[:_TOP])
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def absolute(text: str, today: date) -> tuple[str, list[Phrase]]:
    """The text with every relative date made absolute, and what was changed."""
    found = find(text, today)
    return rewritten(text, found), found


def rewritten(text: str, found: Sequence[Phrase]) -> str:
    """The text with what each phrase says in its place."""
    parts, done = [], 0
    for phrase in found:
        parts += [text[done : phrase.start], phrase.absolute]
        done = phrase.end
    return "".join([*parts, text[done:]])


class _Days:
    """Which day a row says it is of, row after row; None where nothing says so."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, date | None]] = [(0, None)]
        self._entry: date | None = None

    def of(self, row: str) -> date | None:
        heading = _HEADING.match(row)
        if heading:
            level = len(heading[1])
            while len(self._headings) > 1 and self._headings[-1][0] >= level:
                self._headings.pop()
            named = [day for day in map(_day, _ISO.finditer(row)) if day]
            self._headings.append((level, named[-1] if named else self._headings[-1][1]))
            self._entry = None
        elif not row.strip():
            self._entry = None
        elif _BULLET.match(row) or self._entry is None:
            lead = _ISO.search(row[:40])
            named_day = _day(lead) if lead and not re.search(r"\w", _BULLET.sub("", row[: lead.start()])) else None
            if named_day or not row.startswith((" ", "\t")):
                self._entry = named_day
        return self._entry or self._headings[-1][1]


def _day(found: re.Match[str]) -> date | None:
    try:
        return date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def _in_row(row: str, hidden: str, today: date) -> Iterator[tuple[int, int, str]]:
    """(start, end, absolute) of what is to be changed in a row; `hidden` is the row with blanks for what is quoted."""
    found: list[tuple[int, int, str | None]] = []
    taken = 0
    candidates = sorted([*_words(hidden, today), *_signs(hidden, today)], key=lambda item: (item[0], -item[1]))
    for start, end, written in candidates:
        if start >= taken:
            found.append((start, end, written))
            taken = end
    for at, (start, end, written) in enumerate(found if len(found) <= MOST else ()):
        near = row[max(0, start - AROUND) : end + AROUND]
        if written is None or written in near or _is_habit(hidden, start) or _is_joined(hidden, found, at):
            continue
        yield start, end, _spaced(row, start, end, written)


def _words(row: str, today: date) -> Iterator[tuple[int, int, str | None]]:
    for language, pattern in _WORDS:
        for match in pattern.finditer(row):
            start, end = match.span()
            named = row[:start].endswith(_ENDS) or row[end:].startswith(_ENDS)  # part of an option or a file name
            named = named or (row[end : end + 1] == "." and row[end + 1 : end + 2].isalnum())
            odd = named or _may_mean_else(language, match, row)
            written = None if odd else _resolved(language, match, today)
            yield start, end, written


def _signs(row: str, today: date) -> Iterator[tuple[int, int, str | None]]:
    japanese = date_signs.is_japanese(row)
    for match in date_signs.matches(row):
        try:
            yield *match.span(), date_signs.absolute(match, japanese, today)
        except (ValueError, OverflowError):
            yield *match.span(), None


def _may_mean_else(language: Language, match: re.Match[str], row: str) -> bool:
    """Whether the words are likely no date: a stretch of time, a duration, the word of another language."""
    said = match[0].lower()
    before, after = row[max(0, match.start() - AROUND) : match.start()], row[match.end() : match.end() + AROUND]
    if language is ENGLISH:
        if match.lastgroup == "relative" and said.startswith(("last", "next")) and _SPAN_BEFORE.search(before):
            return True  # `over the last week`
        if after.lower().startswith(" of ") or before.lower().endswith("half "):  # `the last week of March`
            return True
    if match.lastgroup == "ahead" and said.startswith(("in ", "en ")):
        return bool(_DONE.search(_clause(row, match.start())))  # `built in 3 days`
    if said == "hier":
        return not _FRENCH_HINT.search(before + " " + after) or bool(_GERMAN_HINT.search(before + " " + after))
    if said in ("morgen", "mañana"):
        if (
            match[0][0].isupper()
            and not before.strip(" -*+\t").endswith((".", "!", "?", ":", ";"))
            and before.strip(" -*+\t")
        ):
            return True  # `der Morgen`, a noun
        return bool(_MORNING_BEFORE.search(before))
    return False


def _resolved(language: Language, match: re.Match[str], today: date) -> str | None:
    """What the words say as of a day, None where the calendar has no such day."""
    said = " ".join(match[0].lower().split())
    try:
        if match.lastgroup == "day":
            return (today + timedelta(language.days[said])).isoformat()
        if match.lastgroup == "part":
            offset, part = language.parts[said]
            return language.part.format((today + timedelta(offset)).isoformat(), part)
        words = re.findall(r"[\w'’-]+", said)
        if match.lastgroup == "relative":
            return _relative(language, words, today)
        return _counted(language, words, -1 if match.lastgroup == "ago" else 1, today)
    except (ValueError, OverflowError):
        return None


def _counted(language: Language, words: list[str], sign: int, today: date) -> str | None:
    unit = next(language.units[word] for word in words if word in language.units)
    digits = next((int(word) for word in words if word.isdigit()), None)
    count = (
        digits
        if digits is not None
        else next(number for word in words if (number := language.numbers.get(word)) is not None)
    )
    if unit == "year":
        return str(date(today.year + sign * count, 1, 1).year)
    if unit == "month":
        return shifted(today, sign * count).isoformat()
    return (today + timedelta(sign * count * {"day": 1, "week": 7, "fortnight": 14}[unit])).isoformat()


def _relative(language: Language, words: list[str], today: date) -> str | None:
    shift_words = [word for word in words if word in language.shifts]
    shift = max((language.shifts[word] for word in shift_words), key=abs)
    weekday = next((language.weekdays[word] for word in words if word in language.weekdays), None)
    unit = next(
        (found for word in words if (found := language.units.get(word.removesuffix("-ci").removeprefix("l'")))), None
    )
    monday = today - timedelta(today.weekday())
    if weekday is not None and unit == "week":
        return (monday + timedelta(7 * shift + weekday)).isoformat()
    if weekday is not None:
        if shift > 0 and not language.coming.intersection(shift_words):
            return (monday + timedelta(7 * shift + weekday)).isoformat()
        ahead = (weekday - today.weekday()) % 7
        if shift < 0:
            return (today - timedelta((today.weekday() - weekday) % 7 or 7)).isoformat()
        return (today + timedelta(ahead or (7 if shift > 0 else 0))).isoformat()
    if unit is None:
        return _named_month(language, words, shift, today)
    if unit == "week":
        return language.week.format((monday + timedelta(7 * shift)).isoformat())
    if unit == "weekend":
        return language.weekend.format((monday + timedelta(7 * shift + 5)).isoformat())
    if unit == "month":
        return month(today, shift)
    return quarter(today, shift) if unit == "quarter" else str(date(today.year + shift, 1, 1).year)


def _named_month(language: Language, words: list[str], shift: int, today: date) -> str | None:
    names = language.months or {}
    number = next((names[word] for word in words if word in names), None)
    if number is None:
        return None
    year = today.year
    if shift < 0 and number >= today.month:
        year -= 1
    if shift > 0 and number <= today.month:
        year += 1
    return date(year, number, 1).isoformat()[: len("2026-03")]


def _is_habit(row: str, at: int) -> bool:
    """Whether the clause around a phrase says what is done again and again."""
    return bool(_HABIT.search(_clause(row, at)))


def _clause(row: str, at: int) -> str:
    """The clause around a place, as far as it is near: a row may be a megabyte."""
    first, last = max(0, at - AROUND), min(len(row), at + AROUND)
    start = max((found.end() for found in _CLAUSE.finditer(row, first, at)), default=first)
    end = next((found.start() for found in _CLAUSE.finditer(row, at, last)), last)
    return row[start:end]


def _is_joined(row: str, found: list[tuple[int, int, str | None]], at: int) -> bool:
    """Whether a phrase is one end of a range, or one of a pair (`today + yesterday`)."""
    for first, second in ((at - 1, at), (at, at + 1)):
        if first >= 0 and second < len(found):
            between = row[found[first][1] : found[second][0]]
            if _JOINT.fullmatch(between):
                return True
            if _AND.fullmatch(between) and _BETWEEN.search(row[max(0, found[first][0] - AROUND) : found[first][0]]):
                return True
    return bool(
        _RANGE_AFTER.match(row, found[at][1]) or _RANGE_BEFORE.search(row[max(0, found[at][0] - 40) : found[at][0]])
    )


_DATE_LIKE = r"(?:\d{4}-\d{2}|\d{1,2}[./:]\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|周[一二三四五六日天])"
_RANGE_AFTER = re.compile(
    rf"[ \t]{{0,4}}(?:to|until|till|through|bis|[-–—~〜～]|至|到)[ \t]{{0,4}}{_DATE_LIKE}", re.IGNORECASE
)
_RANGE_BEFORE = re.compile(
    rf"{_DATE_LIKE}[\w:.-]{{0,8}}[ \t]{{0,4}}(?:to|until|till|through|bis|[-–—~〜～]|至|到)[ \t]{{0,4}}$", re.IGNORECASE
)


def _spaced(row: str, start: int, end: int, written: str) -> str:
    """With a space where digits would touch: `昨天3点` → `2026-03-14 3点`."""
    before = " " if row[start - 1 : start].isdigit() and start else ""
    after = " " if row[end : end + 1].isdigit() and written[-1].isdigit() else ""
    return before + written + after
