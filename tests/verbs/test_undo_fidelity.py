"""Runs and hand edits in any order, then one of the runs is taken back: exactly its files, and every later edit stays.

What must be true is said without looking at how undo works: of bytes where nobody came after the run, else of lines,
each of which is written only once.
"""

import os
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from bonsai.errors import BonsaiError
from bonsai.notes import boot, layout
from bonsai.passes.reports import UndoReport
from verbs.sandbox import Sandbox, set_time

ALL = os.environ.get("BONSAI_FAULTS") == "all"
SEEDS = range(200 if ALL else 10)
STEPS = 9
DOMAINS = ("general", "business", "tech/deep")
TOKEN = re.compile(rb"token-\d+")
Files = dict[str, bytes]


class Story:
    """A workspace, what it looked like before and after each run, and dice."""

    def __init__(self, box: Sandbox, seed: int) -> None:
        self.box, self.dice = box, random.Random(seed)
        self.now = datetime(2026, 3, 15, 8, tzinfo=UTC)
        self.count = 0
        self.runs: dict[str, tuple[Files, Files]] = {}
        self.told: list[str] = []

    # -- what people see -------------------------------------------------------------------------------

    def notes(self) -> Files:
        found = {}
        for path, data in self.box.files().items():
            if layout.kind_of(path) is layout.Kind.BOOT:
                found[path] = boot.strip(data)
            elif layout.kind_of(path) is layout.Kind.NOTE:
                found[path] = data
        return found

    def pick(self, archived: bool = False) -> str:
        names = [path for path in self.notes() if path.startswith("memory/domains/")]
        return self.dice.choice([path for path in names if layout.is_archived(path) is archived])

    def line(self) -> str:
        self.count += 1
        return f"- {self.dice.choice(['milk', 'rent', 'fair', 'ferry', 'tax'])} token-{self.count}"

    # -- the person ------------------------------------------------------------------------------------

    def edit(self) -> None:
        for _ in range(self.dice.randint(1, 3)):
            others = [path for path in self.notes() if path != "MEMORY.md"]
            if not others or self.dice.random() < 0.25:
                name = f"memory/domains/{self.dice.choice(DOMAINS)}/n{self.count}.md"
                text = "".join(f"{self.line()}\n" for _ in range(self.dice.randint(2, 12)))
                self.box.write(name, f"# Note {self.count}\n\n{text}")
                continue
            path = self.dice.choice(others)
            lines = self.box.read(path).decode().split("\n")
            at = self.dice.randint(0, len(lines) - 1)
            lines[at : at + self.dice.randint(0, 1)] = [self.line() for _ in range(self.dice.randint(0, 2))]
            self.box.write(path, "\n".join(lines))

    def delete(self) -> None:
        if names := [path for path in self.notes() if path.startswith("memory/domains/")]:
            os.unlink(self.box.root / self.dice.choice(names))

    # -- the verbs -------------------------------------------------------------------------------------

    def archive(self) -> str | None:
        return self.box.ws.archive(self.pick(), self.pick(), reason="old").commit

    def move(self) -> str | None:
        return self.box.ws.move(self.pick(), self.dice.choice(DOMAINS)).commit

    def restore(self) -> str | None:
        if self.dice.random() < 0.5:
            return self.box.ws.restore(self.pick(archived=True)).commit
        back = self.dice.randint(1, min(5, self.box.count() - 1))
        return self.box.ws.restore(f"{self.pick()}@HEAD~{back}").commit

    def purge(self) -> str | None:
        self.now += timedelta(days=200)
        set_time(self.now.isoformat())
        return self.box.ws.purge(yes=True).commit

    def daily(self) -> str | None:
        return self.box.ws.daily_add(self.line()[2:]).commit

    def migrate(self) -> str | None:
        section = f"\n## Topic {self.count}\n\n{self.line()}\n{self.line()}\n"
        self.box.write("MEMORY.md", self.box.read("MEMORY.md") + section.encode())
        return self.box.ws.migrate().commit

    def reflect(self) -> str | None:
        decisions = []
        for path in {self.pick(), self.pick()}:
            digest = self.box.git("hash-object", "--no-filters", path).strip()
            one = {
                "archive": {"reason": "old"},
                "migrate": {"domain": self.dice.choice(DOMAINS)},
                "merge": {"into": self.pick()},
            }
            word = self.dice.choice(list(one))
            decisions.append({"file": path, "decision": word, "hash": digest, **one[word]})
        return self.box.ws.reflect_apply({"candidates": decisions}).commit

    def undo(self) -> str | None:
        return self.box.ws.undo(self.dice.choice(list(self.runs))).commit

    def commit(self) -> str | None:
        self.edit()
        return self.box.ws.commit().commit

    def step(self) -> None:
        """One run, with its past remembered."""
        verb: Callable[[], str | None] = self.dice.choice(
            [
                self.archive,
                self.move,
                self.restore,
                self.purge,
                self.daily,
                self.migrate,
                self.reflect,
                self.undo,
                self.commit,
            ]
        )
        self.now += timedelta(hours=5)
        set_time(self.now.isoformat())
        self.box.ws.commit(all_deletions=True)
        before = self.notes()
        try:
            sha = verb()
        except (BonsaiError, IndexError):  # refused, or there was nothing to do it with
            return
        if sha:
            run = self.box.last()[0].run
            start = self.tree_before(sha) if verb in (self.commit, self.migrate) else before
            self.runs[run] = (start, self.notes())
            self.told.append(f"{verb.__name__} {run}")

    def tree_before(self, sha: str) -> Files:
        """The notes in the commit before a run that committed edits first, or that was one."""
        found = {}
        for path in self.box.tree(f"{sha}~1"):
            data = self.box.committed(path, f"{sha}~1") or b""
            if layout.kind_of(path) is layout.Kind.BOOT:
                found[path] = boot.strip(data)
            elif layout.kind_of(path) is layout.Kind.NOTE:
                found[path] = data
        return found


def tokens(files: Files) -> set[bytes]:
    return {token for data in files.values() for token in TOKEN.findall(data)}


def check(before: Files, after: Files, now: Files, then: Files, report: UndoReport) -> None:
    """Args: the run's own `before` and `after`, what stood `now` when it was undone, what stands `then`."""
    if report.conflicts:
        assert report.commit is None
        assert then == now, "with conflicts nothing changes"
        return
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    untouched = all(now.get(path) == after.get(path) for path in changed)
    for path in {*now, *then} - changed:
        assert then.get(path) == now.get(path), f"{path} was none of its files"
    if untouched:
        for path in changed:
            assert then.get(path) == before.get(path), f"{path} is not as it was"
    ran = tokens({path: after[path] for path in changed if path in after})
    was = tokens({path: before[path] for path in changed if path in before})
    later = tokens(now) - ran - was
    assert later <= tokens(then), "a later edit is lost"
    gone = was - tokens(after)  # what the run took away
    kept = set(report.kept)
    if not kept and not (changed - now.keys() - before.keys()):
        there = {path for path in changed if path in before and (path in now or path not in after)}
        wanted = tokens({path: before[path] for path in there}) & gone
        assert wanted <= tokens(then), "what the run took away is not back"
    for path in changed & now.keys() & then.keys() & after.keys() & before.keys():
        deleted = set(TOKEN.findall(after[path])) - set(TOKEN.findall(now[path]))
        assert not deleted & set(TOKEN.findall(then[path])), f"{path}: a line that was deleted later is back"


@pytest.mark.parametrize("dice", SEEDS)
def test_a_run_of_any_age_is_taken_back(box: Sandbox, dice: int) -> None:
    story = Story(box, dice)
    set_time(story.now.isoformat())
    for _ in range(5):
        story.edit() if story.notes().keys() - {"MEMORY.md"} else box.write(
            "memory/domains/general/a.md", "# A\n\n- one\n"
        )
    for _ in range(STEPS):
        story.edit()
        if story.dice.random() < 0.1:
            story.delete()
        story.step()
    story.edit()
    for run in story.dice.sample(list(story.runs), min(3, len(story.runs))):
        now = story.notes()
        report = box.ws.undo(run)
        try:
            check(*story.runs[run], now, story.notes(), report)
        except AssertionError as error:
            raise AssertionError(f"{story.told}, undo of {run} ({report})") from error
        box.assert_clean()
