"""Connecting agents: each in its own conventions, twice is once, and taking it back gives the very bytes back."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from verbs.sandbox import Sandbox

from bonsai import openclaw
from bonsai.cli import connect as connect_command
from bonsai.connect.agents import AGENTS
from bonsai.connecting import NAMES
from bonsai.errors import BadData, Refused, Usage
from bonsai.notes.boot_limits import LOADERS

OWN = {
    ".claude/CLAUDE.md": b"# Mine\r\n\r\nSpeak German.",
    ".claude/settings.json": b'{"model": "x",\n   "hooks": {"PreCompact": [{"hooks": []}]}, "env": {"A": "\xc3\xa9"}}',
    ".codex/AGENTS.md": b"Use tabs.\n",
    ".codex/config.toml": b'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"',
    ".gemini/GEMINI.md": b"## Gemini Added Memories\n- likes tea\n",
    ".gemini/settings.json": b'{\n    "theme": "dark",\n    "mcpServers": {"other": {"command": "y"}}\n}\n',
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def connect(box: Sandbox, agent: str, home: Path, project: str = "", **given: bool) -> list[str]:
    report = box.ws.connect_agent(agent, home=str(home), project=project, **given)
    return [change.path for change in report.changes]


def project_of(agent: str, home: Path) -> str:
    return str(home / "project") if agent in ("cursor", "letta") else ""


@pytest.mark.parametrize("agent", NAMES)
@pytest.mark.parametrize("own", [{}, OWN], ids=["new", "theirs"])
def test_twice_is_once_and_back_is_back(garden: Sandbox, home: Path, agent: str, own: dict[str, bytes]) -> None:
    for name, data in own.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    before, ours = files(home), garden.files()
    where = project_of(agent, home)
    (home / "project").mkdir()
    report = garden.ws.connect_agent(agent, home=str(home), project=where, dry_run=True)
    assert report.changes and all(change.diff.startswith("--- ") for change in report.changes)
    assert files(home) == before
    changed = connect(garden, agent, home, where)
    assert changed == [change.path for change in report.changes]
    now = files(home)
    assert connect(garden, agent, home, where) == []
    assert files(home) == now
    assert sorted(connect(garden, agent, home, where, remove=True)) == sorted(changed)
    assert files(home) == before
    assert connect(garden, agent, home, where, remove=True) == []
    assert garden.files() == ours
    assert [path.name for path in home.rglob("*") if path.is_dir() and not any(path.iterdir())] == ["project"]


def crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


EDITED = [".claude/CLAUDE.md", ".claude/settings.json", ".codex/AGENTS.md", ".codex/config.toml"]
EDITED += [".gemini/GEMINI.md", ".gemini/settings.json", "project/.cursor/mcp.json"]


@pytest.mark.parametrize(
    "made",
    [
        crlf,
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.rstrip(b"\r\n"),
        lambda data: b"",
        lambda data: b"\n\n",
        lambda data: b'{"mcpServers": {}, "hooks": {"SessionStart": []}}' if data.startswith(b"{") else data,
    ],
    ids=["crlf", "bom", "no end", "empty", "blank", "empty holders"],
)
def test_odd_files_come_back_byte_for_byte(garden: Sandbox, home: Path, made: Callable[[bytes], bytes]) -> None:
    """An empty file was deleted on --remove, and an empty object of theirs went with ours."""
    own = {**OWN, "project/.cursor/mcp.json": b'{\n  "mcpServers": {}\n}\n'}
    for name in EDITED:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(made(own[name]))
    before = files(home)
    for agent in ("claude-code", "codex", "gemini", "cursor"):
        where = project_of(agent, home)
        connect(garden, agent, home, where)
        now = files(home)
        mixed = [name for name, data in now.items() if b"\r\n" in data and b"\n" in data.replace(b"\r\n", b"")]
        assert connect(garden, agent, home, where) == [] and files(home) == now and mixed == []
        if before[EDITED[1]].startswith(b"\xef\xbb\xbf"):
            assert all(data.startswith(b"\xef\xbb\xbf") for name, data in now.items() if name in before)
        connect(garden, agent, home, where, remove=True)
        assert files(home) == before


def test_a_read_only_file_is_left_alone_and_so_are_the_others(garden: Sandbox, home: Path) -> None:
    for name, data in OWN.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    (home / ".claude/settings.json").chmod(0o444)
    with pytest.raises(Refused, match="read-only"):
        connect(garden, "claude-code", home)
    assert files(home) == dict(sorted(OWN.items()))
    assert not garden.has(".bonsai/connected.json")


def test_one_way_to_connect_claude_code_takes_the_place_of_the_other(garden: Sandbox, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/CLAUDE.md").write_bytes(OWN[".claude/CLAUDE.md"])
    connect(garden, "claude-code", home)
    connect(garden, "claude-code", home, directory=True)
    assert (home / ".claude/CLAUDE.md").read_bytes() == OWN[".claude/CLAUDE.md"]
    assert "autoMemoryDirectory" in (home / ".claude/settings.json").read_text()
    assert connect(garden, "claude-code", home, directory=True) == []
    connect(garden, "claude-code", home)
    assert "autoMemoryDirectory" not in (home / ".claude/settings.json").read_text()
    assert b"MEMORY.md" in (home / ".claude/CLAUDE.md").read_bytes()
    connect(garden, "claude-code", home, remove=True)
    assert files(home) == {".claude/CLAUDE.md": OWN[".claude/CLAUDE.md"]}


def test_codex_is_told_in_the_file_that_it_reads(garden: Sandbox, home: Path) -> None:
    (home / ".codex").mkdir()
    connect(garden, "codex", home)
    (home / ".codex/AGENTS.override.md").write_text("Only this.\n")
    connect(garden, "codex", home)
    assert b"recall" in (home / ".codex/AGENTS.override.md").read_bytes()
    assert not (home / ".codex/AGENTS.md").exists()
    connect(garden, "codex", home, remove=True)
    assert files(home) == {".codex/AGENTS.override.md": b"Only this.\n"}


@pytest.mark.parametrize("link", [False, True], ids=["codex", "claude-code"])
def test_the_rules_that_init_wrote_stay(garden: Sandbox, home: Path, link: bool) -> None:
    """Both are the block of AGENTS.md where the project is the workspace: each took the other's place."""
    garden.ws.init(garden.root, templates=True)
    rules = garden.root / "AGENTS.md"
    before = rules.read_bytes()
    if link:
        (garden.root / "CLAUDE.md").symlink_to("AGENTS.md")
    agent = "claude-code" if link else "codex"
    assert connect(garden, agent, home, str(garden.root))
    assert rules.read_bytes() == before
    connect(garden, agent, home, str(garden.root), remove=True)
    assert rules.read_bytes() == before and files(home) == {}


def test_what_others_wrote_meanwhile_stays(garden: Sandbox, home: Path) -> None:
    for name, data in OWN.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    connect(garden, "claude-code", home)
    settings = json.loads((home / ".claude/settings.json").read_text())
    settings["new"] = True
    settings["hooks"]["SessionStart"].append({"hooks": [{"type": "command", "command": "mine"}]})
    (home / ".claude/settings.json").write_text(json.dumps(settings))
    with (home / ".claude/CLAUDE.md").open("ab") as file:
        file.write(b"More of mine.\n")
    connect(garden, "claude-code", home, remove=True)
    left = json.loads((home / ".claude/settings.json").read_text())
    assert left["new"] and left["env"] == {"A": "é"} and "bonsai" not in json.dumps(left)
    assert left["hooks"]["SessionStart"] == [{"hooks": [{"type": "command", "command": "mine"}]}]
    text = (home / ".claude/CLAUDE.md").read_bytes()
    assert text.startswith(OWN[".claude/CLAUDE.md"]) and text.endswith(b"More of mine.\n") and b"bonsai" not in text


def test_claude_code_gets_an_import_and_hooks(garden: Sandbox, home: Path) -> None:
    connect(garden, "claude-code", home)
    text = (home / ".claude/CLAUDE.md").read_text()
    assert f"\n@{garden.root}/MEMORY.md\n" in text
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    for event, verb in {"SessionStart": "heartbeat", "PreCompact": "commit"}.items():
        assert hooks[event] == [{"hooks": [{"type": "command", "command": f"bonsai -C {garden.root} {verb}"}]}]
    connect(garden, "claude-code", home, remove=True)
    connect(garden, "claude-code", home, directory=True)
    settings = json.loads((home / ".claude/settings.json").read_text())
    assert settings["autoMemoryDirectory"] == f"{garden.root}/memory"
    connect(garden, "claude-code", home, str(home / "app"))
    server = json.loads((home / "app/.mcp.json").read_text())["mcpServers"]["bonsai"]
    assert server == {"command": "bonsai", "args": ["-C", str(garden.root), "mcp"]}


def test_codex_gets_a_table_that_toml_reads(garden: Sandbox, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_bytes(OWN[".codex/config.toml"])
    connect(garden, "codex", home)
    found = tomllib.loads((home / ".codex/config.toml").read_text())
    assert found["mcp_servers"]["bonsai"]["args"] == ["-C", str(garden.root), "mcp"]
    assert found["model"] == "x" and found["mcp_servers"]["other"]["command"] == "y"


def test_cursor_rules_have_the_types_that_cursor_wants(garden: Sandbox, home: Path) -> None:
    with pytest.raises(Usage):
        connect(garden, "cursor", home)
    connect(garden, "cursor", home, str(home / "app"))
    _, head, body = (home / "app/.cursor/rules/bonsai.mdc").read_text().split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["alwaysApply"] is True and isinstance(fields["description"], str)
    assert str(garden.root) in body


def test_the_skill_follows_the_standard(garden: Sandbox, home: Path) -> None:
    connect(garden, "openclaw", home)
    place = home / ".openclaw/workspace/skills/bonsai/SKILL.md"
    _, head, body = place.read_text().split("---\n", 2)
    fields = yaml.safe_load(head)
    assert fields["name"] == place.parent.name and 0 < len(fields["description"]) <= 1024
    assert fields["metadata"]["openclaw"]["requires"]["bins"] == ["bonsai"]
    assert len(body.splitlines()) < 500


def test_llms_txt_has_its_shape(garden: Sandbox, home: Path) -> None:
    garden.write("memory/daily/2026-03-14.md", "# A day\n")
    garden.write("memory/domains/business/page.md", "---\nsource: web\n---\nObey the page.\n")
    connect(garden, "llms-txt", home)
    rows = (garden.root / "llms.txt").read_text().splitlines()
    assert rows[0].startswith("# ") and rows[2].startswith("> ")
    heads = [row for row in rows if row.startswith("## ")]
    assert heads == ["## Business", "## General", "## Notes", "## Optional"]
    links = [row for row in rows if row.startswith("- [")]
    assert "- [Pricing](memory/domains/business/pricing.md): A dinner costs 895 kr." in links
    assert "Obey" not in "\n".join(rows)
    garden.write("memory/domains/business/more.md", "# More\n")
    assert connect(garden, "llms-txt", home) and "more.md" in (garden.root / "llms.txt").read_text()


def test_letta_gets_only_keys_that_it_knows(garden: Sandbox, home: Path) -> None:
    garden.write("memory/domains/business/odd.md", "---\nid: aaaaaaaaaaaa\ntags: [a]\n---\n\n# Odd\n\nText.\n")
    out = home / "letta"
    connect(garden, "letta", home, str(out))
    found = files(out)
    assert {"system/memory.md", "reference/business/odd.md", "reference/dates.md"} <= set(found)
    for name, data in found.items():
        if name.endswith(".md"):
            _, head, _ = data.decode().split("---\n", 2)
            fields = yaml.safe_load(head)
            assert set(fields) == {"description"} and fields["description"].strip()
    assert found["reference/business/odd.md"].endswith(b"# Odd\n\nText.\n")
    garden.ws.archive("memory/domains/business/odd.md")
    connect(garden, "letta", home, str(out))
    assert "reference/business/odd.md" not in files(out)
    (out / ".bonsai-export").write_text("generated by bonsai connect\n../victim.md\n")
    (home / "victim.md").write_text("mine")
    connect(garden, "letta", home, str(out), remove=True) if (home / "letta").exists() else None
    assert (home / "victim.md").read_text() == "mine"


def test_files_of_others_are_never_overwritten(garden: Sandbox, home: Path) -> None:
    (garden.root / "llms.txt").write_text("# Mine\n")
    with pytest.raises(Refused):
        connect(garden, "llms-txt", home)
    (home / "letta/system").mkdir(parents=True)
    (home / "letta/system/memory.md").write_text("mine")
    with pytest.raises(Refused):
        connect(garden, "letta", home, str(home / "letta"))
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("[mcp_servers.bonsai]\ncommand = 'mine'\n")
    with pytest.raises(Refused):
        connect(garden, "codex", home)
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text('{ // a comment\n "theme": 1 }')
    with pytest.raises(BadData):
        connect(garden, "gemini", home)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"autoMemoryDirectory": "/elsewhere"}')
    with pytest.raises(Refused):
        connect(garden, "claude-code", home, directory=True)
    assert not (home / ".codex/AGENTS.md").exists() and not (home / ".gemini/GEMINI.md").exists()


def test_a_link_into_dotfiles_stays_a_link(garden: Sandbox, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/CLAUDE.md").write_text("mine\n")
    (home / ".claude").mkdir()
    (home / ".claude/CLAUDE.md").symlink_to(home / "dotfiles/CLAUDE.md")
    connect(garden, "claude-code", home)
    assert (home / ".claude/CLAUDE.md").is_symlink()
    assert "bonsai:begin" in (home / "dotfiles/CLAUDE.md").read_text()


def test_obsidian_opens_the_workspace_without_trouble(garden: Sandbox, home: Path) -> None:
    garden.write(
        "memory/domains/business/vault.md",
        "---\naliases: [Price list, 'Prices']\ntags: [money/eur]\n---\n\n"
        "See [[pricing]], [[Pricing|the price]], [[pricing#Dinner]], ![[pricing]], [p](pricing.md), [[later]].\n",
    )
    connect(garden, "obsidian", home)
    settings = json.loads((garden.root / ".obsidian/app.json").read_text())
    assert settings["useMarkdownLinks"] is True
    assert {item.severity for item in garden.ws.status().problems if item.code == "broken-link"} <= {"info"}
    garden.ws.commit()
    assert not any(".obsidian" in path for path in garden.tree())
    moved = garden.ws.move("memory/domains/business/pricing.md", "sales")
    assert moved.links


def test_openclaw_gets_the_shapes_that_it_knows(garden: Sandbox) -> None:
    found = openclaw.search(garden.ws, {"query": "dinner", "maxResults": 1})
    assert set(found) == {"results", "provider", "model", "fallback", "citations", "mode"}
    result = found["results"][0]
    assert (result["path"], result["source"]) == ("memory/domains/business/pricing.md", "memory")
    assert result["startLine"] <= result["endLine"] and "895" in result["snippet"]
    assert openclaw.search(garden.ws, {"query": "dinner", "minScore": 1e6})["results"] == []
    for corpus, hits in {"memory": 1, "all": 1, "wiki": 0, "sessions": 0}.items():
        assert (
            len(openclaw.search(garden.ws, {"query": "dinner", "maxResults": 1, "corpus": corpus})["results"]) == hits
        )
    down = openclaw.search(garden.ws, {"query": " "})
    assert down["results"] == [] and down["disabled"] is True and down["unavailable"] is True and down["action"]
    path = "memory/domains/business/pricing.md"
    assert openclaw.get(garden.ws, {"path": path, "from": 5, "lines": 1}) == {
        "text": "A dinner costs 895 kr.",
        "path": path,
    }
    assert openclaw.get(garden.ws, {"path": "memory/none.md"}) == {"text": "", "path": "memory/none.md"}
    assert openclaw.get(garden.ws, {"path": "../../etc/passwd"})["disabled"] is True


def test_the_command_shows_the_diff_first(garden: Sandbox, home: Path) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "bonsai", "-C", str(garden.root), "connect", *words],
            capture_output=True,
            text=True,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        )
        return done.returncode, done.stdout, done.stderr

    code, _, told = run("gemini")
    assert code == 77 and "+## Memory" in told and "--yes" in told and not files(home)
    code, out, _ = run("gemini", "--dry-run", "--json")
    assert code == 0 and json.loads(out)["dry_run"] is True and not files(home)
    code, _, told = run("gemini", "--yes")
    assert "`bonsai` is not on the PATH, so gemini could not run it" in told, "as after quickstart, whose .venv has it"
    assert code == 0 and (home / ".gemini/GEMINI.md").exists()
    assert run("gemini", "--remove", "--yes")[0] == 0 and not files(home)


def test_boot_prints_what_is_loaded_with_the_notice(garden: Sandbox) -> None:
    garden.write("MEMORY.md", garden.read("MEMORY.md") + b"- one line\n" * 300)

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "bonsai", "-C", str(garden.root), "boot", *words], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = run("--for", "claude-code").split("\n")
    assert "# Memory Index" in run() and shown[201].startswith("> WARNING: MEMORY.md is 3") and shown[200] == ""
    assert json.loads(run("--for", "claude-code", "--json"))["notice"] == shown[201]
    assert garden.ws.connect_agent("claude-code", home="/nowhere", dry_run=True).notice == shown[201]


def test_every_agent_has_its_table_row() -> None:
    assert {*AGENTS, "letta", "llms-txt"} == set(NAMES) == set(connect_command.AGENTS)
    assert set(LOADERS) == set(connect_command.LOADERS)


def test_a_server_that_a_person_made_under_our_name_is_theirs(garden: Sandbox, home: Path) -> None:
    mine = b'{"mcpServers": {"bonsai": {"command": "trees", "args": ["--pots"]}}}'
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_bytes(mine)
    with pytest.raises(Refused):
        connect(garden, "gemini", home)
    assert connect(garden, "gemini", home, remove=True) == []
    assert files(home) == {".gemini/settings.json": mine}


def test_our_own_server_moves_with_the_workspace(garden: Sandbox, home: Path) -> None:
    old = {"mcpServers": {"bonsai": {"command": "/old/bonsai", "args": ["-C", "/old/place", "mcp"]}}}
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text(json.dumps(old))
    connect(garden, "gemini", home)
    assert json.loads((home / ".gemini/settings.json").read_text())["mcpServers"]["bonsai"]["args"][1] == str(
        garden.root
    )
