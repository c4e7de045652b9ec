"""Random damage to a repository, by a seed: what is hurt, how, and what has to hold after `doctor --fix`.

By hand: `python tests/faults/repository_fuzz.py FIRST COUNT` prints what breaks, seed by seed.
"""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness import managed, written

from bonsai.errors import BonsaiError
from bonsai.workspace import Workspace

NOTE = "memory/domains/general/inbox.md"
SHAPES = ("loose", "packs", "packed", "inside")
MORE = (*SHAPES, "worktree", "sha256")
#: What a seed may hurt: a name, and the files of it in the git folder.
PLACES = {
    "loose": "objects/??/*",
    "pack": "objects/pack/pack-*.pack",
    "idx": "objects/pack/pack-*.idx",
    "other of packs": "objects/pack/*.[rbm]*",
    "midx": "objects/pack/multi-pack-index*",
    "graph": "objects/info/commit-graph*",
    "graphs": "objects/info/commit-graphs/*",
    "branches": "refs/heads/**/*",
    "other refs": "refs/[srt]*/**/*",
    "stash": "refs/stash",
    "packed-refs": "packed-refs",
    "HEAD": "HEAD",
    "index": "index",
    "logs": "logs/**/*",
    "config": "config",
    "info": "info/*",
    "worktrees": "worktrees/*/[!cg]*",  # not where they are: nobody else knows that
    "shallow": "shallow",
}


def git(root: Path, *words: str, check: bool = True) -> str:
    """What git says."""
    person = ("-c", "user.name=P", "-c", "user.email=p@example.com", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *person, *words], cwd=root, capture_output=True)
    assert done.returncode == 0 or not check, (words, done.stderr.decode())
    return done.stdout.decode("utf-8", "replace")


def build(root: Path, shape: str) -> Path:
    """A workspace with a past: several versions of notes, a branch, a tag, a stash; returns the workspace."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", *(["--object-format=sha256"] if shape == "sha256" else []))
    shutil.rmtree(root / ".git/hooks", ignore_errors=True)
    space_root = workspace(root, shape)
    if shape == "worktree":
        git(root, "commit", "-q", "--allow-empty", "-m", "begin")
        git(root, "worktree", "add", "-q", "-b", "memory", "linked")
    space_root.mkdir(exist_ok=True)
    if shape == "inside":
        (root / "code.py").write_text("print(1)\n")
        git(root, "add", "code.py")
        git(root, "commit", "-qm", "code")
    (space_root / "MEMORY.md").write_text("# Me\n\n## Owner\n\n- Ada\n")
    Workspace.init(space_root)
    with Workspace.open(space_root) as space:
        for number in range(6):
            for path in (NOTE, "memory/domains/business/pricing.md", "memory/domains/business/deep/er/costs.md"):
                (space_root / path).parent.mkdir(parents=True, exist_ok=True)
                text = "".join(f"Line {line} of version {number if line % 3 == 0 else 0}.\n" for line in range(40))
                (space_root / path).write_text(f"# {path}\n\n{text}")
            space.commit()
        space.daily_add("a call")
        space.archive("memory/domains/business/pricing.md")
    git(space_root, "tag", "-a", "-m", "one", "v1", "HEAD~3")
    git(space_root, "branch", "side/line", "HEAD~2")
    git(space_root, "update-ref", "refs/remotes/origin/main", "HEAD~1")
    if shape == "inside":
        (root / "code.py").write_text("print(2)\n")
        git(root, "stash", "-q")
        (root / "code.py").write_text("print(3)\n")
        git(root, "add", "code.py")
    if shape in ("loose", "inside"):
        _unpack(root)
    if shape == "packed":
        git(root, "repack", "-adq", "--write-bitmap-index")
        git(root, "pack-refs", "--all")
        with Workspace.open(space_root) as space:
            (space_root / NOTE).write_text("# Inbox\n\nOnce more.\n")
            space.commit()
        git(root, "multi-pack-index", "write")
        git(root, "commit-graph", "write", "--reachable", "--changed-paths", "--split")
    elif shape == "inside":
        git(root, "commit-graph", "write", "--reachable", "--changed-paths")
    return space_root


def workspace(top: Path, shape: str) -> Path:
    """Where the workspace is below the folder of the repository."""
    return {"inside": top / "inner", "worktree": top / "linked"}.get(shape, top)


def _unpack(root: Path) -> None:
    for pack in list(root.glob(".git/objects/pack/*.pack")):
        data = pack.read_bytes()
        for name in root.glob(f".git/objects/pack/{pack.stem}.*"):
            name.unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=root, input=data, check=True)


def hurt(git_dir: Path, dice: random.Random) -> list[str]:
    """Damage one to four things; says what was done to what."""
    done = []
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 4))):
        place = dice.choice([name for name, pattern in PLACES.items() if _files(git_dir, pattern)])
        victims = _files(git_dir, PLACES[place])
        many = dice.random() < 0.15
        for path in dice.sample(victims, min(len(victims), dice.randint(2, 8) if many else 1)):
            how = dice.choice((flip, flip, cut, zero, empty, garbage, longer, gone, swapped))
            path.chmod(0o644)
            how(path, dice, victims)
            done.append(f"{how.__name__} {path.relative_to(git_dir)}")
    return done


def _files(git_dir: Path, pattern: str) -> list[Path]:
    return sorted(path for path in git_dir.glob(pattern) if path.is_file())


def flip(path: Path, dice: random.Random, _: list[Path]) -> None:
    """Turn a few bits over."""
    data = bytearray(path.read_bytes())
    for _number in range(dice.randint(1, 3) if data else 0):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def cut(path: Path, dice: random.Random, _: list[Path]) -> None:
    """End the file somewhere."""
    data = path.read_bytes()
    path.write_bytes(data[: dice.randrange(len(data))] if data else b"")


def zero(path: Path, dice: random.Random, _: list[Path]) -> None:
    """The file keeps its length, and holds zeros from somewhere on, as after a power cut."""
    data = path.read_bytes()
    start = dice.choice((0, dice.randrange(len(data) or 1)))
    path.write_bytes(data[:start] + b"\0" * (len(data) - start))


def empty(path: Path, _: random.Random, __: list[Path]) -> None:
    """Nothing is left but the name."""
    path.write_bytes(b"")


def garbage(path: Path, dice: random.Random, _: list[Path]) -> None:
    """Bytes of something else."""
    path.write_bytes(dice.randbytes(dice.randint(1, 300)))


def longer(path: Path, dice: random.Random, _: list[Path]) -> None:
    """Something was appended."""
    with path.open("ab") as file:
        file.write(dice.randbytes(dice.randint(1, 60)))


def gone(path: Path, _: random.Random, __: list[Path]) -> None:
    """The file is gone."""
    path.unlink(missing_ok=True)


def swapped(path: Path, dice: random.Random, others: list[Path]) -> None:
    """It holds what another one holds."""
    other = dice.choice(others)
    if other.is_file():
        path.write_bytes(other.read_bytes())


@dataclass
class Outcome:
    """What a seed came to."""

    seed: int
    shape: str
    damage: list[str]
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.shape}): {'; '.join(self.damage)}\n    " + "\n    ".join(self.wrong)


class Fuzz:
    """The workspaces of all shapes, built once, and what is done with a copy of one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._built: dict[str, Path] = {}

    def run(self, seed: int, keep: bool = False) -> Outcome:
        """Damage, repair, look. Seeds from 10,000 on also choose among rarer repositories."""
        dice = random.Random(seed)
        shape = dice.choice(SHAPES if seed < 10_000 else MORE)
        if shape not in self._built:
            build(self._folder / shape, shape)
            self._built[shape] = self._folder / shape
        top = self._folder / f"seed-{seed}"
        shutil.copytree(self._built[shape], top, symlinks=True)
        root = workspace(top, shape)
        if shape == "worktree":
            git(top, "worktree", "repair", "linked")
        with Workspace.open(root) as space:
            space.status()  # a cache knows that it was copied
        (root / "memory/domains/general/new.md").write_text("# New\n\nIn no commit yet.\n")
        refs = _refs(root)
        out = Outcome(seed, shape, hurt(top / ".git", dice))
        try:
            self._look(out, root, refs)
        except Exception as error:
            out.wrong.append(f"{type(error).__name__}: {error}")
        if not keep:
            shutil.rmtree(top)
        return out

    def _look(self, out: Outcome, root: Path, refs: dict[str, str]) -> None:
        before = written(root)
        with Workspace.open(root) as space:
            report = space.doctor(fix=True)
        out.lost = report.lost
        failed = [f"{check.name}: {check.message}" for check in report.checks if not check.ok]
        said = " | ".join([*report.fixed, *report.lost, *failed])
        if written(root) != before:
            out.wrong.append("a note was touched")
        fsck = subprocess.run(["git", "fsck", "--full", "--no-dangling"], cwd=root, capture_output=True)
        words = (fsck.stdout + fsck.stderr).decode("utf-8", "replace").strip()
        if fsck.returncode and not (report.lost and failed):
            out.wrong.append(f"fsck: {words[:400]} // lost {report.lost} failed {failed} // {said}")
        if not fsck.returncode and [item for item in failed if not item.startswith("notes:")]:
            out.wrong.append(f"fsck is clean, and yet {failed}")
        if any(" error" in f" {line}" for line in words.split("\n")) and not fsck.returncode:
            out.wrong.append(f"fsck complains: {words[:400]}")
        self._keeps_refs(out, root, refs, said)
        self._goes_on(out, root, said)
        with Workspace.open(root) as space:
            again = space.doctor(fix=True)
        if [item for item in again.fixed if not item.startswith("emptied the cache")]:
            out.wrong.append(f"the second time: {again.fixed}; the first: {report.fixed}")
        if bool(again.lost) and not report.lost:
            out.wrong.append(f"lost only the second time: {again.lost}")
        if not report.lost and not fsck.returncode and out.shape != "worktree":  # the index of another is not ours
            for words_ in (("status", "--porcelain"), ("log", "--oneline", "-3"), ("gc", "-q"), ("fsck", "--full")):
                done = subprocess.run(["git", *words_], cwd=root, capture_output=True)
                if done.returncode:
                    out.wrong.append(f"git {' '.join(words_)}: {done.stderr.decode('utf-8', 'replace')[:300]}")

    def _keeps_refs(self, out: Outcome, root: Path, refs: dict[str, str], said: str) -> None:
        """Every ref leads where it led, or what was done says its name."""
        now = _refs(root)
        for name, sha in refs.items():
            short = name.removeprefix("refs/heads/").removeprefix("refs/")
            if name in now and (now[name] == sha or _is_after(root, sha, now[name])):
                continue
            tag = name.startswith("refs/tags/")  # has no log
            if tag and ("of packed-refs, perhaps" in said or {f"gone {name}", "gone packed-refs"} & set(out.damage)):
                continue
            if "swapped refs/heads/main" in out.damage and name == "HEAD":
                continue
            if f"swapped {name}" in out.damage and name in now:
                continue  # it names what another one names: that may well be meant
            if short not in said and name not in said and not (out.lost and name == "HEAD"):
                out.wrong.append(f"{name} was {sha[:10]}, is {now.get(name, 'gone')[:10]}: {said}")

    def _goes_on(self, out: Outcome, root: Path, said: str) -> None:
        verbs: dict[str, Callable[[Workspace], object]] = {
            "commit": lambda space: space.commit(),
            "status": lambda space: space.status(),
            "log": lambda space: space.log(),
            "archive": lambda space: space.archive(NOTE),
            "undo": lambda space: space.undo(),
            "recall": lambda space: space.recall("Line version"),
            "verify": lambda space: space.verify(),
            "why": lambda space: space.why(NOTE),
        }
        for name, act in verbs.items():
            try:
                with Workspace.open(root) as space:
                    found = act(space)
                if name == "status" and (found.uncommitted or found.blocked):  # type: ignore[attr-defined]
                    out.wrong.append(f"status: {found.uncommitted} {found.blocked} // {said}")  # type: ignore[attr-defined]
            except BonsaiError as error:
                if name == "why" and out.lost:
                    continue  # the text of an old version is lost, and was said to be
                out.wrong.append(f"{name}: {error} {error.hint} // {said}")
        prefix = "inner/" if root.name == "inner" else ""
        for path, data in managed(root).items():
            shown = subprocess.run(["git", "show", f"HEAD:{prefix}{path}"], cwd=root, capture_output=True)
            if shown.stdout != data:
                out.wrong.append(f"{path} is not in HEAD as it stands // {said}")


def _refs(top: Path) -> dict[str, str]:
    lines = git(top, "for-each-ref", "--format=%(refname) %(objectname)", check=False).split("\n")
    found = dict(line.split(" ") for line in lines if line)
    head = git(top, "rev-parse", "-q", "--verify", "HEAD", check=False).strip()
    return {**found, "HEAD": head} if head else found


def _is_after(top: Path, old: str, new: str) -> bool:
    done = subprocess.run(["git", "merge-base", "--is-ancestor", old, new], cwd=top, capture_output=True)
    return done.returncode == 0


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        fuzz, bad = Fuzz(Path(name)), 0
        for number in range(first, first + count):
            result = fuzz.run(number, keep="--keep" in sys.argv)
            if result.wrong:
                bad += 1
                print(result, flush=True)
        print(f"{count} seeds, {bad} wrong")
