"""What is not worth remembering: six kinds, found by the words they are told in. A flag advises; it refuses nothing."""

import re
from collections.abc import Collection
from typing import Literal, NamedTuple

from bonsai.notes.note import parse
from bonsai.notes.printed import encoded
from bonsai.notes.prose import prose_lines

Kind = Literal["live-data", "code-structure", "git-history", "fix-recipe", "ephemeral", "documented"]

ADVICE: dict[Kind, str] = {
    "live-data": "a tool can look it up at any time (weather, time, prices)",
    "code-structure": "reading the project tells it (code, architecture, file paths)",
    "git-history": "`git log` and `git blame` tell it",
    "fix-recipe": "the fix is in the code, and its commit tells why",
    "ephemeral": "it will be over soon (work in progress, a temporary state, this conversation)",
    "documented": "the project's own documents say it already",
}
SHORT = 25  # characters: a line that is shorter stands in many documents by chance

_LIVE = (
    r"\b(?:current|today['’]s|latest|live) (?:weather|temperature|time|(?:exchange rate|stock|share) ?price|price of)",
    r"\b(?:weather|forecast|temperature) (?:today|now|is|in \w{2,30} is)\b",
    r"\bit(?:['’]s| is) (?:now |currently )?(?:raining|snowing|sunny|cloudy|\d{1,2}:\d{2})",
    r"\b(?:is|are) (?:now |currently )?trading at\b",
    r"\b(?:stock|share) (?:price|is at)\b",
    r"\bexchange rate (?:is|now|today)\b",
    r"\b(?:EUR|USD|GBP|BTC)/(?:EUR|USD|GBP|SEK|JPY)\b",
    "(?:天气|天氣|气温|氣溫|股价|股價|汇率|匯率|油价)(?:是|为|現在|现在|今天|：|:|\\d)",
    "(?:今天|现在|現在)的?(?:天气|天氣|气温|股价|汇率)",
    "现在(?:是|时间)?\\d{1,2}[点:：]",
    r"\b(?:Wetter|Temperatur|Aktienkurs|Wechselkurs) (?:heute|jetzt|ist|liegt)\b",
)
_CODE = (
    r"\b(?:class|function|method|module|component|endpoint|route|interface|struct|handler)s? `?[\w./]{1,80}(?:\(\))?`?"
    r" (?:is|are|lives?|sits?|defined|located|inherits|extends|implements|calls|handles|returns)\b",
    r"\b(?:is|are) (?:defined|implemented|located|declared) in `?[\w./-]{1,100}",
    r"\b(?:source|code|tests?|configuration|config) (?:lives?|is|are|sits?) (?:in|under|at) `?[\w.-]{0,80}/",
    r"\b(?:project|repo|repository|directory|folder|code|codebase) (?:structure|layout|architecture)\b",
    r"\barchitecture:",
    r"\b(?:file|folder|directory) `?[\w./-]{1,80}`? (?:contains|holds)\b",
    "(?:代码|代碼|项目|目录|專案)(?:结构|結構|架构|架構)",
    "(?:函数|函數|类|模块|接口)[ ]?`?[\\w.]{1,60}`?[ ]?(?:定义|定義|位于|在)",
    r"\b(?:Projekt|Code)(?:struktur|architektur)\b",
)
_GIT = (
    r"\bcommit(?:ted)? (?:in |as )?`?[0-9a-f]{7,40}\b",
    r"\b(?:merged|opened|closed) (?:the )?(?:PR|pull request|MR)\b",
    r"\b(?:PR|MR|pull request) #?\d{1,6} (?:was|is|has been|got) (?:merged|opened|closed)\b",
    r"\brecent (?:commits|changes)\b",
    r"\bgit (?:log|history|blame) (?:shows|says)\b",
    r"\b(?:last|latest) commit\b",
    r"\b(?:refactored|renamed|reverted|rebased) `?[\w./-]{1,60}`? (?:in|on|from|to|into|by)\b",
    r"\bwas (?:changed|refactored|renamed|reverted) by \w{2,30} in (?:commit|PR)\b",
    "(?:提交|合并|合併)了?(?:代码|代碼|分支|PR|commit)",
    "最近的(?:提交|改动|改動)",
    r"\bletzter? Commit\b",
)
_FIX = (
    r"\b(?:fixed|solved|resolved|worked around) (?:it|this|that|the|a|an)\b[^.\r\n]{0,120}\b(?:by|with|via)\b",
    r"\b(?:fix|solution|workaround)(?: was| is|:)[ \t]",
    r"\b(?:root cause|stack ?trace|traceback)\b",
    r"\b(?:bug|error|crash|exception)\b[^.\r\n]{0,80}\b(?:was caused by|is caused by|fixed by|goes away)\b",
    "(?:修复|修復|解决|解決)(?:方法|方案|办法|辦法|了)",
    "(?:报错|bug)[^。\\r\\n]{0,40}(?:原因|因为)",
    r"\b(?:behoben|gelöst) (?:durch|mit|indem)\b",
)
_PASSING = (
    r"\b(?:currently|right now|at the moment|for now) "
    r"(?:working|debugging|editing|running|waiting|investigating|fixing|testing|in the middle)",
    r"\bin progress\b",
    r"\bWIP\b",
    r"\bstill (?:working on|waiting for|running|debugging)\b",
    r"\bnext I(?: will|['’]ll)\b",
    r"\b(?:in|during|earlier in) this (?:conversation|session|chat)\b",
    r"\b(?:temporarily|temporary) (?:disabled|enabled|file|branch|workaround|state|switched)\b",
    r"\bTODO:",
    r"\b(?:I am|I['’]m) (?:now |currently )?(?:editing|looking at|about to|working on)\b",
    "(?:正在|目前在)(?:进行|進行|处理|處理|调试|調試|修改|编写|做)",
    "(?:本次|这次|當前|当前)(?:对话|對話|会话|會話|任务|任務)",
    r"\b(?:in Arbeit|gerade dabei)\b",
)


def _any(alternatives: tuple[str, ...]) -> str:
    return "|".join(alternatives)


_IS_LIVE = re.compile(_any(_LIVE), re.IGNORECASE)
_IS_CODE = re.compile(_any(_CODE), re.IGNORECASE)
_IS_GIT = re.compile(_any(_GIT), re.IGNORECASE)
_IS_FIX = re.compile(_any(_FIX), re.IGNORECASE)
_IS_PASSING = re.compile(_any(_PASSING), re.IGNORECASE)
_PATTERNS: tuple[tuple[Kind, "re.Pattern[str]"], ...] = (
    ("live-data", _IS_LIVE),
    ("code-structure", _IS_CODE),
    ("git-history", _IS_GIT),
    ("fix-recipe", _IS_FIX),
    ("ephemeral", _IS_PASSING),
)
_MARKS = re.compile(r"[\s*_`#>-]{1,40}")


class Flag(NamedTuple):
    """A line that is likely not worth a memory; `line` is 1-based."""

    kind: Kind
    line: int
    text: str

    @property
    def advice(self) -> str:
        """Why, in words."""
        return ADVICE[self.kind]


def find(text: str, documented: Collection[str] = frozenset()) -> list[Flag]:
    """The flags of a note's text, at most one of each kind for a line; frontmatter is exempt.

    Args:
        text: of the note.
        documented: lines of CLAUDE.md, AGENTS.md, README.md as `key` makes them.
    """
    data = encoded(text)
    note = parse(data)
    skip = data.count(b"\n", 0, note.body_start)
    found = []
    for number, row in prose_lines(note.text):
        said = row.strip()
        line = skip + number + 1
        found += [Flag(kind, line, said) for kind, pattern in _PATTERNS if pattern.search(row)]
        if documented and len(said) >= SHORT and key(said) in documented:
            found.append(Flag("documented", line, said))
    return found


def key(line: str) -> str:
    """A line as two documents may both have it: without marks, case and blanks."""
    return _MARKS.sub(" ", line).strip().casefold()
