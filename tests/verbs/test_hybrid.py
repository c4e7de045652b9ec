"""Recall by meaning: what shares no word with a question is found, and what is gone is no hit and leaves no vector."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.adapters import word_vectors
from bonsai.errors import BonsaiError, Misconfigured, Unavailable, Usage
from verbs.sandbox import Sandbox
from verbs.thesaurus import Thesaurus

NOTES = {
    "garage": "# Garage\n\n- My car is red and needs new tyres.\n- The lawn is mown on Fridays.\n",
    "health": "# Health\n\n- Anna: Where does it hurt?\n- The physician said that the knee will heal.\n",
    "travel": "# Travel\n\n- The visa for Japan takes three weeks.\n",
}


@pytest.fixture
def memory(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr(word_vectors, "WordVectors", Thesaurus)
    monkeypatch.setattr(word_vectors, "is_there", lambda: True)
    for name, text in NOTES.items():
        box.write(f"memory/domains/home/{name}.md", text)
    with Workspace.open(box.root) as found:
        found.commit()
        yield found


def first(memory: Workspace, query: str, mode: str = "hybrid") -> str:
    hits = memory.recall(query, mode=mode).hits  # type: ignore[arg-type]
    return hits[0].path.rpartition("/")[2] if hits else ""


def test_what_means_the_same_is_found_in_other_words(memory: Workspace) -> None:
    assert first(memory, "sedan", "lexical") == ""
    hit = memory.recall("sedan", mode="hybrid").hits[0]
    assert hit.path == "memory/domains/home/garage.md" and "My car is red" in hit.text
    assert any(reason.startswith("alike in meaning (") for reason in hit.why)
    assert first(memory, "which doctor") == "health.md"


def test_what_has_nothing_to_do_with_a_question_is_no_hit(memory: Workspace) -> None:
    assert [hit.path for hit in memory.recall("sedan", mode="hybrid").hits] == ["memory/domains/home/garage.md"]
    assert memory.recall("quantum chromodynamics", mode="hybrid").hits == []


def test_words_still_count(memory: Workspace) -> None:
    assert first(memory, "visa for Japan") == "travel.md"


def test_an_edit_is_seen_at_once_and_leaves_nothing_of_what_was(memory: Workspace) -> None:
    assert first(memory, "sedan") == "garage.md"
    path = Path(memory.root) / "memory/domains/home/garage.md"
    path.write_text("# Garage\n\n- A bicycle stands there.\n")
    assert first(memory, "sedan") == ""
    path.write_text("# Garage\n\n- The car is back.\n")
    assert first(memory, "sedan") == "garage.md"
    path.unlink()
    assert first(memory, "sedan") == ""


def test_filters_hold(memory: Workspace) -> None:
    other = Path(memory.root) / "memory/domains/work/fleet.md"
    other.parent.mkdir(parents=True)
    other.write_text("# Fleet\n\n- Each car is leased.\n")
    found = memory.recall("sedan", mode="hybrid", domain="work").hits
    assert [hit.path for hit in found] == ["memory/domains/work/fleet.md"]


def test_without_the_extra_it_says_what_to_install(memory: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise Unavailable("the embedding model is not installed", hint="Install it.")

    monkeypatch.setattr(word_vectors, "WordVectors", absent)
    with pytest.raises(Unavailable):
        memory.recall("car", mode="hybrid")
    report = memory.recall("car")  # the settings want it where it can be had
    assert report.hits and "it was searched by words" in report.warnings[0]
    monkeypatch.setattr(word_vectors, "is_there", lambda: False)
    assert memory.recall("car").warnings == []


@pytest.mark.parametrize(("mode", "found"), [("auto", 1), ("hybrid", 1), ("lexical", 0)])
def test_the_settings_choose(memory: Workspace, mode: str, found: int) -> None:
    (Path(memory.root) / "bonsai.toml").write_text(f'[recall]\nmode = "{mode}"\n')
    with Workspace.open(memory.root) as again:
        assert len(again.recall("sedan").hits) == found


def test_a_setting_that_is_none(memory: Workspace) -> None:
    (Path(memory.root) / "bonsai.toml").write_text('[recall]\nmode = "psychic"\n[purge]\ngrace_days = 0\n')
    with pytest.raises(Misconfigured) as caught:
        Workspace.open(memory.root)
    assert "recall.mode must be one of auto, lexical, hybrid" in caught.value.cause
    assert "purge.grace_days" in caught.value.cause  # all that is wrong at once


def test_the_past_and_the_forgotten_are_found_by_words(memory: Workspace) -> None:
    for more in ({"at": "HEAD"}, {"deleted": True}):
        with pytest.raises(Usage):
            memory.recall("car", mode="hybrid", **more)  # type: ignore[arg-type]
        memory.recall("car", **more)  # type: ignore[arg-type]
    assert memory.recall("car", at="HEAD").hits


def test_what_is_erased_leaves_no_vector(memory: Workspace) -> None:
    assert first(memory, "sedan") == "garage.md"
    try:
        memory.erase("memory/domains/home/garage.md", yes=True)
    except BonsaiError as error:
        pytest.skip(f"no erasure here: {error}")
    assert first(memory, "sedan") == ""
    memory.close()
    with sqlite3.connect(f"{memory.root}/.bonsai/cache/search.db") as db:
        kept = db.execute("SELECT path FROM vectors JOIN notes ON notes.id = note").fetchall()
        assert db.execute("SELECT count(*) FROM vectors").fetchone()[0] == len(kept)
    db.close()
    assert b"memory/domains/home/garage.md" not in [path for (path,) in kept]


def test_a_credential_never_reaches_the_model(memory: Workspace) -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"  # shaped like one
    path = Path(memory.root) / "memory/domains/home/keys.md"
    path.write_text(f"# Keys\n\n- The car opens with {secret} only.\n")
    Thesaurus.seen.clear()
    assert first(memory, "sedan") in ("garage.md", "keys.md")
    assert Thesaurus.seen and not any(secret[4:14].casefold() in text for text in Thesaurus.seen)


def test_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    if word_vectors.is_there():
        pytest.skip("the extra `embed` is installed")
    Workspace.init(str(tmp_path / "ws"))
    command = [sys.executable, "-m", "bonsai", "-C", str(tmp_path / "ws"), "recall", "car", "--mode", "hybrid"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 69 and "bonsai-memory[embed]" in done.stderr and not done.stdout


def test_the_real_model_finds_other_words(tmp_path: Path) -> None:
    pytest.importorskip("wordllama", reason="the extra `embed` is not installed")
    Workspace.init(str(tmp_path / "ws"))
    path = tmp_path / "ws/memory/domains/home/garage.md"
    path.parent.mkdir(parents=True)
    path.write_text(NOTES["garage"] + NOTES["travel"])
    command = [sys.executable, "-m", "bonsai", "-C", str(tmp_path / "ws"), "recall", "automobile", "--json"]
    hits = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["hits"]
    assert "My car is red" in hits[0]["text"] and any("alike in meaning" in reason for reason in hits[0]["why"])


def test_nothing_that_is_found_by_words_is_lost_by_meaning(memory: Workspace) -> None:
    """A word that stands for another is no vector's business: `puppy` for a `pet`."""
    memory.create("memory/domains/home/animals.md", "# Home\n\n- We have had a puppy since May.\n\n- The roof leaks.\n")
    for mode in ("lexical", "hybrid"):
        [hit] = memory.recall("pets", mode=mode).hits
        assert hit.path == "memory/domains/home/animals.md" and "a word for pets in text" in hit.why
