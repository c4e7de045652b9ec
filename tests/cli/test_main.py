"""The command line as a door: exit codes, where output goes, options, questions. The verbs behind it are a stand-in."""

import json
import os
import re
import subprocess
import sys
import types
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bonsai import config, errors
from bonsai.cli import screen
from bonsai.cli.main import COMMANDS, run
from bonsai.notes import review
from bonsai.passes import reports
from bonsai.passes.reports import Outlook
from bonsai.ports.history import Commit

ERRORS = [item for item in vars(errors).values() if isinstance(item, type)]


@dataclass
class Answer:
    """What the stand-in does when any verb is called."""

    report: Any = None
    error: BaseException | None = None


class Workspace:
    """Stands in for the real one: notes the calls, gives the prepared answer."""

    answer: ClassVar[Answer]
    opened: ClassVar[list[tuple[str, dict[str, Any]]]]
    calls: ClassVar[list[tuple[str, tuple[Any, ...], dict[str, Any]]]]
    look: ClassVar[Outlook]
    settings = config.defaults()

    @classmethod
    def open(cls, path: str, **options: Any) -> "Workspace":
        cls.opened.append((path, options))
        return cls()

    @classmethod
    def init(cls, path: str, **options: Any) -> Any:
        cls.opened.append((path, options))
        return cls.answer.report

    @classmethod
    def find(cls, start: object) -> str:
        return f"found from {start}"

    def locate(self, name: str, cwd: str | None = None) -> str:
        return f"located/{name}"

    def locate_file(self, name: str, cwd: str | None = None) -> str:
        return self.locate(name, cwd)

    def now(self) -> datetime:
        return datetime(2026, 3, 15, 8, 15, tzinfo=UTC)

    def outlook(self) -> Outlook:
        return self.look

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None: ...

    def __getattr__(self, verb: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.calls.append((verb, args, options))
            if self.answer.error:
                raise self.answer.error
            return self.answer.report

        return call


@pytest.fixture(autouse=True)
def workspace(monkeypatch: pytest.MonkeyPatch) -> type[Workspace]:
    Workspace.answer, Workspace.opened, Workspace.calls = Answer(), [], []
    Workspace.look = Outlook(5000, [], True)
    module = types.ModuleType("bonsai.workspace")
    module.Workspace = Workspace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bonsai.workspace", module)
    return Workspace


def committed(**changes: Any) -> reports.CommitReport:
    return reports.CommitReport(**{"commit": "a" * 40, "paths": ["memory/a.md"], "held": [], **changes})


def healthy(**changes: Any) -> reports.StatusReport:
    facts: dict[str, Any] = {
        "status": "HEALTHY",
        "problems": [],
        "last_reindex": "2026-03-15T06:00:00Z",
        "notes": 24,
        "domains": 5,
        "total_tokens": 3840,
        "boot_tokens": 400,
        "general_violations": 0,
        "pending_purge": 0,
        "archived": 0,
        "uncommitted": 0,
        "blocked": None,
        "daemon": reports.Daemon(False, None),
    }
    return reports.StatusReport(**{**facts, **changes})


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_becomes_its_exit_code_and_names_path_cause_and_next_step(
    kind: type[errors.BonsaiError], capfd: pytest.CaptureFixture[str]
) -> None:
    Workspace.answer.error = kind("is gone", path="memory/x.md", hint="Look elsewhere.")
    assert run(["status"]) == kind.code
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "bonsai: memory/x.md: is gone\n  Look elsewhere.\n"


def test_with_json_an_error_is_one_object_too(capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.answer.error = errors.Refused("is not safe", path="memory/x.md", hint="Do not.")
    assert run(["archive", "x.md", "--json"]) == 77
    out, err = capfd.readouterr()
    expected = {"code": 77, "path": "memory/x.md", "message": "is not safe", "hint": "Do not."}
    assert json.loads(out) == {"error": expected}
    assert "is not safe" in err


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["status", "--frob"],
        ["status", "more"],
        ["move", "x.md"],
        ["log", "--limit", "x"],
        ["migrate", "x"],
    ],
)
def test_usage_errors_exit_with_64(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 64
    assert "--help` shows what it takes" in capfd.readouterr().err
    assert run([*words, "--json"]) == 64
    assert json.loads(capfd.readouterr().out)["error"]["code"] == 64


def test_without_a_command_there_is_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 64
    assert "Remember and find:" in capfd.readouterr().err
    assert run(["--help"]) == 0
    out = capfd.readouterr().out
    assert [line.split()[0] for line in out.split("\n") if re.match(r"  [a-z]\S* {2,}", line)] == list(COMMANDS)
    assert "..." not in out.partition("\n\n")[2], "each first sentence is whole"


def test_a_bug_is_one_line_and_a_traceback_only_for_those_who_ask(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Workspace.answer.error = KeyError("x")
    assert run(["status"]) == 70
    err = capfd.readouterr().err
    assert "KeyError" in err and "BONSAI_DEBUG=1" in err and "Traceback" not in err
    monkeypatch.setenv("BONSAI_DEBUG", "1")
    assert run(["status"]) == 70
    assert "Traceback" in capfd.readouterr().err


def test_errors_of_the_system_and_of_the_keyboard(capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.answer.error = OSError(28, "No space left on device", "memory/x.md")
    assert run(["status"]) == 74
    assert "memory/x.md: No space left on device" in capfd.readouterr().err
    Workspace.answer.error = KeyboardInterrupt()
    assert run(["status"]) == 130
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(("status", "code"), [("HEALTHY", 0), ("WARNING", 1), ("CRITICAL", 2)])
def test_status_says_how_it_is_by_its_exit_code(status: str, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.answer.report = healthy(status=status)
    assert run(["status"]) == code
    assert f"Status: {status}\n" in capfd.readouterr().out
    assert run(["status", "--json"]) == code
    assert json.loads(capfd.readouterr().out)["status"] == status


def test_problems_are_grouped_worst_first_and_cut(capfd: pytest.CaptureFixture[str]) -> None:
    from bonsai.notes.problem import problem

    found = [problem("uncommitted", f"memory/{n}.md", "edited: commit it") for n in range(12)]
    Workspace.answer.report = healthy(problems=[*found, problem("mass-deletion", "", "gone: look")], status="CRITICAL")
    run(["status"])
    out = capfd.readouterr().out
    assert out.index("critical: mass-deletion") < out.index("info: uncommitted")
    assert "… 7 more (--json)" in out


def test_other_exit_codes_that_are_answers(capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.answer.report = committed(held=["memory/b.md"])
    assert run(["commit", "--json"]) == 77
    assert json.loads(capfd.readouterr().out)["held"] == ["memory/b.md"]
    Workspace.answer.report = reports.ReindexReport(1, 1, 1, ["memory/_index.md"], [], stale=True)
    assert run(["reindex", "--check"]) == 1
    assert run(["reindex"]) == 0
    conflict = reports.Conflict("memory/a.md", "now\n", "then\n", "edited since")
    Workspace.answer.report = reports.UndoReport("abc", [], [], [conflict], None)
    capfd.readouterr()
    assert run(["undo"]) == 77
    out = capfd.readouterr().out
    assert "now" in out and "then" in out
    Workspace.answer.report = reports.DoctorReport([reports.Check("git", False, "broken")], [], [])
    assert run(["doctor"]) == 1


@pytest.mark.parametrize("words", [["--json", "commit"], ["commit", "--json"], ["commit", "--json", "--", "a.md"]])
def test_json_is_accepted_before_and_after_the_command(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.answer.report = committed()
    assert run(words) == 0
    assert json.loads(capfd.readouterr().out) == {
        "commit": "a" * 40,
        "paths": ["memory/a.md"],
        "held": [],
        "problems": [],
    }


def test_json_of_log_has_the_message(capfd: pytest.CaptureFixture[str]) -> None:
    commit = Commit(
        "a" * 40, "2026-03-15T08:15:00+00:00", "A", "archive: x", "", "archive", "human", "r", "", "", (), ()
    )
    Workspace.answer.report = reports.LogReport([commit])
    assert run(["log", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)["commits"][0]
    assert found["message"] == "archive: x"
    assert {"sha", "time", "op", "actor", "run", "message", "paths"} <= set(found)


def test_log_is_cut_for_people_only(workspace: type[Workspace]) -> None:
    Workspace.answer.report = reports.LogReport([])
    for words, limit in ((["log"], 20), (["log", "--json"], 0), (["log", "--limit", "0"], 0)):
        assert run(words) == 0
        assert workspace.calls[-1][2]["limit"] == limit


def test_a_file_named_like_an_option(workspace: type[Workspace]) -> None:
    Workspace.answer.report = committed()
    assert run(["commit", "--", "--json"]) == 0
    assert workspace.calls[-1][1] == ("located/--json",)


def test_which_workspace(workspace: type[Workspace], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Workspace.answer.report = committed()
    run(["commit"])
    monkeypatch.setenv("BONSAI_WORKSPACE", "/from/env")
    run(["commit"])
    run(["-C", "/from/option", "commit"])
    run(["commit", "-C", "/from/option"])
    assert [path for path, _ in workspace.opened] == [
        f"found from {tmp_path}",
        "/from/env",
        "/from/option",
        "/from/option",
    ]


def test_init_works_on_the_workspace_that_is_named(workspace: type[Workspace], monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace.answer.report = reports.InitReport("/ws", [])
    monkeypatch.setenv("BONSAI_WORKSPACE", "/from/env")
    run(["init"])
    run(["-C", "/from/option", "init"])
    run(["-C", "/from/option", "init", "/from/argument"])
    assert [path for path, _ in workspace.opened if path != "/ws"] == ["/from/env", "/from/option", "/from/argument"]


def test_after_init_a_migrate_is_proposed_only_where_it_gains_something(capfd: pytest.CaptureFixture[str]) -> None:
    """Splitting the four empty sections that init has just written would leave four notes that say nothing."""
    Workspace.answer.report = reports.InitReport("/ws", [])
    for look, proposed in (
        (Outlook(5000, [], True), True),
        (Outlook(195, [], True), False),
        (Outlook(5000, [], False), False),
    ):
        Workspace.look = look
        run(["init"])
        out = capfd.readouterr().out
        assert ("bonsai migrate --dry-run" in out, "bonsai remember" in out) == (proposed, not proposed)


def test_undo_names_what_it_took_back_and_the_edit_that_stays(capfd: pytest.CaptureFixture[str]) -> None:
    """Who deletes notes, commits that and says `undo` means the deletion, and gets the command before it."""
    Workspace.answer.report = reports.UndoReport("abc", ["memory/a.md"], [], [], None, "move: a to b", "0123456789ab")
    run(["undo"])
    out = capfd.readouterr().out
    assert "Undone: abc  move: a to b" in out
    assert "`bonsai undo 0123456789ab`" in out


def test_who_is_at_work(workspace: type[Workspace], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BONSAI_SESSION", "s1")
    monkeypatch.setenv("BONSAI_ACTOR", "agent:x")
    Workspace.answer.report = committed()
    run(["--agent", "wren", "-C", ".", "commit"])
    options = workspace.opened[0][1]
    assert (options["agent"], options["actor"], options["session"]) == ("wren", "agent:x", "s1")
    Workspace.answer.report = reports.InitReport("/ws", [])
    run(["init", "ws"])
    assert workspace.opened[1][1]["actor"] == "agent:x"


def test_migrate_with_two_arguments_is_move(workspace: type[Workspace]) -> None:
    Workspace.answer.report = reports.MoveReport("a", "b", [], None)
    assert run(["migrate", "a.md", "business"]) == run(["move", "a.md", "business"]) == 0
    assert workspace.calls[0] == workspace.calls[1] == ("move", ("located/a.md", "business"), {})


def migrated() -> reports.MigrateReport:
    created = [reports.Created("memory/domains/general/a.md", "A", 5)]
    return reports.MigrateReport(created, [], [], None, reports.Tokens(500, 100), None)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that were asked at a terminal; each is answered with yes."""
    questions: list[str] = []

    def confirm(question: str, default: bool) -> bool:
        questions.append(question)
        return True

    monkeypatch.setattr(screen, "is_interactive", lambda: True)
    monkeypatch.setattr(screen, "confirm", confirm)
    Workspace.answer.report = migrated()
    return questions


def test_a_small_memory_is_asked_about(asked: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    Workspace.look = Outlook(500, [], True)
    assert run(["migrate"]) == 0
    assert len(asked) == 1
    assert "500 tokens" in capfd.readouterr().err
    assert run(["migrate", "--yes"]) == run(["migrate", "--json"]) == run(["migrate", "--dry-run"]) == 0
    assert len(asked) == 1


def test_no_is_an_answer(asked: list[str], workspace: type[Workspace], monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace.look = Outlook(500, [], True)
    monkeypatch.setattr(screen, "confirm", lambda question, default: False)
    assert run(["migrate"]) == 130
    assert not workspace.calls


def test_type_sections_are_asked_about(asked: list[str], workspace: type[Workspace]) -> None:
    Workspace.look = Outlook(5000, ["User", "Feedback"], True)
    assert run(["migrate"]) == 0
    assert workspace.calls[-1][2]["keep"] == ["User", "Feedback"]
    assert run(["migrate", "--keep", "Project, X", "--keep", "Y"]) == 0
    assert workspace.calls[-1][2]["keep"] == ["Project, X", "Y"]
    assert len(asked) == 1


def test_nobody_is_asked_without_a_terminal(workspace: type[Workspace]) -> None:
    Workspace.look = Outlook(500, ["User"], True)
    Workspace.answer.report = migrated()
    assert run(["migrate"]) == 0
    assert workspace.calls[-1] == ("migrate", (), {"keep": [], "dry_run": False})


def test_a_slip_of_the_fingers_is_answered_with_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["statsu"]) == 64
    assert "Did you mean 'status'?" in capfd.readouterr().err
    assert run(["frobnicate"]) == 64
    assert "Did you mean" not in capfd.readouterr().err


def test_daily_takes_its_text_without_add(workspace: type[Workspace]) -> None:
    Workspace.answer.report = reports.DailyReport("memory/daily/2026-03-15.md", "x\n", None)
    for words in (["Called", "the plumber."], ["add", "Called the plumber."], ["Called the plumber.", "--json"]):
        assert run(["daily", *words]) == 0
        assert workspace.calls[-1] == ("daily_add", ("Called the plumber.",), {})
    for words in (
        ["- x"],
        ["add", "- x"],
        ["--json", "- x"],
        ["- x", "--json"],
        ["add", "--json", "- x"],
        ["--", "- x"],
    ):
        assert run(["daily", *words]) == 0
        assert workspace.calls[-1] == ("daily_add", ("- x",), {}), "a list item is text, not an option"
    assert run(["daily", "--", "--json is text"]) == 0
    assert workspace.calls[-1] == ("daily_add", ("--json is text",), {})
    assert run(["daily", "--jsn"]) == 64
    for words, day in ((["show"], None), (["show", "2026-03-15"], "2026-03-15"), ([], None)):
        assert run(["daily", *words]) == 0
        assert workspace.calls[-1] == ("daily_show", (day,), {})


@pytest.mark.parametrize(
    ("text", "code"), [("{", 65), ("[]", 65), ("[" * 100_000, 65), ('{"a": 1}', 0), ("\ufeff{}", 0)]
)
def test_reflect_apply_reads_one_object(text: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    Workspace.answer.report = reports.ApplyReport([], [], None)
    assert run(["reflect", "apply", str(tmp_path / "d.json")]) == code
    assert run(["reflect", "apply", str(tmp_path / "none.json")]) == 66
    assert run(["reflect", "apply", str(tmp_path)]) == 74


ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def python(code: str, *arguments: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **environment}, capture_output=True, timeout=60
    )


def test_json_is_utf8_in_any_locale_and_odd_bytes_are_escapes() -> None:
    done = python(
        "import sys; from bonsai.cli import door, screen\nscreen.write_json({'a': door.utf8(sys.argv[1])})",
        b"\xc3\xa9 \xff \xe8\xa8\x98",
        **ASCII,
    )
    assert done.returncode == 0, done.stderr
    assert "é \\udcff 記".encode() in done.stdout
    assert json.loads(done.stdout) == {"a": "é \udcff 記"}


def test_words_never_fail_on_a_character() -> None:
    done = python(
        "from bonsai.cli import screen\nscreen.prepare()\nscreen.write(['\\xe9 \\udcff x'])\nprint('\\xfc')", **ASCII
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"? ? x\n?\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    code = "from bonsai.cli import screen\nscreen.write(['x' * 100] * 100_000)\nscreen.write(['more'])"
    done = subprocess.run(
        ["bash", "-c", '"$1" -c "$2" | head -c 1; exit ${PIPESTATUS[0]}', "-", sys.executable, code],
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"x", b"")


@pytest.mark.parametrize(("where", "code"), [(">/dev/full", 74), (">&-", 0), (">&- 2>&- <&-", 0)])
def test_output_that_goes_nowhere(where: str, code: int) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    script = "import sys; from bonsai.cli.main import run; sys.exit(run(['completion', 'fish']))"
    done = subprocess.run(["bash", "-c", f'"$1" -c "$2" {where}', "-", sys.executable, script], capture_output=True)
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr


def test_an_error_that_cannot_be_written_as_json_either(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    words = [sys.executable, "-m", "bonsai", "-C", str(tmp_path / "nowhere"), "status", "--json"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, b"Traceback" in done.stderr) == (66, False), done.stderr


@pytest.mark.parametrize("error", [MemoryError(), ImportError("Failed to initialize: [Errno 24] Too many open files")])
def test_a_machine_that_is_full_is_no_bug(workspace: type[Workspace], error: Exception) -> None:
    Workspace.answer.error = error
    assert run(["commit"]) == 74


def test_a_terminal_is_not_driven_by_a_note() -> None:
    import pty

    controller, terminal = pty.openpty()
    code = "from bonsai.cli import screen\nscreen.write([screen.Line('a\\x1b[2Jb\\x9b\\u202e', 'red')])"
    subprocess.run([sys.executable, "-c", code], stdout=terminal, env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"})
    os.close(terminal)
    shown = os.read(controller, 1000)
    os.close(controller)
    assert shown.strip() == b"a\\x1b[2Jb\\x9b\\u202e"


def test_version_imports_nothing_but_click() -> None:
    done = python("import sys; from bonsai.cli.main import run; run(['--version']); print(*sys.modules)")
    version, modules = done.stdout.decode().split("\n", 1)
    assert version == "bonsai 0.1.0"
    loaded = {name.partition(".")[0] for name in modules.split()}
    assert not loaded & {"rich", "git", "yaml", "frontmatter", "markdown_it", "sqlite3", "filelock", "json", "watchdog"}
    assert "bonsai.workspace" not in modules.split()


def test_recall_imports_no_git_no_yaml_and_no_verb_but_itself(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Notes\n\nThe deploy runs on Friday.\n")
    code = (
        "import sys; from bonsai.cli.main import run; run(['-C', sys.argv[1], 'recall', 'deploy']); print(*sys.modules)"
    )
    python(code, str(tmp_path))  # makes the index
    modules = set(python(code, str(tmp_path)).stdout.decode().split())
    assert "bonsai.passes.recall" in modules
    unwanted = {
        "yaml",
        "subprocess",
        "email",
        "hashlib",
        "bonsai.run",
        "bonsai.passes.reports",
        "bonsai.notes.document",
    }
    assert not modules & unwanted


def test_completion_offers_notes_and_domains(tmp_path: Path) -> None:
    for path in ("domains/business/pricing.md", "domains/business/seo/page.md", "daily/2026-03-15.md", ".x/hidden.md"):
        (tmp_path / "memory" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "memory" / path).touch()

    def complete(words: str) -> list[str]:
        done = subprocess.run(
            [Path(sys.executable).with_name("bonsai")],
            env={
                **os.environ,
                "_BONSAI_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(words.count(" ")),
                "BONSAI_WORKSPACE": str(tmp_path),
            },
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        return [line.removeprefix("plain,") for line in done.stdout.splitlines()]

    assert complete("bonsai archive memory/do") == [
        "memory/domains/business/pricing.md",
        "memory/domains/business/seo/page.md",
    ]
    (tmp_path / "memory/domains/business/_index.md").touch()
    assert "memory/domains/business/_index.md" not in complete("bonsai archive memory/do")
    assert complete("bonsai move pricing.md b") == ["business", "business/seo"]
    assert complete("bonsai -C x") == ["dir,x"]
    assert complete("bonsai recall x --domain b") == ["business", "business/seo"]
    assert complete("bonsai mi") == ["migrate"]
    (tmp_path / "MEMORY-wren.md").touch()
    (tmp_path / "memory/agents/wolf").mkdir(parents=True)
    assert complete("bonsai --agent w") == ["wolf", "wren"]
    assert complete("bonsai remember x --agent-id wr") == ["wren"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_BONSAI_COMPLETE" in capfd.readouterr().out


def test_the_words_of_the_original(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BONSAI_NOW", "2026-03-15T08:15:00Z")
    Workspace.answer.report = healthy(archived=2)
    assert run(["status", "--style", "original"]) == 1
    assert capfd.readouterr().out == (
        "🌿 Bonsai Status\n──────────────────────────────\n"
        "Last reindex:  2h 15m ago (2026-03-15T06:00:00Z)\nTotal memory:  3840 tokens across 5 domains\n"
        "general/ violations: 0 files older than 30d\nPending purge: 2 files\n"
        "──────────────────────────────\nStatus: WARNING\n"
    )
    Workspace.answer.report = healthy()
    assert run(["status", "--style", "original"]) == 0
    assert "Pending purge: none\n" in capfd.readouterr().out
    Workspace.answer.report = reports.ReindexReport(24, 5, 3840, [], [])
    run(["reindex", "--style", "original"])
    assert capfd.readouterr().out == "Reindexed 24 files across 5 domains (3840 tokens)\n"
    waiting = [reports.Waiting("memory/domains/x/old-note__DELETE.md", 134)]
    purged = [reports.Purged("memory/domains/x/ancient-note__DELETE.md", 184)]
    Workspace.answer.report = reports.PurgeReport(purged, waiting, None)
    run(["purge", "--style", "original"])
    assert capfd.readouterr().out == (
        "Skipping old-note__DELETE.md — 134 days remaining\nPurged: ancient-note__DELETE.md (184d old)\n\n"
        "Purge log updated: memory/_purge_log.json\n\nPurged 1 files. 1 files still in grace period.\n"
    )
    Workspace.answer.report = reports.ReflectReport("now", [review.Candidate("a", "b", 1, 2, "c", "d")] * 7)
    run(["reflect", "--style", "original"])
    assert capfd.readouterr().out.startswith(
        "Reflection staged: 7 candidates written to _reflect_staging.json\n"
        "Run your agent now to process the reflection staging file.\n\nAgent instructions:\n  1. Read memory/"
    )
