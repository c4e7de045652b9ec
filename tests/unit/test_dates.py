"""Relative dates: what each phrase says on a given day, and what is no date of an event and stays."""

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonsai.notes.dates import absolute, find

WEDNESDAY = date(2026, 3, 18)

ENGLISH = [
    ("Met Kim yesterday.", "Met Kim 2026-03-17."),
    ("Yesterday the oven broke.", "2026-03-17 the oven broke."),
    ("Today we signed.", "2026-03-18 we signed."),
    ("The inspector comes tomorrow.", "The inspector comes 2026-03-19."),
    ("The day before yesterday Lee called.", "2026-03-16 Lee called."),
    ("They move in the day after tomorrow.", "They move in 2026-03-20."),
    ("The last Friday? No: last Friday.", "The last Friday? No: 2026-03-13."),
    ("Paid last Monday.", "Paid 2026-03-16."),
    ("Paid last Thursday.", "Paid 2026-03-12."),
    ("It is due next Friday.", "It is due 2026-03-27."),
    ("Next Monday is the fair.", "2026-03-23 is the fair."),
    ("Dinner this Friday.", "Dinner 2026-03-20."),
    ("Back this coming Monday.", "Back 2026-03-23."),
    ("Sam left on Tuesday last week.", "Sam left 2026-03-10."),
    ("Review: Friday next week.", "Review: 2026-03-27."),
    ("Demo last week Thursday.", "Demo 2026-03-12."),
    ("We moved last week.", "We moved the week of 2026-03-09."),
    ("Holiday next week.", "Holiday the week of 2026-03-23."),
    ("Inventory this week.", "Inventory the week of 2026-03-16."),
    ("Launch the week after next.", "Launch the week of 2026-03-30."),
    ("Sick the week before last.", "Sick the week of 2026-03-02."),
    ("Rain last weekend.", "Rain the weekend of 2026-03-14."),
    ("Market this weekend.", "Market the weekend of 2026-03-21."),
    ("Rent went up last month.", "Rent went up 2026-02."),
    ("The contract ends next month.", "The contract ends 2026-04."),
    ("Hired last year.", "Hired 2025."),
    ("Elsa starts school next year.", "Elsa starts school 2027."),
    ("Best numbers last quarter.", "Best numbers 2025-Q4."),
    ("Called 3 days ago.", "Called 2026-03-15."),
    ("Called two weeks ago.", "Called 2026-03-04."),
    ("Called a week ago.", "Called 2026-03-11."),
    ("Broken a month ago.", "Broken 2026-02-18."),
    ("Founded 12 years ago.", "Founded 2014."),
    ("The ferry leaves in three days.", "The ferry leaves 2026-03-21."),
    ("Delivery in 2 weeks.", "Delivery 2026-04-01."),
    ("Two weeks from now we close.", "2026-04-01 we close."),
    ("The shop opens in a month.", "The shop opens 2026-04-18."),
    ("Kim said so this morning.", "Kim said so the morning of 2026-03-18."),
    ("The alarm went off last night.", "The alarm went off the night of 2026-03-17."),
    ("Concert tonight.", "Concert the evening of 2026-03-18."),
    ("Sat down with Lee yesterday evening.", "Sat down with Lee the evening of 2026-03-17."),
    ("Flight tomorrow morning.", "Flight the morning of 2026-03-19."),
    ("Elected last March.", "Elected 2025-03."),
    ("A fortnight ago it worked.", "2026-03-04 it worked."),
]
CHINESE = [
    ("昨天去了银行。", "2026-03-17去了银行。"),
    ("今天签了合同。", "2026-03-18签了合同。"),
    ("明天来检查。", "2026-03-19来检查。"),
    ("前天打过电话。", "2026-03-16打过电话。"),
    ("后天交货。", "2026-03-20交货。"),
    ("大前天下雨。", "2026-03-15下雨。"),
    ("大后天搬家。", "2026-03-21搬家。"),
    ("昨日已付款。", "2026-03-17已付款。"),
    ("上周搬了办公室。", "2026-03-09当周搬了办公室。"),
    ("下周放假。", "2026-03-23当周放假。"),
    ("本周盘点。", "2026-03-16当周盘点。"),
    ("上周五开会。", "2026-03-13开会。"),
    ("下周三交付。", "2026-03-25交付。"),
    ("这周日有市集。", "2026-03-22有市集。"),
    ("上个星期二他走了。", "2026-03-10他走了。"),
    ("下星期一开始。", "2026-03-23开始。"),
    ("上上周生病。", "2026-03-02当周生病。"),
    ("下下周上线。", "2026-03-30当周上线。"),
    ("上周末下雨。", "2026-03-14周末下雨。"),
    ("上个月房租涨了。", "2026-02房租涨了。"),
    ("下个月到期。", "2026-04到期。"),
    ("上个月15号付款。", "2026-02-15付款。"),
    ("下月3日出差。", "2026-04-03出差。"),
    ("去年入职。", "2025年入职。"),
    ("明年上学。", "2027年上学。"),
    ("去年12月签约。", "2025-12签约。"),
    ("去年12月25日签约。", "2025-12-25签约。"),
    ("3天前联系过。", "2026-03-15联系过。"),
    ("两周前联系过。", "2026-03-04联系过。"),
    ("三个月前坏了。", "2025-12-18坏了。"),
    ("五年前成立。", "2021年成立。"),
    ("三天后开船。", "2026-03-21开船。"),
    ("两周后到货。", "2026-04-01到货。"),
    ("我们三天后出发，五天后回来。", "我们2026-03-21出发，2026-03-23回来。"),
    ("昨晚报警。", "2026-03-17晚上报警。"),
    ("今早他说的。", "2026-03-18早上他说的。"),
    ("明天3点开会。", "2026-03-19 3点开会。"),
    ("上週五開會。", "2026-03-13開會。"),
    ("後天交貨。", "2026-03-20交貨。"),
    ("上季度最好。", "2025-Q4最好。"),
    ("上周一个客户来过。", "2026-03-09当周一个客户来过。"),
]
GERMAN = [
    ("Gestern war die Prüferin da.", "2026-03-17 war die Prüferin da."),
    ("Vorgestern kam Post.", "2026-03-16 kam Post."),
    ("Heute unterschrieben.", "2026-03-18 unterschrieben."),
    ("Lea kommt morgen.", "Lea kommt 2026-03-19."),
    ("Morgen kommt der Techniker.", "2026-03-19 kommt der Techniker."),
    ("Übermorgen ist Markt.", "2026-03-20 ist Markt."),
    ("Letzte Woche umgezogen.", "Woche vom 2026-03-09 umgezogen."),
    ("Urlaub nächste Woche.", "Urlaub Woche vom 2026-03-23."),
    ("Inventur diese Woche.", "Inventur Woche vom 2026-03-16."),
    ("Bezahlt letzten Freitag.", "Bezahlt 2026-03-13."),
    ("Fällig nächsten Freitag.", "Fällig 2026-03-27."),
    ("Fällig kommenden Freitag.", "Fällig 2026-03-20."),
    ("Nächste Woche Montag ist Messe.", "2026-03-23 ist Messe."),
    ("Letzten Monat stieg die Miete.", "2026-02 stieg die Miete."),
    ("Ende nächsten Monat.", "Ende 2026-04."),
    ("Letztes Jahr eingestellt.", "2025 eingestellt."),
    ("Schule ab nächstem Jahr.", "Schule ab 2027."),
    ("Vor drei Tagen angerufen.", "2026-03-15 angerufen."),
    ("Vor zwei Wochen angerufen.", "2026-03-04 angerufen."),
    ("Vor einem Monat defekt.", "2026-02-18 defekt."),
    ("Vor 5 Jahren gegründet.", "2021 gegründet."),
    ("Die Fähre geht in drei Tagen.", "Die Fähre geht 2026-03-21."),
    ("Lieferung in zwei Wochen.", "Lieferung 2026-04-01."),
    ("Gestern Abend kam der Alarm.", "2026-03-17 (Abend) kam der Alarm."),
    ("Heute Morgen sagte er zu.", "2026-03-18 (Morgen) sagte er zu."),
    ("Letztes Wochenende Regen.", "Wochenende vom 2026-03-14 Regen."),
]
MORE = [
    ("J'ai vu Paul hier.", "J'ai vu Paul 2026-03-17."),
    ("Payé avant-hier.", "Payé 2026-03-16."),
    ("Il vient demain.", "Il vient 2026-03-19."),
    ("Signé aujourd'hui.", "Signé 2026-03-18."),
    ("Déménagé la semaine dernière.", "Déménagé la semaine du 2026-03-09."),
    ("Réunion vendredi prochain.", "Réunion 2026-03-20."),
    ("Appelé il y a trois jours.", "Appelé 2026-03-15."),
    ("Livré dans deux semaines.", "Livré 2026-04-01."),
    ("Ayer vi a Ana.", "2026-03-17 vi a Ana."),
    ("La semana pasada llovió.", "la semana del 2026-03-09 llovió."),
    ("Llamé hace dos semanas.", "Llamé 2026-03-04."),
    ("Viene el próximo viernes.", "Viene 2026-03-20."),
    ("Empieza pasado mañana.", "Empieza 2026-03-20."),
    ("昨日、電話した。", "2026-03-17、電話した。"),
    ("先週の金曜日に会った。", "2026-03-13に会った。"),
    ("来週の月曜日に始まる。", "2026-03-23に始まる。"),
    ("一昨日、3日前に届いた。", "2026-03-16、2026-03-15に届いた。"),
    ("来月から始まる。", "2026-04から始まる。"),
]
LEFT_ALONE = [
    "Run `export --since yesterday` first.",
    "```sh\ngit log --since yesterday\n```",
    "Para\n\n    indented yesterday\n",
    'He said "next Friday" and meant another.',
    "She wrote “see you tomorrow”.",
    "他说「明天来」。",
    "> yesterday it worked",
    "See [the plan](plan-for next week.md) and [[last week]].",
    "See https://example.com/today/yesterday for it.",
    "<!-- yesterday -->",
    "Open between today and tomorrow.",
    "The last 3 days were hot.",
    "Over the last week it rained.",
    "Within the next month.",
    "Reads today + yesterday at the start.",
    "From last Monday to next Friday it is closed.",
    "2026-03-01 – today",
    "周一到明天都关门。",
    "过去3天很热。",
    "Every morning, read today's note first.",
    "每天先读昨天的笔记。",
    "Jeden Tag die Notiz von gestern lesen.",
    "The last week of March.",
    "Built in 3 days.",
    "--since yesterday-ish report-today.md",
    "Guten Morgen! Der Morgen ist kalt.",
    "Hier wohnt Anna, und die Katze auch.",
    "15日前完成。",
    "以前天天来。",
    "几天前 some days ago, recently, soon",
    "The call was yesterday, 2026-03-17.",
    "---\ndue: tomorrow\n---\n",
    "第三天后，他走了。",
    "判断两周后失效。",
]


@pytest.mark.parametrize("cases", [ENGLISH, CHINESE, GERMAN, MORE], ids=["english", "chinese", "german", "more"])
def test_what_phrases_say(cases: list[tuple[str, str]]) -> None:
    wrong = [(text, made, want) for text, want in cases if (made := absolute(text, WEDNESDAY)[0]) != want]
    assert not wrong


def test_there_are_enough_phrases() -> None:
    assert len(ENGLISH) + len(CHINESE) + len(GERMAN) >= 80
    assert min(map(len, (ENGLISH, CHINESE, GERMAN))) >= 25


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_stays(text: str) -> None:
    assert absolute(text, WEDNESDAY) == (text, [])


def test_each_entry_has_its_own_day() -> None:
    text = "- 2026-02-02: saw Lee yesterday\n- saw Kim yesterday\n\n### F003: Look (2026-02-11)\n- it broke yesterday\n"
    assert [(item.line, item.absolute) for item in find(text, WEDNESDAY)] == [
        (1, "2026-02-01"),
        (2, "2026-03-17"),
        (5, "2026-02-10"),
    ]
    assert absolute("## 2026-01-05\n\nYesterday.\n\n## Next\n\nYesterday.\n", WEDNESDAY)[0].split("\n")[2::4] == [
        "2026-01-04.",
        "2026-03-17.",
    ]


def test_what_is_found_is_told_with_its_place() -> None:
    text = "---\ntitle: T\n---\nOne\r\nMet yesterday.\r\n"
    made, [phrase] = absolute(text, WEDNESDAY)
    assert made == text.replace("yesterday", "2026-03-17")
    assert (phrase.line, phrase.text, text[phrase.start : phrase.end]) == (5, "yesterday", "yesterday")


def test_a_second_run_changes_nothing() -> None:
    for text, _ in [*ENGLISH, *CHINESE, *GERMAN, *MORE]:
        made = absolute(text, WEDNESDAY)[0]
        assert absolute(made, date(2027, 1, 1))[0] == made


def test_the_ends_of_the_calendar() -> None:
    assert absolute("yesterday, last year, 上个月, vor 3 Tagen", date(1, 1, 1))[0].startswith("yesterday")
    assert absolute("tomorrow, next year, 明年, in 99 years", date(9999, 12, 31))[0].startswith("tomorrow")


HOSTILE = [
    *("yesterday ", "'a ", "in 3 days ", "between yesterday and ", "`", "``a`", "“", "昨天", "3天前", "the last week "),
    *(
        "- 2026-03-01: yesterday\n",
        "# 2026-01-01\n",
        "<!-- ",
        "](a",
        "[[a",
        "http://a",
        "last ",
        "上上",
        "yesterday to ",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_length_only(piece: str) -> None:
    start = time.process_time()
    absolute(piece * (50_000 // len(piece)), WEDNESDAY)
    assert time.process_time() - start < 4


@given(
    st.lists(
        st.sampled_from(
            ["yesterday", "昨天", "`", "```\n", "\n", " ", '"', "“", "<!--", "> ", "- ", "a", "in 3 days", "\r"]
        )
    )
)
def test_only_the_phrases_change(pieces: list[str]) -> None:
    text = "".join(pieces)
    made, found = absolute(text, WEDNESDAY)
    for phrase in found:
        assert text[phrase.start : phrase.end] == phrase.text
    for phrase in reversed(found):
        text = text[: phrase.start] + phrase.absolute + text[phrase.end :]
    assert text == made


@pytest.mark.parametrize("before", ["```\nx\n```\n", "# Heading\n", "text\n\n"])
def test_indented_code_behind_a_fence_a_heading_or_an_empty_line_is_left_alone(before: str) -> None:
    assert find(f"{before}    yesterday\n", date(2026, 3, 15)) == []
    assert len(find("a paragraph\n    that began yesterday\n", date(2026, 3, 15))) == 1
