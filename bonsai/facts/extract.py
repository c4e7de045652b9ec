"""What of a text must never be paraphrased: its URLs, shell commands and file paths."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST = 20  # of each kind: a pasted log would otherwise fill the frontmatter
MAX_LINE = 2000  # characters of a line that are looked at

#: Programs whose name at the start of a line or of a code span makes it a command.
PROGRAMS = frozenset(
    re.findall(
        r"\S+",
        "apt apt-get aws az bash brew bun bundle cargo cat cd chmod chown clawhub cmake cp curl deno docker "
        "docker-compose export flask gcloud gem gh git go gradle heroku huggingface-cli java kill kubectl "
        "launchctl ln ls make mkdir mv mvn mysql nano nc nix node npm npx nvm openssl pip pip3 pipx pnpm "
        "podman poetry psql pwd pytest python python3 rails redis-cli rm rsync ruby rustup scp sed sh source "
        "sqlite3 ssh sudo systemctl tail tar terraform tmux touch turso uv uvicorn vercel vim wget yarn zip "
        "unzip bonsai openclaw ",
    )
)
#: Programs that are also plain English words: only with something that no sentence has.
_WORDS = frozenset(
    re.findall(r"\S+", "cat cd export flask gem go kill make node sh source tail touch zip java ruby rails")
)

_URL = re.compile(r"(?:https?|ftp|libsql|wss?|ssh|git)://[^\s<>\"'`\\|^{}\u3000-\u303f\uff00-\uffef]{1,2000}", re.I)
_CODE = re.compile(r"`([^`\n]{1,1000})`")
_MARKS = re.compile(r"[ \t]{0,8}(?:[-*+>][ \t]{1,4}|\d{1,4}[.)][ \t]{1,4}|[$#%][ \t]{1,4}){0,3}")
_LEAD = re.compile(r"(?:run|runs|ran|running|execute|use|with|via|using|command|install|then)\b:?[ \t]{0,4}", re.I)
_PATH = re.compile(r"(?<![\w/.:~@-])(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@%+=~-]{1,255}[/\\]?){1,40}")
_RELATIVE = re.compile(
    r"(?<![\w/.:~@-])(?:[\w@%+=-][\w.@%+=-]{0,100}/){1,20}[\w@%+=-][\w@%+=-]{0,100}\.[A-Za-z]\w{0,9}\b"
)
_FLAG = re.compile(r"\s--?[A-Za-z]")
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z]|[/.=]|\d|&&|\|")
_TRAILING = ".,;:!?…'\"*_"
_FENCE = re.compile(r"[ \t]{0,8}(`{3,}|~{3,})[ \t]{0,8}(\w{0,20})")
_SHELLS = frozenset({"sh", "bash", "zsh", "shell", "console", "fish", "terminal"})


@dataclass(frozen=True, slots=True)
class Metadata:
    """How to do again what a fact speaks of."""

    urls: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def joined(self, other: "Metadata") -> "Metadata":
        """Both, without repeats, this one's first."""
        return Metadata(
            _unique([*self.urls, *other.urls]),
            _unique([*self.commands, *other.commands]),
            _unique([*self.paths, *other.paths]),
        )


def extract(text: str) -> Metadata:
    """The URLs, commands and paths of a text in their order, at most MOST of each. Linear in time."""
    urls: list[str] = []
    commands: list[str] = []
    paths: list[str] = []
    fence, shell = "", False
    for row in text.splitlines():
        line = row[:MAX_LINE]
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence, shell = ("" if fence else mark[1]), mark[2].casefold() in _SHELLS
            continue
        urls += [url for found in _URL.findall(line) if (url := _trimmed_url(found))]
        commands += _commands(line, bool(fence), shell)
        bare = _URL.sub(" ", line)
        paths += [path for path in _paths(bare) if path]
    urls = [url for url in urls if not (url.endswith(".git") and url.removesuffix(".git") in urls)]
    return Metadata(_unique(urls)[:MOST], _unique(commands)[:MOST], _unique(paths)[:MOST])


def _commands(line: str, in_code: bool, shell: bool) -> list[str]:
    """Commands of one line: all of it where it is one, else its code spans."""
    start = _MARKS.match(line)
    said = line[start.end() :].strip() if start else line.strip()
    prompt = bool(start and ("$ " in start[0] or "% " in start[0]))
    if in_code:
        return [said] if said and (prompt or is_command(said, sure=shell)) else []
    if said and not said.startswith("`") and (prompt or is_command(said)):
        return [said.rstrip("\\").rstrip()]
    found = [span.strip() for span in _CODE.findall(line) if is_command(span.strip(), sure=True)]
    if not found and (lead := _after_lead(said)):
        found = [lead]
    return found


def _after_lead(said: str) -> str:
    """`Install with pip install x==1` has a command behind `with`, as long as it does not read like a sentence."""
    for match in _LEAD.finditer(said):
        rest = said[match.end() :].strip()
        if rest and is_command(rest) and not rest.rstrip(".").count(". "):
            return rest.rstrip(_TRAILING)
    return ""


def is_command(text: str, sure: bool = False) -> bool:
    """Whether a text reads as a shell command: it begins with a program and has an option, a path or an argument.

    `sure`: it stands in code, where one word after the program is enough.
    """
    words = text.split()
    while words and (words[0] == "sudo" or (words[0].isupper() is False and "=" in words[0] and words[0][0].isalpha())):
        words = words[1:]
    if not words:
        return False
    if words[0].startswith(("./", "~/", "/")) and len(words[0]) > 2:
        return len(words) > 1 or (sure and words[0].startswith("./"))
    if words[0] not in PROGRAMS or len(words) < 2:
        return False
    if sure:
        return True
    rest = " ".join(words[1:])
    if words[0] in _WORDS or len(words) > 12:
        return bool(_OPTION.search(f" {rest}")) and not rest.endswith(".") and len(words) <= 25
    plain = words[1].islower() and not text.rstrip().endswith((".", "?", "!"))
    return words[1][:1] in "-./~$" or plain or bool(_FLAG.search(f" {rest}"))


def _paths(line: str) -> list[str]:
    found = [(match.start(), match[0]) for match in _PATH.finditer(line)]
    spans = [(at, at + len(path)) for at, path in found]
    found += [
        (match.start(), match[0])
        for match in _RELATIVE.finditer(line)
        if not any(first <= match.start() < last for first, last in spans)
    ]
    return [path for _, raw in sorted(found) if _is_path(path := raw.rstrip(_TRAILING))]


def _is_path(path: str) -> bool:
    """`/` alone, `/5` and `either/or` are no paths."""
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..", "~")]
    return bool(parts) and any(any(map(str.isalpha, part)) for part in parts)


def _trimmed_url(url: str) -> str:
    """A URL without what the sentence around it adds: `.`, `)` of a bracket that it did not open."""
    end = len(url)
    while end:
        last = url[end - 1]
        if last in _TRAILING or (last in ")]" and not _opens(url, end, last)):
            end -= 1
        else:
            break
    url = url[:end]
    return url if len(url.partition("://")[2]) > 1 else ""


def _opens(url: str, end: int, closing: str) -> bool:
    opening = "(" if closing == ")" else "["
    return url.count(opening, 0, end) >= url.count(closing, 0, end)


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))
