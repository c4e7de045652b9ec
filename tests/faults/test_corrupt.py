"""A repository, and our own state, damaged in every way: found, repaired as far as that goes, and no note lost."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import git, managed, written

from bonsai.workspace import Workspace

NOTE = "memory/domains/general/inbox.md"
DAMAGES = ("zero", "flip", "missing")
OBJECTS = [f"{kind}-{how}" for kind in ("blob", "tree", "commit", "pack") for how in DAMAGES]
REFS = ["ref-zero", "HEAD-garbage", "index-garbage", "index-zero", "reflog-garbage"]
MORE = [
    *(
        "old blob-missing",
        "root tree-flip",
        "idx-flip",
        "idx-missing",
        "graph-flip",
        "midx-flip",
        "ref-garbage",
        "ref-missing",
    ),
    *("HEAD-zero", "HEAD-missing", "tree and index-zero", "ref and reflog-zero", "bitmap-flip"),
]


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a history of six commits, its objects loose."""
    root = tmp_path_factory.mktemp("seed") / "ws"
    root.mkdir()
    (root / "MEMORY.md").write_text("# Me\n")
    with Workspace.init(root) and Workspace.open(root) as space:
        for number in range(4):
            for path in (NOTE, "memory/domains/business/pricing.md"):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(f"# {path}\n\nVersion {number}.\n")
            space.commit()
        space.daily_add("a call")
    for pack in list(root.glob(".git/objects/pack/*.pack")):
        data = pack.read_bytes()
        for name in root.glob(f".git/objects/pack/{pack.stem}.*"):
            name.unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=root, input=data, check=True)
    shutil.rmtree(root / ".git/hooks", ignore_errors=True)
    return root


@pytest.fixture
def root(seed: Path, tmp_path: Path) -> Path:
    shutil.copytree(seed, tmp_path / "ws")
    with Workspace.open(tmp_path / "ws") as space:
        space.status()  # a cache knows that it was copied
    return tmp_path / "ws"


def loose(root: Path, rev: str) -> Path:
    oid = git(root, "rev-parse", rev).strip()
    return root / ".git/objects" / oid[:2] / oid[2:]


def packed(root: Path, end: str) -> Path:
    git(root, "repack", "-adq", *(["--write-bitmap-index"] if end == "bitmap" else []))
    if end == "midx":
        git(root, "multi-pack-index", "write")
        return root / ".git/objects/pack/multi-pack-index"
    return next(root.glob(f".git/objects/pack/*.{end}"))


def graph(root: Path) -> Path:
    git(root, "commit-graph", "write", "--reachable", "--changed-paths")
    return root / ".git/objects/info/commit-graph"


PLACES: dict[str, Callable[[Path], list[Path]]] = {
    "blob": lambda root: [loose(root, f"HEAD:{NOTE}")],
    "tree": lambda root: [loose(root, "HEAD:memory/domains")],
    "commit": lambda root: [loose(root, "HEAD")],
    "pack": lambda root: [packed(root, "pack")],
    "idx": lambda root: [packed(root, "idx")],
    "midx": lambda root: [packed(root, "midx")],
    "bitmap": lambda root: [packed(root, "bitmap")],
    "graph": lambda root: [graph(root)],
    "old blob": lambda root: [loose(root, f"HEAD~2:{NOTE}")],
    "root tree": lambda root: [loose(root, "HEAD^{tree}")],
    "tree and index": lambda root: [loose(root, "HEAD:memory/domains"), root / ".git/index"],
    "ref": lambda root: [root / ".git" / git(root, "symbolic-ref", "HEAD").strip()],
    "ref and reflog": lambda root: [
        root / ".git" / git(root, "symbolic-ref", "HEAD").strip(),
        *(path for path in (root / ".git/logs").rglob("*") if path.is_file()),
    ],
    "HEAD": lambda root: [root / ".git/HEAD"],
    "index": lambda root: [root / ".git/index"],
    "reflog": lambda root: [root / ".git/logs/HEAD"],
}


def damage(root: Path, case: str) -> None:
    what, _, how = case.rpartition("-")
    for path in PLACES[what](root):
        path.chmod(0o644)
        data = path.read_bytes()
        if how == "missing":
            path.unlink()
        elif how == "flip":
            at = len(data) // 2
            path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF, data[at + 1] ^ 0xFF]) + data[at + 2 :])
        else:
            path.write_bytes(b"" if how == "zero" else b"\x00garbage \xff\n" * 9)


def is_sound(root: Path) -> bool:
    with Workspace.open(root) as space:
        return all(check.ok for check in space.doctor().checks if check.name in ("repository", "objects"))


@pytest.mark.parametrize("case", OBJECTS + REFS)
def test_damage_is_found(root: Path, case: str) -> None:
    assert is_sound(root)
    before = managed(root)
    damage(root, case)
    assert not is_sound(root)
    assert managed(root) == before


@pytest.mark.parametrize("case", OBJECTS + REFS + MORE)
def test_damage_is_repaired_and_no_note_is_touched(root: Path, case: str) -> None:
    (root / "memory/domains/general/new.md").write_text("# New\n\nIn no commit yet.\n")
    before = written(root)
    damage(root, case)
    with Workspace.open(root) as space:
        report = space.doctor(fix=True)
        assert written(root) == before
        space.commit()
        assert space.status().uncommitted == 0
        assert space.status().blocked is None
        space.archive(NOTE)
        space.undo()
    after = managed(root)
    assert {path: git(root, "show", f"HEAD:{path}").encode() for path in after} == after, "all of it is in git"
    assert git(root, "status", "--porcelain", "--", "memory", "MEMORY.md") == ""
    # What two bytes in the middle of a pack belong to, perhaps to a file that still stands as it was, is by chance.
    assert bool(report.lost) is (case in LOST) or case == "pack-flip", report
    assert is_sound(root) or (report.lost and case in ("old blob-missing", "pack-flip")), report


#: What nothing can bring back: the text of an old version, a commit, all of history in one pack.
LOST = {"old blob-missing", *(f"{kind}-{how}" for kind in ("commit", "pack") for how in DAMAGES)}
