"""Relative dates in Chinese and Japanese, which stand between other characters without a space."""

import re
from calendar import monthrange
from datetime import date, timedelta

DAYS = {
    **dict.fromkeys(("大前天",), -3),
    **dict.fromkeys(("前天", "前日", "一昨日", "おととい"), -2),
    **dict.fromkeys(("昨天", "昨日", "きのう"), -1),
    **dict.fromkeys(("今天", "今日", "きょう"), 0),
    **dict.fromkeys(("明天", "明日", "あした"), 1),
    **dict.fromkeys(("后天", "後天", "明後日", "あさって"), 2),
    **dict.fromkeys(("大后天", "大後天"), 3),
}
PARTS = {
    **dict.fromkeys(("今早", "今晨"), (0, "早上")),
    **dict.fromkeys(("今晚",), (0, "晚上")),
    **dict.fromkeys(("昨晚", "昨夜"), (-1, "晚上")),
    **dict.fromkeys(("明早",), (1, "早上")),
    **dict.fromkeys(("明晚",), (1, "晚上")),
    **dict.fromkeys(("今朝",), (0, "の朝")),
    **dict.fromkeys(("今晩", "今夜"), (0, "の夜")),
    **dict.fromkeys(("昨晩",), (-1, "の夜")),
}
SHIFTS = {
    **dict.fromkeys(("上上", "先々"), -2),
    **dict.fromkeys(("上", "先"), -1),
    **dict.fromkeys(("这", "這", "本", "今"), 0),
    **dict.fromkeys(("下", "来", "來"), 1),
    **dict.fromkeys(("下下", "再来"), 2),
}
YEARS = {
    **dict.fromkeys(("前年", "一昨年"), -2),
    **dict.fromkeys(("去年", "昨年"), -1),
    "今年": 0,
    **dict.fromkeys(("明年", "来年", "來年"), 1),
    **dict.fromkeys(("后年", "後年", "再来年"), 2),
}
_WEEKDAYS = {sign: at for at, sign in enumerate("一二三四五六日")} | {"天": 6}
_JAPANESE_WEEKDAYS = {sign: at for at, sign in enumerate("月火水木金土日")}
_DIGITS = {sign: at for at, sign in enumerate("零一二三四五六七八九")} | {"两": 2, "兩": 2}

_SHIFT = "(?:上上|下下|先々|再来|上|下|这|這|本|先|今|来|來)"
_PATTERN = re.compile(
    "(?P<part>今早|今晨|今晚|昨晚|昨夜|明早|明晚|今朝|今晩|今夜|昨晩)"
    "|(?P<day>大前天|大后天|大後天|(?<![以之从目])前天(?!天)|前日(?!付)|一昨日|昨天|昨日|今天|今日(?!头条|頭條)"
    "|明天|明日(?!方舟)|明後日|(?<!先)后天|(?<!先)後天|おととい|きのう|きょう|あした|あさって)"
    f"|(?P<week>{_SHIFT}(?:个|個)?(?:周|週|星期|礼拜|禮拜)(?![期年边邊围圍报刊])"
    "(?:末|の?[月火水木金土日]曜日?|[一二三四五六](?![个個次场場位条件])|日(?![程志报報常期])|天(?![气氣天]))?)"
    f"|(?P<month>(?<![海晚早年])(?:上上|下下|上|下|这|這|本)(?:个|個)?月(?:\\d{{1,2}}[日号號])?|(?:先々|再来|先|今|来)月(?:\\d{{1,2}}日)?)"
    "|(?P<year>(?:一昨年|再来年|前年|去年|昨年|今年|明年|来年|來年|后年|後年)(?:\\d{1,2}月(?:\\d{1,2}[日号號])?)?)"
    "|(?P<quarter>(?:上|本|这|這|下)(?:个|個)?季度)"
    "|(?P<ago>(?<![\\d第几幾数數月年近~～至到\\-.])(?<![\\d一二两兩三四五六七八九十]、)(?:\\d{1,2}|[一二两兩三四五六七八九十]{1,3})"
    "(?:天|日|周|週間|週|个星期|個星期|星期|个月|個月|ヶ月|か月|年)(?:之|以)?[前后後])"
    "|(?P<half>(?<![一二两兩三四五六七八九十年])半年[前后後])"
)
_HAN = re.compile("[\u3400-\u9fff]")
_MAY_PRECEDE = frozenset("在于於将將约約是们們我你他她它会會")
_KANA = re.compile("[\u3041-\u30ff]")


def is_japanese(row: str) -> bool:
    """Whether kana stand in a row."""
    return bool(_KANA.search(row))


def absolute(found: re.Match[str], japanese: bool, today: date) -> str | None:
    """The absolute form of what `matches` found, None where it may mean something else."""
    text, kind = found[0], found.lastgroup
    if kind == "day":
        return _day(today, DAYS[text])
    if kind == "part":
        offset, part = PARTS[text]
        return f"{_day(today, offset)}{part}"
    if kind == "week":
        return _week(text, today, japanese)
    if kind == "month":
        return _month(text, today)
    if kind == "year":
        return _year(text, today)
    if kind == "quarter":
        return quarter(today, SHIFTS[text[0]])
    if kind == "half":
        return month(today, -6 if text[-1] == "前" else 6)
    before = found.string[max(0, found.start() - 1) : found.start()]
    if text[-1] in "后後" and _HAN.match(before) and before not in _MAY_PRECEDE:
        return None  # `判断两周后失效`: two weeks after the judgement, whenever that is
    return _ago(text, today, japanese)


def matches(row: str) -> "list[re.Match[str]]":
    """Where relative dates stand in a row."""
    return list(_PATTERN.finditer(row))


def _day(today: date, offset: int) -> str:
    return (today + timedelta(offset)).isoformat()


def _shift(text: str) -> int:
    return SHIFTS[text[:2]] if text[:2] in SHIFTS else SHIFTS[text[0]]


def _week(text: str, today: date, japanese: bool) -> str:
    monday = today - timedelta(today.weekday()) + timedelta(7 * _shift(text))
    if text[-1] == "末":
        return f"{_day(monday, 5)}{'の週末' if japanese else '周末'}"
    if weekday := re.search("([月火水木金土日])曜", text):
        return _day(monday, _JAPANESE_WEEKDAYS[weekday[1]])
    if text[-1] in _WEEKDAYS:
        return _day(monday, _WEEKDAYS[text[-1]])
    return f"{monday.isoformat()}{'の週' if japanese else '当周'}"


def _month(text: str, today: date) -> str | None:
    found = re.search(r"\d{1,2}", text)
    base = month(today, _shift(text))
    return _valid(base, found[0] if found else "")


def _year(text: str, today: date) -> str | None:
    name = next(word for word in sorted(YEARS, key=len, reverse=True) if text.startswith(word))
    year = date(today.year + YEARS[name], 1, 1).year  # ValueError where the calendar ends
    numbers = re.findall(r"\d{1,2}", text[len(name) :])
    if not numbers:
        return f"{year}年"
    if not 1 <= int(numbers[0]) <= 12:
        return None
    return _valid(f"{year}-{int(numbers[0]):02}", numbers[1] if len(numbers) > 1 else "")


def _valid(base: str, day: str) -> str | None:
    if not day:
        return base
    year, number = map(int, base.split("-"))
    return f"{base}-{int(day):02}" if 1 <= int(day) <= monthrange(year, number)[1] else None


def _ago(text: str, today: date, japanese: bool) -> str | None:
    count = _number(text)
    sign = -1 if text[-1] == "前" else 1
    if "月" in text:
        return shifted(today, sign * count).isoformat()
    if "年" in text:
        return f"{date(today.year + sign * count, 1, 1).year}年"
    if "周" in text or "週" in text or "星期" in text:
        return _day(today, 7 * sign * count)
    if "日" in text and not japanese:
        return None  # `15日前完成`: before the 15th
    return _day(today, sign * count)


def _number(text: str) -> int:
    digits = re.match(r"\d{1,2}", text)
    if digits:
        return int(digits[0])
    signs = [sign for sign in text if sign in _DIGITS or sign == "十"]
    if "十" not in signs:
        return _DIGITS[signs[0]]
    tens, _, ones = "".join(signs).partition("十")
    return 10 * _DIGITS.get(tens, 1) + _DIGITS.get(ones, 0)


def shifted(today: date, months: int) -> date:
    """The same day some months on, the last one where that month is shorter."""
    years, index = divmod(today.month - 1 + months, 12)
    return date(today.year + years, index + 1, min(today.day, monthrange(today.year + years, index + 1)[1]))


def month(today: date, offset: int) -> str:
    """A month from this one on, `2026-02`."""
    return shifted(today, offset).isoformat()[: len("2026-02")]


def quarter(today: date, offset: int) -> str:
    """A quarter from this one on, `2026-Q1`."""
    moved = shifted(today, 3 * offset)
    return f"{moved.year:04}-Q{(moved.month + 2) // 3}"
