"""The words for relative dates: English, German, French and Spanish as tables; Chinese and Japanese in `date_signs`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Language:
    """One language. In a template, `{n}` `{unit}` `{day}` `{shift}` stand for any of the words of the table."""

    days: Mapping[str, int]  # phrase → days from today
    parts: Mapping[str, tuple[int, str]]  # phrase → days from today, which part of that day (how it is written then)
    units: Mapping[str, str]  # word → day, week, month, year, weekend, quarter
    weekdays: Mapping[str, int]  # word → 0 for Monday
    shifts: Mapping[str, int]  # last, this, next → -1, 0, 1; 2 and -2 too
    numbers: Mapping[str, int]
    relative: tuple[str, ...]
    ago: tuple[str, ...]
    ahead: tuple[str, ...]
    week: str  # how a week, a weekend and a part of a day are written; `{0}` is a date
    weekend: str
    part: str
    coming: frozenset[str]  # shifts that mean the first such weekday from today on
    months: Mapping[str, int] | None = None


def _numbered(names: str, first: int = 0) -> dict[str, int]:
    return {name: first + at for at, word in enumerate(names.split()) for name in word.split("/")}


_ENGLISH_DAYS = "monday/mon tuesday/tue/tues wednesday/wed thursday/thu/thurs friday/fri saturday/sat sunday/sun"

ENGLISH = Language(
    days={
        "the day before yesterday": -2,
        "day before yesterday": -2,
        "the day after tomorrow": 2,
        "day after tomorrow": 2,
        "overmorrow": 2,
        "yesterday": -1,
        "today": 0,
        "tomorrow": 1,
    },
    parts={
        "this morning": (0, "morning"),
        "this afternoon": (0, "afternoon"),
        "this evening": (0, "evening"),
        "tonight": (0, "evening"),
        "last night": (-1, "night"),
        "last evening": (-1, "evening"),
        "yesterday morning": (-1, "morning"),
        "yesterday afternoon": (-1, "afternoon"),
        "yesterday evening": (-1, "evening"),
        "yesterday night": (-1, "night"),
        "tomorrow morning": (1, "morning"),
        "tomorrow afternoon": (1, "afternoon"),
        "tomorrow evening": (1, "evening"),
        "tomorrow night": (1, "night"),
    },
    units={
        **dict.fromkeys(("day", "days"), "day"),
        **dict.fromkeys(("week", "weeks"), "week"),
        **dict.fromkeys(("fortnight", "fortnights"), "fortnight"),
        **dict.fromkeys(("month", "months"), "month"),
        **dict.fromkeys(("year", "years"), "year"),
        **dict.fromkeys(("weekend", "weekends"), "weekend"),
        **dict.fromkeys(("quarter", "quarters"), "quarter"),
    },
    weekdays=_numbered(_ENGLISH_DAYS),
    shifts={"last": -1, "this": 0, "next": 1, "coming": 0, "before": -2, "after": 2},
    numbers={"a": 1, "an": 1, **_numbered("one two three four five six seven eight nine ten eleven twelve", 1)},
    relative=(
        "the week after next",
        "the week before last",
        "(?:on )?{day} (?:of )?(?:last|this|next) week",
        "(?:last|this|next) week(?: on)? {day}",
        "this coming {day}",
        "(?:last|this|next|coming) {day}",
        "(?:last|this|next) (?:weekend|week|month|year|quarter)",
        "(?:last|this|next) {month}",
    ),
    ago=("{n} {unit} ago",),
    ahead=("{n} {unit} from (?:now|today)", "in {n} {unit}(?: from now|['’]s? time)?"),
    week="the week of {0}",
    weekend="the weekend of {0}",
    part="the {1} of {0}",
    coming=frozenset({"this", "coming"}),
    months=_numbered("january february march april may june july august september october november december", 1),
)

GERMAN = Language(
    days={"vorvorgestern": -3, "vorgestern": -2, "gestern": -1, "heute": 0, "morgen": 1, "übermorgen": 2},
    parts={
        "letzte nacht": (-1, "Nacht"),
        "heute nacht": (0, "Nacht"),
        "heute früh": (0, "früh"),
        "heute morgen": (0, "Morgen"),
        "heute vormittag": (0, "Vormittag"),
        "heute nachmittag": (0, "Nachmittag"),
        "heute abend": (0, "Abend"),
        "gestern früh": (-1, "früh"),
        "gestern morgen": (-1, "Morgen"),
        "gestern nachmittag": (-1, "Nachmittag"),
        "gestern abend": (-1, "Abend"),
        "morgen früh": (1, "früh"),
        "morgen vormittag": (1, "Vormittag"),
        "morgen nachmittag": (1, "Nachmittag"),
        "morgen abend": (1, "Abend"),
    },
    units={
        **dict.fromkeys(("tag", "tage", "tagen"), "day"),
        **dict.fromkeys(("woche", "wochen"), "week"),
        **dict.fromkeys(("monat", "monate", "monaten", "monats"), "month"),
        **dict.fromkeys(("jahr", "jahre", "jahren", "jahres"), "year"),
        **dict.fromkeys(("wochenende",), "weekend"),
        **dict.fromkeys(("quartal",), "quarter"),
    },
    weekdays=_numbered("montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag"),
    shifts={
        **{word + ending: -1 for word in ("letzt", "vorig", "vergangen") for ending in ("e", "en", "er", "es", "em")},
        **{word + ending: 1 for word in ("nächst",) for ending in ("e", "en", "er", "es", "em")},
        **{"kommend" + ending: 1 for ending in ("e", "en", "er", "es", "em")},
        **{"dies" + ending: 0 for ending in ("e", "en", "er", "es", "em")},
        "vorletzte": -2,
        "vorletzten": -2,
        "übernächste": 2,
        "übernächsten": 2,
    },
    numbers={
        **dict.fromkeys(("ein", "eine", "einem", "einer", "einen"), 1),
        **_numbered("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf", 2),
    },
    relative=(
        "{day} (?:letzter|voriger|dieser|nächster|kommender) woche",
        "{shift} woche(?: am)? {day}",
        "{shift} {day}",
        "(?:im )?{shift} jahr",
        "{shift} (?:wochenende|woche|monats|monat|jahres|jahr|quartal)",
    ),
    ago=("vor {n} {unit}",),
    ahead=("in {n} {unit}",),
    week="Woche vom {0}",
    weekend="Wochenende vom {0}",
    part="{0} ({1})",
    coming=frozenset({"kommende", "kommenden", "kommender", "kommendes", "kommendem"})
    | {"diese", "diesen", "dieser", "dieses", "diesem"},
)

FRENCH = Language(
    days={
        "avant-hier": -2,
        "hier": -1,
        "aujourd'hui": 0,
        "aujourd’hui": 0,
        "après-demain": 2,
        "demain": 1,
    },
    parts={
        "hier matin": (-1, "matin"),
        "hier soir": (-1, "soir"),
        "la nuit dernière": (-1, "nuit"),
        "ce matin": (0, "matin"),
        "cet après-midi": (0, "après-midi"),
        "ce soir": (0, "soir"),
        "demain matin": (1, "matin"),
        "demain soir": (1, "soir"),
    },
    units={
        **dict.fromkeys(("jour", "jours"), "day"),
        **dict.fromkeys(("semaine", "semaines"), "week"),
        "mois": "month",
        **dict.fromkeys(("an", "ans", "année", "années"), "year"),
        "week-end": "weekend",
        "weekend": "weekend",
        "trimestre": "quarter",
    },
    weekdays=_numbered("lundi mardi mercredi jeudi vendredi samedi dimanche"),
    shifts={
        **dict.fromkeys(("dernier", "dernière", "passé", "passée"), -1),
        **dict.fromkeys(("prochain", "prochaine"), 1),
        **dict.fromkeys(("ce", "cette", "cet"), 0),
    },
    numbers={
        **_numbered("un/une deux trois quatre cinq six sept huit neuf dix onze douze", 1),
        "quinze": 15,
    },
    relative=(
        "{day} de la semaine (?:dernière|prochaine)",
        "(?:le )?{day} (?:dernier|prochain|passé)",
        "(?:la |le |l')?(?:semaine|mois|année|an|week-end|weekend|trimestre)"
        " (?:dernière|dernier|prochaine|prochain|passée|passé)",
        "(?:ce|cette) (?:semaine|mois|année|week-end|weekend|trimestre)(?:-ci)?",
    ),
    ago=("il y a {n} {unit}",),
    ahead=("dans {n} {unit}",),
    week="la semaine du {0}",
    weekend="le week-end du {0}",
    part="{0} ({1})",
    coming=frozenset({"prochain", "prochaine", "ce"}),
)

SPANISH = Language(
    days={
        "anteayer": -2,
        "antes de ayer": -2,
        "ayer": -1,
        "hoy": 0,
        "pasado mañana": 2,
        "mañana": 1,
    },
    parts={
        "anoche": (-1, "noche"),
        "ayer por la mañana": (-1, "mañana"),
        "ayer por la tarde": (-1, "tarde"),
        "esta mañana": (0, "mañana"),
        "esta tarde": (0, "tarde"),
        "esta noche": (0, "noche"),
        "mañana por la mañana": (1, "mañana"),
        "mañana por la tarde": (1, "tarde"),
        "mañana por la noche": (1, "noche"),
    },
    units={
        **dict.fromkeys(("día", "días", "dia", "dias"), "day"),
        **dict.fromkeys(("semana", "semanas"), "week"),
        **dict.fromkeys(("mes", "meses"), "month"),
        **dict.fromkeys(("año", "años"), "year"),
        "trimestre": "quarter",
    },
    weekdays=_numbered("lunes martes miércoles/miercoles jueves viernes sábado/sabado domingo"),
    shifts={
        **dict.fromkeys(("pasado", "pasada"), -1),
        **dict.fromkeys(("próximo", "próxima", "viene"), 1),
        **dict.fromkeys(("este", "esta"), 0),
    },
    numbers=_numbered("un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce", 1),
    relative=(
        "(?:el )?{day} (?:de la semana pasada|de la próxima semana)",
        "(?:el )?{day} (?:pasado|que viene|próximo)",
        "(?:el )?próximo {day}",
        "este {day}",
        "(?:la |el )?(?:semana|mes|año|trimestre) (?:pasada|pasado|que viene|próxima|próximo)",
        "(?:la |el )?(?:próxima|próximo) (?:semana|mes|año|trimestre)",
        "(?:esta|este) (?:semana|mes|año|trimestre)",
    ),
    ago=("hace {n} {unit}",),
    ahead=("dentro de {n} {unit}", "en {n} {unit}"),
    week="la semana del {0}",
    weekend="el fin de semana del {0}",
    part="{0} ({1})",
    coming=frozenset({"próximo", "próxima", "viene", "este"}),
)


def pattern(language: Language) -> str:
    """One pattern for the whole language, with the groups day, part, relative, ago and ahead."""
    # A blank of a template may be several in the text, never a line end.
    words = {
        "n": rf"(?:\d{{1,3}}|{_either(language.numbers)})",
        "unit": _either(word for word, unit in language.units.items() if unit in _COUNTED),
        "day": _either(language.weekdays),
        "shift": _either(language.shifts),
        "month": _either(language.months or {"—": 0}),
    }

    def group(name: str, templates: tuple[str, ...]) -> str:
        return f"(?P<{name}>{'|'.join(item.format(**words) for item in templates)})"

    parts = f"(?P<part>{_either(language.parts)})"
    days = f"(?P<day>{_either(language.days)})"
    rules = [
        parts,
        group("relative", language.relative),
        group("ago", language.ago),
        group("ahead", language.ahead),
        days,
    ]
    return rf"(?<![\w])(?:{'|'.join(rules)})(?![\w])".replace(" ", "[ \t\xa0]{1,4}")


_COUNTED = frozenset({"day", "week", "fortnight", "month", "year"})


def _either(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})"
