"""Text as it can be printed and written, and how much of it an agent reads."""

import re
import unicodedata

MAX_LEAD = 250  # characters

_CJK = re.compile(
    "[\u1100-\u11ff\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))")
_COMMENT_MARK = re.compile(r"<!--|-->")
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the other surrogates stand for bytes that are no UTF-8


def encoded(text: str) -> bytes:
    """The text as UTF-8, bytes that were none as they were; half a surrogate pair is U+FFFD.

    JSON can say half a pair (a model's answer that was cut inside an emoji), and nothing can write it.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _HALF.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def count_tokens(text: str) -> int:
    """An estimate: four characters make a token, a CJK character (kana, han, hangul) makes one."""
    if text.isascii():
        return len(text) // 4
    wide = sum(map(len, _CJK.findall(text)))
    return wide + (len(text) - wide) // 4


def counted(number: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def clean(text: str, limit: int = MAX_LEAD) -> str:
    """One line that is safe to print anywhere: no control, escape, zero-width or bidi character, no HTML comment
    mark, white space collapsed, at most `limit` characters.
    """
    text = text[: limit * 8]
    if not text.isprintable():
        text = without_escapes(text)
        text = "".join([char if char.isprintable() else _instead(char) for char in text])
    if "<!--" in text or "-->" in text:  # a space in between, lest the halves of two marks make a new one
        text = _COMMENT_MARK.sub(" ", text)
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def without_escapes(text: str) -> str:
    """The text without ANSI sequences, whose letters would otherwise stick to the words (`[31mred`)."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _instead(char: str) -> str:
    return " " if unicodedata.category(char) in ("Cc", "Zs", "Zl", "Zp") and char != "\0" else ""
