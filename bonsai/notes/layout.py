"""Where things stand in a workspace: which path is a note, an index, an archive, a helper file.

Paths are workspace-relative POSIX strings; docs/workspace.md shows the whole.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

MEMORY = "memory"
CONFIG = "bonsai.toml"
INDEX = "_index.md"
ARCHIVED = "__DELETE"
STAGING = "_reflect_staging.json"  # the reflection that waits
STATE_FILES = frozenset({"_meta.json", "_stats.json", STAGING})
PURGE_LOG = "_purge_log.json"
ERASED = "_erased.json"  # ids of what was erased, so that no sync brings it back; append-only, committed
BACKUP = "MEMORY.md.bak"
TEMPORARY = ".bonsai-"  # how the names of our temporary files begin
MAX_ASSET = 10 * 1024 * 1024  # bytes: what people keep beside their notes (images, PDFs) is committed up to here
MAX_PARSED = 1024 * 1024  # bytes: a larger note is listed, its first part alone is read
DEEPEST = 64  # folders below memory/; what is deeper is reported, not entered: each level holds a file descriptor

_BOOT = re.compile(r"MEMORY(?:-([^/]+))?\.md")
_HELPER = re.compile(
    r"(?:.*~|.*\.(?:bak|tmp|part|crdownload)|.*\.sw[a-z]|#.*#|\.(?!gitignore$|gitattributes$).*|4913|thumbs\.db)",
    re.IGNORECASE | re.DOTALL,
)
_DAILY = re.compile(r"\d{4}-\d{2}-\d{2}[^/]*\.md")


class Kind(Enum):
    """What a path is to bonsai."""

    NOTE = "note"  # markdown under memory/ that somebody wrote, archives included
    INDEX = "index"  # generated `_index.md`
    BOOT = "boot"  # MEMORY.md, MEMORY-<agent>.md
    CONFIG = "config"  # bonsai.toml
    STATE = "state"  # operational state, never committed
    ASSET = "asset"  # another file that is committed with the notes
    HELPER = "helper"  # swap, temporary and hidden files: never committed, never indexed
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Tree:
    """One memory tree: the main one (`agent` is "") or that of an agent."""

    agent: str = ""

    @property
    def owner(self) -> str:
        """What the agent of the tree is called in a database."""
        return self.agent or "default"

    @property
    def memory(self) -> str:
        """The folder of the tree."""
        return f"{MEMORY}/agents/{self.agent}" if self.agent else MEMORY

    @property
    def boot(self) -> str:
        """The boot file of the tree."""
        return f"MEMORY-{self.agent}.md" if self.agent else "MEMORY.md"

    @property
    def domains(self) -> str:
        """The folder of the domains."""
        return f"{self.memory}/domains"

    @property
    def daily(self) -> str:
        """The folder of the daily notes."""
        return f"{self.memory}/daily"

    @property
    def root_index(self) -> str:
        """The root index."""
        return f"{self.memory}/{INDEX}"

    def at(self, name: str) -> str:
        """A path inside the tree's folder."""
        return f"{self.memory}/{name}"


def name_of(path: str) -> str:
    """The last component."""
    return path.rpartition("/")[2]


def folder_of(path: str) -> str:
    """Everything before the last component, "" at the root."""
    return path.rpartition("/")[0]


def is_boot_spelling(name: str) -> bool:
    """Whether a name is a boot file's in some spelling: `memory.md` too, which some disks take for MEMORY.md."""
    stem, dot, suffix = name.rpartition(".")
    return bool(_BOOT.fullmatch(f"{stem[:6].upper()}{stem[6:]}{dot}{suffix.lower()}"))


def path_fault(path: str) -> str:
    """Why a text cannot be the path of something in a workspace, "" where it can."""
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "a name that cannot be written as UTF-8"
    if "\0" in path:
        return "a NUL character in the name"
    if path.startswith("/"):
        return "an absolute path"
    if "//" in f"{path}/" or not path:
        return "an empty name"
    if "/." in f"/{path}":
        for part in path.split("/"):
            if part in {".", ".."}:
                return f"{part!r} is no name of a file or folder"
            if part.casefold() == ".git":  # a note that lands in a repository's own folder can make it run programs
                return "a path inside .git"
    return ""


def is_helper_name(name: str) -> bool:
    """Whether a file or folder of this name is never committed and never indexed."""
    return bool(_HELPER.fullmatch(name))


def kind_of(path: str) -> Kind:
    """What the file at `path` is, by its name alone."""
    if path == CONFIG:
        return Kind.CONFIG
    if "/" not in path:
        return Kind.BOOT if _BOOT.fullmatch(path) else Kind.OUTSIDE
    parts = path.split("/")
    if parts[0] != MEMORY:
        return Kind.OUTSIDE
    name = parts[-1]
    if name == BACKUP and folder_of(path) == tree_of(path).memory:
        return Kind.ASSET
    if any(part.startswith(".") for part in parts[1:-1]) or is_helper_name(name):
        return Kind.HELPER
    if name in STATE_FILES and folder_of(path) == tree_of(path).memory:
        return Kind.STATE
    if name == INDEX:
        return Kind.INDEX
    return Kind.NOTE if name.endswith(".md") else Kind.ASSET


def tree_of(path: str) -> Tree:
    """The tree that a path belongs to; the main one for everything that is no agent's."""
    parts = path.split("/")
    if len(parts) == 1:
        found = _BOOT.fullmatch(path)
        return Tree(found[1] or "") if found else Tree()
    if len(parts) > 3 and parts[:2] == [MEMORY, "agents"]:
        return Tree(parts[2])
    return Tree()


def domain_of(path: str) -> str | None:
    """The domain of a path below `domains/`, e.g. `business/seo`; None for any other path."""
    prefix = f"{tree_of(path).domains}/"
    if not path.startswith(prefix) or "/" not in path[len(prefix) :]:
        return None
    return folder_of(path)[len(prefix) :]


def users(tree: Tree) -> str:
    """The folder with one folder for each user of a service: no index and no boot file tells of what stands there."""
    return tree.at("users")


def is_of_user(path: str) -> bool:
    """Whether a path is in the folder of a user."""
    return path.startswith(f"{users(tree_of(path))}/")


def is_daily(path: str) -> bool:
    """Whether a path is a daily note: `daily/…` or `YYYY-MM-DD….md` right in the tree's folder."""
    tree = tree_of(path)
    return path.startswith(f"{tree.daily}/") or (
        folder_of(path) == tree.memory and bool(_DAILY.fullmatch(name_of(path)))
    )


def is_archived(path: str) -> bool:
    """Whether a note is an archive: its stem ends in `__DELETE`, exactly so."""
    return path.endswith(f"{ARCHIVED}.md") and kind_of(path) is Kind.NOTE


def archived_path(path: str) -> str:
    """The name of a note once it is archived."""
    return f"{path.removesuffix('.md')}{ARCHIVED}.md"


def live_path(path: str) -> str:
    """The name that an archive had before."""
    return f"{path.removesuffix('.md').removesuffix(ARCHIVED)}.md"


def fold(path: str) -> str:
    """The form under which two names clash on some disk: composed and without case."""
    return unicodedata.normalize("NFC", path).casefold()


def short(path: str) -> str:
    """A path as a commit subject names it: `business/pricing`; control characters cannot break the line."""
    name = path.removeprefix(f"{MEMORY}/").removeprefix("domains/").removesuffix(".md")
    return printable(name)


def printable(text: str) -> str:
    """Text without control characters and broken surrogates."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def listed(paths: Sequence[str], most: int = 3) -> str:
    """Some paths in a subject: `business/pricing, general/todo and 3 more`."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(map(short, paths[:most])) + more


def is_searched(path: str, tree: Tree, archived: bool = False) -> bool:
    """Whether recall in a tree looks at a file: its notes and its boot file; archives only when asked for."""
    kind = kind_of(path)
    return kind in (Kind.NOTE, Kind.BOOT) and tree_of(path) == tree and (archived or not is_archived(path))
