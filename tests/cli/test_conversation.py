"""The commands of a conversation: their JSON, their exit codes, what they print of text that is not theirs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from console import NOW

from bonsai.cli.main import run

Shell = Callable[..., Any]


@pytest.fixture
def sh(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("BONSAI_NOW", NOW)
    for name in ("REDIS_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BONSAI_WORKSPACE", str(tmp_path / "ws"))

    def shell(*words: str, code: int = 0, plain: bool = False) -> Any:
        capfd.readouterr()
        got = run([*words] if plain else [*words, "--json"])
        out, err = capfd.readouterr()
        assert got == code, err
        assert "Traceback" not in err
        return out if plain else json.loads(out)

    shell("init", str(tmp_path / "ws"))
    return shell


def test_a_turn_and_its_context(sh: Shell) -> None:
    done = sh("turn", "add", "I live in Oslo.", "Noted.", "--user", "ann", "--fact", "city=Oslo=Norway", "--id", "1")
    assert set(done) == {"turn", "messages", "facts", "refused", "repeated", "warnings"}
    assert [item["role"] for item in done["messages"]] == ["user", "assistant"]
    assert done["facts"][0]["value"] == "Oslo=Norway"
    assert sh("turn", "add", "I live in Oslo.", "Noted.", "--user", "ann", "--id", "1")["repeated"]
    assert sh("turn", "add", "It rains.", "--role", "tool")["message"]["role"] == "tool"
    assert len(sh("turn", "list")["messages"]) == len(sh("turn")["messages"]) == 3
    sh("summary", "set", "She moved.")
    sh("followup", "set", '{"asked": "where"}')
    context = sh("context", "--user", "ann", "--query", "Oslo")
    assert set(context) == {
        *("thread", "user", "buffer", "summary", "history", "facts", "passages", "follow_up", "tokens", "left_out"),
        "warnings",
    }
    assert (context["summary"], context["follow_up"]) == ("She moved.", {"asked": "where"})
    assert sh("context", "--user", "ann")["follow_up"] == {"asked": "where"}  # it only peeks
    assert sh("context", "--user", "ann", "--tokens", "120")["left_out"]
    assert "| city: Oslo=Norway" in sh("prompt", "--user", "ann")["prompt"]
    assert sh("prompt", "--user", "ann", plain=True) == sh("prompt", "--user", "ann")["prompt"]


def test_a_follow_up_is_taken_once(sh: Shell) -> None:
    sh("followup", "set", "just words", "--thread", "t")
    assert sh("followup", "peek", "--thread", "t")["follow_up"] == "just words"
    assert sh("followup", "get")["follow_up"] is None
    assert sh("followup", "get", "--thread", "t")["follow_up"] == "just words"
    assert sh("followup", "get", "--thread", "t")["follow_up"] is None


def test_facts(sh: Shell) -> None:
    for number in range(22):
        sh("fact", "set", f"key {number}", f"value {number}", "--user", "ann")
    assert len(sh("fact", "list", "--user", "ann")["facts"]) == 20
    assert len(sh("fact", "search", "VALUE", "--user", "ann")["facts"]) == 10
    assert sh("fact", "list")["facts"] == sh("fact")["facts"] == []
    made = sh("fact", "set", "key 1", "new", "--user", "ann", "--confidence", "0.5")
    assert (made["version"], made["confidence"]) == (2, 0.5)
    assert (
        sh("fact", "set", "key 1", "newer", "--user", "ann", "--confidence", "0.4", "--keep-confident")["value"]
        == "new"
    )
    assert sh("fact", "get", "key 1", "--user", "ann")["value"] == "new"
    assert [fact["value"] for fact in sh("fact", "why", "key 1", "--user", "ann")["facts"]] == ["new", "value 1"]


def test_events_and_scratch(sh: Shell) -> None:
    assert sh("event", "add", "run", '{"km": 5, "where": "park"}', "--user", "ann")["stored"]
    assert not sh("event", "add", "run", '{"where": "park", "km": 5}', "--user", "ann")["stored"]
    assert [item["payload"]["km"] for item in sh("event", "list", "--user", "ann")["events"]] == [5]
    assert sh("event")["events"] == []
    sh("scratch", "set", "plan", "ask first", "--run", "r1")
    assert sh("scratch", "get", "plan", "--run", "r1")["value"] == "ask first"
    sh("scratch", "get", "plan", code=66)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["fact", "get", "nothing"], 66),
        (["fact", "why", "nothing"], 66),
        (["fact", "set", "a", "b", "--confidence", "7"], 65),
        (["fact", "set", "a", "b", "--confidence", "high"], 64),
        (["fact", "set", "", "b"], 65),
        (["fact", "set", "aws", "AKIA" + "IOSFODNN7EXAMPLQ"], 77),
        (["event", "add", "run", "{"], 65),
        (["event", "add", "run", "[1]"], 65),
        (["turn", "add", "", ""], 64),
        (["turn", "add", "x", "y", "--role", "tool"], 64),
        (["turn", "add", "x", "y", "--fact", "nothing"], 64),
        (["turn", "add", "x" * 10, "--thread", "t" * 700], 65),
        (["scratch"], 64),
        (["summary", "set", ""], 65),
    ],
)
def test_what_cannot_be_done_has_its_exit_code(sh: Shell, words: list[str], code: int) -> None:
    sh(*words, code=code)


def test_servers_that_are_away(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1")
    assert sh("summary", "get")["summary"] == ""
    assert sh("turn", "add", "hello", "hi")["warnings"]
    monkeypatch.setenv("REDIS_URL", "nonsense")
    sh("summary", "get", code=78)
    monkeypatch.delenv("REDIS_URL")
    monkeypatch.setenv("DATABASE_URL", "postgresql://ann:hunter2@127.0.0.1:1/x")
    error = sh("turn", "list", code=69)["error"]
    assert "hunter2" not in json.dumps(error)
    assert "try again" in error["hint"]


def test_text_cannot_drive_the_terminal(sh: Shell) -> None:
    sh("turn", "add", "red \x1b[31m\x07 \u202e", "ok", "--fact", "a\x1b]0;x=\x1b[2J", "--user", "ann")
    for words in (["turn", "list"], ["context", "--user", "ann"], ["fact", "list", "--user", "ann"]):
        assert not set(sh(*words, plain=True)) & set("\x1b\x07\u202e")
