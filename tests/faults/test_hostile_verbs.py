"""Every command in a workspace whose repository names programs to run: none of them runs, and no command breaks."""

import io
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from harness import ALL
from traps import VECTORS, git

from bonsai.cli.main import cli, run
from bonsai.errors import Usage

A, B, C = (f"memory/domains/general/{name}.md" for name in "abc")
WEB = "memory/domains/general/web.md"
BUG = 70
FIRST = "{first}"  # the workspace's first commit
#: One command line for each command, in an order in which each has something to do.
LINES = [
    f"move {C} business", "move memory/domains/business/c.md general", f"archive {B}", f"restore {B}", "undo",
    "commit", "reindex --full", "reindex --check", "status", "doctor", "verify", "doctor --fix",
    "remember roses cost 12 --category business", "recall roses", f"recall roses --at {FIRST}",
    "recall roses --deleted", "retrieve roses", "daily add watered", "daily show", "daily", "hot", "tree --show",
    "consolidate --mode quick", "cold --init", "sync-critical", "metrics", "distill --text watered", "ingest-daily",
    "validate", f"extract-metadata {A}", "search-url", "allow", "log", f"log {C}", f"why {C}", f"why {C}:1",
    f"show {C}", f"show {C} --at {FIRST}", "diff", f"diff {FIRST}", "feedback add --rule r --why w --how h",
    "feedback list", "feedback fix", "feedback", "dates check", f"dates fix {C}", "dates", "check-facts",
    "heartbeat", "relocate", "reflect", "reflect show", "reflect apply memory/_reflect_staging.json", "purge",
    "migrate", f"promote {WEB}", "boot", "connect llms-txt",
    "memory-tool {{\"command\":\"view\",\"path\":\"/memories\"}}", "mcp", "turn add hello", "turn list", "turn",
    "context", "prompt", "fact set k v", "fact get k", "fact list", "fact search v", "fact why k", "fact",
    "event add met", "event list", "event", "summary set short", "summary get", "summary",
    "scratch set k v --run r", "scratch get k --run r", "followup set soon", "followup peek", "followup get",
    "followup", "trust", "sync {remote}", "trust --yes", "sync {remote}", "sync", "daemon status", "daemon crontab",
    "daemon logs", "daemon", "completion bash", "init --bare", "init", f"erase {C} --yes", "daemon start",
    "daemon restart", "daemon stop",
]  # fmt: skip
#: `watch` is what `daemon start` starts; the other two write a unit outside the workspace and ask git nothing.
ELSEWHERE = {"watch", "daemon install", "daemon uninstall"}


def commands(group: click.Command, context: click.Context, before: str = "") -> Iterator[str]:
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            found = group.get_command(context, name)
            assert found is not None
            yield from commands(found, context, f"{before} {name}".strip())
    else:
        yield before


def test_every_command_has_its_line() -> None:
    told = [line.split() for line in LINES]
    missing = [
        name
        for name in commands(cli, click.Context(cli))
        if name not in ELSEWHERE and not any(words[: len(name.split())] == name.split() for words in told)
    ]
    assert missing == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with three notes, a remote, and a boot file to split."""
    folder = tmp_path / "ws"
    for path in (A, B, C):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"# {path}\n\n- roses are sold here, since yesterday\n")
    (folder / WEB).write_text("---\nsource: web\n---\nFrom somewhere.\n")
    (folder / "MEMORY.md").write_text("# Me\n\n## Pricing\n\n- A dinner costs 895 kr.\n")
    assert run(["-C", str(folder), "init"]) == 0
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "remote.git")], check=True)
    return folder


def edit(path: Path, why: str) -> None:
    if path.exists():
        path.write_text(f"{path.read_text()}- before {why.partition(' ')[0]}\n")


CHOSEN = [[name] for name in VECTORS] if ALL else []


@pytest.mark.parametrize("names", [list(VECTORS), *CHOSEN], ids=lambda names: names[0] if len(names) == 1 else "all")
def test_no_command_runs_a_program_of_the_repository(
    root: Path, canary: tuple[Path, str], names: list[str], capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    mark, program = canary
    began = time.monotonic()
    first = git(root, "rev-parse", "HEAD")
    for name in names:
        VECTORS[name](root, program)
    mark.unlink(missing_ok=True)
    worked, broken, said = 0, list[str](), list[str]()
    try:
        for line in LINES:
            edit(root / A, line)
            words = [word.format(first=first, remote=root.parent / "remote.git") for word in line.split()]
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
            capfd.readouterr()
            if words[0] == "daemon":  # leaves a process behind
                code = subprocess.run([sys.executable, "-m", "bonsai", "-C", str(root), *words]).returncode
            else:
                code = run(["-C", str(root), *words])
            out, err = capfd.readouterr()
            assert not mark.exists(), f"{line} ran {mark.read_text()}"
            # After a refusal a later line may have nothing to do; one that is no command at all is a mistake here.
            broken += [f"{line}: {err or out}"] if code == BUG or (code == Usage.code and "--help" in err) else []
            worked += code == 0
            said.append(f"{time.monotonic() - began:6.1f} {code:3} {line}  {err.strip()[:600]}")
    finally:
        run(["-C", str(root), "daemon", "stop"])
    print("\n".join(said))
    assert not broken, "\n".join(broken)
    assert worked > len(LINES) * 2 / 3
