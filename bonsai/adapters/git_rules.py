"""Which paths git's ignore rules and attributes speak of."""

import os
from collections.abc import Sequence

from bonsai.adapters.git_repo import Layout
from bonsai.adapters.git_run import GitRun


def ignored(run: GitRun, layout: Layout, paths: Sequence[str]) -> set[str]:
    """What `History.ignored` promises."""
    real = _RealFolders(layout.top)
    asked = [path for path in paths if real(layout.full(path).rpartition("/")[0])]
    if not asked:
        return set()
    # A leading ./ keeps git from reading a name like `:(top)x` as a pattern.
    data = b"".join(b"./%s\0" % _bytes(path) for path in asked)
    result = run("check-ignore", "-z", "--stdin", "--no-index", data=data, literal=False)
    if result.code not in {0, 1}:
        raise run.failure(result)
    return {path.removeprefix("./") for path in _text(result.out).split("\0") if path}


def filtered(run: GitRun, layout: Layout, paths: Sequence[str], attributes: Sequence[str] | None) -> set[str]:
    """What `History.filtered` promises."""
    if not paths or not any(_mentions_filter(name) for name in _attribute_files(layout, paths, attributes)):
        return set()
    data = b"".join(b"%s\0" % _bytes(path) for path in paths)
    tokens = _text(run.ok("check-attr", "-z", "--stdin", "filter", data=data)).split("\0")
    said = zip(tokens[::3], tokens[2::3], strict=False)
    return {path for path, value in said if value not in {"unspecified", "unset", "set"}}


def _attribute_files(layout: Layout, paths: Sequence[str], known: Sequence[str] | None) -> set[str]:
    """Every file that can give one of the paths an attribute; of those in the memory, the `known` are all there are."""
    folders, inside = {""}, {path.rpartition("/")[0] for path in paths} if known is None else {""}
    for below in inside:  # few, of 10,000 notes
        folder = layout.full(below) if below else layout.prefix.rstrip("/")
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    found = {os.path.join(layout.top, os.fsdecode(_bytes(folder)), ".gitattributes") for folder in folders}
    found |= {os.path.join(layout.top, os.fsdecode(_bytes(layout.full(path)))) for path in known or ()}
    return found | {os.path.join(layout.common_dir, "info", "attributes"), "/etc/gitattributes"}


def _mentions_filter(name: str) -> bool:
    try:
        with open(name, "rb") as file:
            return b"filter" in file.read()
    except OSError:
        return False


class _RealFolders:
    """Which folders of a work tree are no symlinks, nor behind one: git refuses to answer at all about such a path."""

    def __init__(self, top: str) -> None:
        self._top, self._known = top, {"": True}

    def __call__(self, folder: str) -> bool:
        new = []
        while folder not in self._known:  # no recursion: a path may have 2,000 folders
            new.append(folder)
            folder = folder.rpartition("/")[0]
        for below in reversed(new):
            linked = os.path.islink(os.path.join(self._top, os.fsdecode(_bytes(below))))
            self._known[below] = not linked and self._known[below.rpartition("/")[0]]
        return self._known[new[0] if new else folder]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
