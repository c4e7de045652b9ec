"""Any verb after any other, with a person's edits and a person's git in between, and kills: against a model in memory.

The model is the bytes of every file that a person wrote. A verb may change what it says it changes and nothing else;
what was once committed can be had back; `undo` takes exactly one run back and keeps later edits; status never claims
that all is committed when disk and HEAD differ.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bonsai.errors import BonsaiError
from bonsai.notes import boot, layout
from bonsai.workspace import Workspace

sys.path.append(str(Path(__file__).parent / "faults"))
import harness

DOMAINS = ("general", "business", "tech/deep")
NAMES = ("note", "Prices", "with space", "ünï", "記憶", "x.y")
STARTS = (
    b"",
    b"---\ntitle: A title\n# a comment\nunknown: [1, 2]\n---\n",
    b"---\r\ntype: user\r\n---\r\n",
    b"\xef\xbb\xbf# With a mark\n",
    b"---\nbroken: [\n---\n",
)
ENDS = (b"", b"\n", b"\r\n", b"\nlatin \xe9\n")
FEW = 4  # files that may vanish at once without the fuse against mass deletion
GONE = 180  # days

files = st.integers(0, 10_000)  # picks one of the files that there are


class Past(NamedTuple):
    """A run: the files before it and after it."""

    before: dict[str, bytes]
    after: dict[str, bytes]

    @property
    def changed(self) -> set[str]:
        return {path for path in {*self.before, *self.after} if self.before.get(path) != self.after.get(path)}


Check = Callable[[dict[str, bytes], dict[str, bytes]], None]


class Memory(RuleBasedStateMachine):
    """One workspace and what must be true of it."""

    def __init__(self) -> None:
        super().__init__()
        self.place = harness.scratch()
        self.root = self.place.__enter__() / "ws"
        self.count = 0
        self.now = datetime(2026, 3, 15, 12, tzinfo=UTC)
        self.runs: dict[str, Past] = {}
        self.archived: dict[str, datetime] = {}  # no archive is older than that
        self.history: list[tuple[str, dict[str, bytes]]] = []  # commits, and the files as they were

    def teardown(self) -> None:
        try:
            if self.history:
                reachable = set(self.git("rev-list", "HEAD").split())
                assert reachable >= {sha for sha, _ in self.history}
                fsck = subprocess.run(["git", "fsck", "--full", "--strict"], cwd=self.root, capture_output=True)
                assert fsck.returncode == 0, fsck
        finally:
            os.environ.pop("BONSAI_NOW", None)
            self.place.__exit__(None, None, None)

    # -- looking ---------------------------------------------------------------------------------------

    def git(self, *args: str) -> str:
        return harness.git(self.root, *args)

    def disk(self) -> dict[str, bytes]:
        """What people wrote: all but indexes, logs and the generated block."""
        found = {}
        for path, data in harness.managed(self.root).items():
            kind = layout.kind_of(path)
            if kind is layout.Kind.BOOT:
                found[path] = boot.strip(data)
            elif kind is layout.Kind.NOTE or path.endswith(layout.BACKUP):
                found[path] = data
        return found

    def notes(self, archives: bool = False) -> list[str]:
        found = [path for path in self.disk() if path.startswith("memory/domains/")]
        return sorted(path for path in found if layout.is_archived(path) is archives)

    def pick(self, number: int, archives: bool = False) -> str:
        notes = self.notes(archives)
        return notes[number % len(notes)]

    def new_text(self) -> bytes:
        self.count += 1
        return f"WORD{self.count}.".encode()

    def clean(self) -> bool:
        """Whether disk and HEAD are the same, as git sees it."""
        return not self.changed()

    def changed(self) -> list[str]:
        """Where disk and HEAD differ."""
        changed = self.git("diff", "--name-only", "-z", "HEAD", "--", "memory", "MEMORY.md")
        new = self.git("ls-files", "--others", "--exclude-standard", "-z", "--", "memory", "MEMORY.md")
        return [path for path in (changed + new).split("\0") if path]

    # -- acting ----------------------------------------------------------------------------------------

    def act(self, verb: Callable[[Workspace], Any], check: Check) -> Any:
        """Run a verb, and check what it did; one that is refused does nothing. Returns its report, None if refused."""
        before = self.disk()
        try:
            with Workspace.open(self.root) as workspace:
                report = verb(workspace)
        except BonsaiError as error:
            assert error.code in {64, 65, 66, 73, 77}, error
            assert self.disk() == before, f"{error}, but something changed"
            return None
        after = self.disk()
        check(before, after)
        generated = [path for path in self.changed() if layout.kind_of(path) is layout.Kind.INDEX]
        assert self.changed() == ([] if report.commit else generated), "the verb left something uncommitted"
        self.remember(before, after, report.commit)
        return report

    def remember(self, before: dict[str, bytes], after: dict[str, bytes], commit: str | None) -> None:
        if commit:
            run = self.git("log", "-1", "--format=%(trailers:key=Bonsai-Run,valueonly)", commit).strip()
            self.runs[run] = Past(before, after)
        self.history.append((self.git("rev-parse", "HEAD").strip(), after))

    # -- the person ------------------------------------------------------------------------------------

    @initialize()
    def start(self) -> None:
        self.wait(0)
        (self.root / "code").mkdir(parents=True)
        self.git("init", "-q", "-b", "main", "--template=")
        (self.root / "code/x.txt").write_text("0\n")
        self.git("add", "code")
        self.git("commit", "-qm", "code")
        (self.root / "MEMORY.md").write_bytes(b"# Memory\n\nWORD0.\n")
        for name, begin in zip(NAMES, STARTS, strict=False):
            self.write(name, "general", begin, b"\n")
        Workspace.init(self.root)
        self.remember({}, self.disk(), None)
        self.archive(0)

    @rule(days=st.sampled_from((1, 40, 100)))
    def wait(self, days: int) -> None:
        self.now += timedelta(days=days)
        os.environ["BONSAI_NOW"] = self.now.isoformat()

    @rule(
        name=st.sampled_from(NAMES),
        domain=st.sampled_from(DOMAINS),
        start=st.sampled_from(STARTS),
        end=st.sampled_from(ENDS),
    )
    def write(self, name: str, domain: str, start: bytes, end: bytes) -> None:
        path = self.root / "memory/domains" / domain / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(start + b"# Heading\n\n" + self.new_text() + end)

    @precondition(lambda self: self.notes())
    @rule(number=files, archives=st.booleans())
    def append(self, number: int, archives: bool) -> None:
        with suppress(ZeroDivisionError):
            path = self.root / self.pick(number, archives)
            path.write_bytes(path.read_bytes() + b"\n- " + self.new_text() + b"\n")

    @precondition(lambda self: self.notes())
    @rule(number=files)
    def delete(self, number: int) -> None:
        if len(self.git("ls-files", "--deleted").splitlines()) < FEW:
            (self.root / self.pick(number)).unlink()

    @rule()
    def write_section(self) -> None:
        path = self.root / "MEMORY.md"
        word = self.new_text()
        path.write_bytes(path.read_bytes() + b"\n## Section " + word + b"\n\n" + word + b"\n")

    @rule(everything=st.booleans())
    def commit_with_git(self, everything: bool) -> None:
        (self.root / "code/x.txt").write_bytes(self.new_text())
        self.git("add", "-A" if everything else "code")
        self.git("commit", "-qm", "by hand")

    @precondition(lambda self: self.notes())
    @rule(number=files)
    def stage(self, number: int) -> None:
        self.git("add", "--", self.pick(number))

    # -- the verbs -------------------------------------------------------------------------------------

    @rule()
    def commit(self) -> None:
        report = self.act(lambda workspace: workspace.commit(), _nothing)
        assert report is None or not report.held

    @precondition(lambda self: self.notes())
    @rule(number=files)
    def commit_one(self, number: int) -> None:
        path, before = self.pick(number), self.disk()
        with Workspace.open(self.root) as workspace:
            workspace.commit(path)
        assert self.disk() == before and not self.git("diff", "--name-only", "HEAD", "--", path)

    @rule(full=st.booleans())
    def reindex(self, full: bool) -> None:
        before, head = self.disk(), self.git("rev-parse", "HEAD")
        with Workspace.open(self.root) as workspace:
            workspace.reindex(full=full)
            assert not workspace.reindex(check=True).stale
        assert self.disk() == before and self.git("rev-parse", "HEAD") == head

    @precondition(lambda self: self.notes())
    @rule(number=files)
    def archive(self, number: int) -> None:
        path = self.pick(number)
        report = self.act(lambda workspace: workspace.archive(path), _renamed(path))
        for new in report.archived if report else ():
            self.archived[new] = self.now

    @precondition(lambda self: self.notes(archives=True))
    @rule(number=files)
    def restore(self, number: int) -> None:
        path = self.pick(number, archives=True)
        self.act(lambda workspace: workspace.restore(path), _renamed(path))

    @rule(number=files, which=files)
    def restore_at(self, number: int, which: int) -> None:
        sha, then = self.history[which % len(self.history)]
        notes = sorted(path for path in then if path.startswith("memory/domains/"))
        if notes:
            path = notes[number % len(notes)]

            def check(before: dict[str, bytes], after: dict[str, bytes]) -> None:
                assert after == before | {path: then[path]}

            self.act(lambda workspace: workspace.restore(f"{path}@{sha}"), check)
            self.archived |= {path: self.now} if layout.is_archived(path) else {}

    @precondition(lambda self: self.notes())
    @rule(number=files, domain=st.sampled_from(DOMAINS))
    def move(self, number: int, domain: str) -> None:
        path = self.pick(number)
        self.act(lambda workspace: workspace.move(path, domain), _renamed(path))

    @rule()
    def daily(self) -> None:
        word = self.new_text()

        def check(before: dict[str, bytes], after: dict[str, bytes]) -> None:
            (path,) = Past(before, after).changed
            assert after[path].startswith(before.get(path, b"")) and word in after[path]

        self.act(lambda workspace: workspace.daily_add(word.decode()), check)

    @rule()
    def migrate(self) -> None:
        def check(before: dict[str, bytes], after: dict[str, bytes]) -> None:
            kept = {path for path in before if path != "MEMORY.md"}
            assert all(after[path] == before[path] for path in kept if not layout.is_daily(path))
            _no_word_lost(
                {"MEMORY.md": before["MEMORY.md"]}, {path: after[path] for path in after if path[-3:] == ".md"}
            )

        self.act(lambda workspace: workspace.migrate(), check)

    @rule()
    def purge(self) -> None:
        def check(before: dict[str, bytes], after: dict[str, bytes]) -> None:
            gone = Past(before, after).changed
            assert all(path not in after and layout.is_archived(path) for path in gone)
            assert all(self.now - self.archived[path] >= timedelta(days=GONE) for path in gone)

        self.act(lambda workspace: workspace.purge(yes=True), check)

    @rule()
    def undo(self) -> None:
        before = self.disk()
        report = self.act(lambda workspace: workspace.undo(), lambda before, after: None)
        if report is None:
            return
        past, after = self.runs[report.undone], self.disk()
        if report.conflicts:
            assert after == before and report.commit is None
            return
        edited = {path for path in past.changed if before.get(path) != past.after.get(path)}
        for path in {*before, *after, *past.changed}:
            was, now = before.get(path), after.get(path)
            if path not in past.changed:
                assert now == was, f"{path} was not in the run"
            elif not edited:
                assert now == past.before.get(path), f"{path} is not as before the run"
        later = {path: before[path] for path in edited if path in before}
        _no_word_lost(later, {**after, **{f"{path} of the run": data for path, data in past.after.items()}})
        self.archived |= {path: self.now for path in Past(before, after).changed if layout.is_archived(path)}

    @precondition(lambda self: self.runs)
    @rule(saved=st.booleans())
    def undo_after_an_edit(self, saved: bool) -> None:
        past = list(self.runs.values())[-1]
        for path in sorted(past.changed & self.disk().keys()):
            file = self.root / path
            file.write_bytes(file.read_bytes() + b"\n- " + self.new_text() + b"\n")
        if saved:
            self.commit()
        self.undo()

    # -- kills -----------------------------------------------------------------------------------------

    @precondition(lambda self: self.notes())
    @rule(number=files, domain=st.sampled_from((None, *DOMAINS)), at=st.integers(1, 260))
    def kill(self, number: int, domain: str | None, at: int) -> None:
        """kill -9 within `move` or `archive`; the next command makes it whole, or as if it had never been."""
        path, before = self.pick(number), self.disk()
        act = harness.verb(self.root, lambda ws: ws.move(path, domain) if domain else ws.archive(path))
        harness.run(act, kill_at=at, env={"BONSAI_NOW": self.now.isoformat()})
        try:
            with Workspace.open(self.root) as workspace:
                workspace.commit()
        except BonsaiError as error:
            assert error.code == 77, error
        after = self.disk()
        if after != before:
            _renamed(path)(before, after)
            op = "move" if domain else "archive"
            made = self.git("log", "-1", "--format=%H", f"--grep=Bonsai-Op: {op}").strip()
            self.remember(before, after, made)
            self.archived |= {new: self.now for new in after if layout.is_archived(new) and new not in before}

    # -- always ----------------------------------------------------------------------------------------

    @invariant()
    def status_is_honest(self) -> None:
        if not self.history:
            return
        with Workspace.open(self.root) as workspace:
            report = workspace.status()
        assert (report.uncommitted == 0) is self.clean(), report
        assert report.blocked is None


def _nothing(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    assert after == before


def _renamed(path: str) -> Check:
    """The file has another name, and at most some lines of frontmatter more or less."""

    def check(before: dict[str, bytes], after: dict[str, bytes]) -> None:
        gone, come = set(before) - set(after), set(after) - set(before)
        assert gone == {path} and len(come) == 1
        (new,) = come
        assert all(after[kept] == before[kept] for kept in before.keys() & after.keys())
        _no_word_lost({path: before[path]}, {new: after[new]})
        assert _lines(before[path]) == _lines(after[new])

    return check


_KEYS = (b"archived:", b"domain:")


def _lines(data: bytes) -> list[bytes]:
    """The lines but for what an archive or a move adds in front."""
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    return [line for line in lines if not line.startswith(_KEYS) and line not in {b"---", b""}]


def _no_word_lost(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    text = b"\n".join(after.values())
    words = {word for data in before.values() for word in data.split() if word.startswith(b"WORD")}
    assert all(word in text for word in words), [word for word in words if word not in text]


Memory.TestCase.settings = settings(
    max_examples=200 if harness.ALL else 14,
    stateful_step_count=30 if harness.ALL else 26,
    derandomize=not harness.ALL,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # to make a failure smaller takes minutes: add Phase.shrink for that
    report_multiple_bugs=False,
)
TestMemory = Memory.TestCase
