"""What one user told is in nobody else's context, in no index, and in no boot file."""

import os
import random
from pathlib import Path

import pytest

from bonsai import Workspace
from bonsai.conversation import Context, Conversation, Told

TURNS = 1000 if os.environ.get("BONSAI_FAULTS") == "all" else 100
USERS = ["ann", "Ann", "ANN", "ann-1", "ann 1", "bob", "bob/ann", "../ann", "ann:bob", "ann\nbob", "", "日本"]


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "ws")
    (tmp_path / "ws/memory/domains/general").mkdir(parents=True)
    (tmp_path / "ws/memory/domains/general/office.md").write_text(
        "# Office\n\nThe secret colour of the office is red.\n"
    )
    with Workspace.open(tmp_path / "ws") as workspace:
        workspace.commit()
    return tmp_path / "ws"


def texts(context: Context) -> str:
    parts = [*(f"{fact.key} {fact.value}" for fact in context.facts), *(hit.text for hit in context.passages)]
    return "\n".join([*parts, *(hit.path for hit in context.passages)])


@pytest.mark.parametrize("facts", ["tree", "sqlite", "postgres"])
def test_mixed_turns_of_many_users_stay_apart(ws: Path, facts: str, request: pytest.FixtureRequest) -> None:
    """Every value holds the mark of its user; all ask for the same words, and everybody may know of the office."""
    dice = random.Random(7)
    marks = {user: f"zq{number}mark" for number, user in enumerate(USERS)}
    told: set[str] = set()
    leaks, own = [], 0
    urls = dict.fromkeys(("redis_url", "database_url", "namespace"), "")
    if facts == "postgres":
        urls = {name: request.getfixturevalue(name) for name in urls}
    with Conversation.open(ws, **urls, facts=facts) as talk:
        for number in range(TURNS):
            user = dice.choice(USERS)
            key, value = f"secret colour {dice.randrange(3)}", f"the secret colour is {marks[user]} {number}"
            talk.write_back(f"thread of {user}", user, f"hello {number}", "ok", facts=[Told(key, value)])
            told.add(user)
            reader = dice.choice(USERS)
            context = talk.load(f"thread of {reader}", reader, "secret colour", peek=True)
            seen = texts(context) + talk.prompt(context)
            others = [other for other in told - {reader} if marks[other] in seen]
            # What the owner of a workspace tells is the shared memory, as far as it is in the tree.
            leaks += [(reader, other) for other in others if not (other == "" and facts == "tree")]
            own += marks[reader] in seen
            assert "office" in seen
    assert leaks == []
    assert own > TURNS / 3
    generated = [*ws.glob("MEMORY*.md"), *ws.glob("memory/**/_index.md")]
    for path in generated:
        text = path.read_text(encoding="utf-8")
        assert not [user for user in USERS if user and marks[user] in text], path
        assert "users" not in text


def test_the_boot_file_does_not_change_when_users_talk(ws: Path) -> None:
    before = (ws / "MEMORY.md").read_bytes(), (ws / "memory/_index.md").read_bytes()
    with Conversation.open(ws, redis_url="", database_url="") as talk:
        talk.set_fact("ann", "a very particular key", "a value", 1.0)
    with Workspace.open(ws) as workspace:
        workspace.reindex(full=True)
        assert workspace.status().problems == []
    assert ((ws / "MEMORY.md").read_bytes(), (ws / "memory/_index.md").read_bytes()) == before


def test_a_fact_that_a_person_edits_is_the_fact(ws: Path) -> None:
    with Conversation.open(ws, redis_url="", database_url="") as talk:
        path = ws / talk.set_fact("ann", "city", "Oslo").source
        path.write_text(
            path.read_text().replace("\nOslo\n", "\nTromsø\n\nShe told me on the phone.\n"), encoding="utf-8"
        )
        assert [fact.value for fact in talk.facts("ann")] == ["Tromsø"]
        assert talk.set_fact("ann", "city", "Bodø").version == 2
        assert [fact.value for fact in talk.fact_history("ann", "city")] == ["Bodø", "Tromsø", "Oslo"]
    assert "She told me on the phone." in path.read_text(encoding="utf-8")


def test_a_note_that_cannot_be_read_spoils_no_other(ws: Path) -> None:
    with Conversation.open(ws, redis_url="", database_url="") as talk:
        good, bad = (ws / talk.set_fact("ann", key, "x").source for key in ("good", "bad"))
        bad.write_text("---\nkey: [\n---\n\nx\n", encoding="utf-8")
        assert [fact.key for fact in talk.facts("ann")] == ["good"]
        assert talk.load("t", "ann", "x").facts[0].source == good.relative_to(ws).as_posix()


def test_undo_takes_back_a_fact(ws: Path) -> None:
    with Conversation.open(ws, redis_url="", database_url="") as talk:
        talk.set_fact("ann", "city", "Oslo")
        talk.set_fact("ann", "city", "Bergen")
    with Workspace.open(ws) as workspace:
        workspace.undo()
    with Conversation.open(ws, redis_url="", database_url="") as talk:
        assert [(fact.value, fact.version) for fact in talk.facts("ann")] == [("Oslo", 1)]


def test_erase_takes_a_text_out_of_what_was_said(ws: Path) -> None:
    with Conversation.open(ws, redis_url="", database_url="", facts="sqlite") as talk:
        talk.write_back("t", "ann", "The code is Zanzibar-7, keep it.", "I will.", metadata={"seen": ["Zanzibar-7"]})
        talk.record("ann", "said", {"what": "Zanzibar-7"})
        talk.set_fact("ann", "code", "Zanzibar-7")
        talk.set_summary("t", "She told Zanzibar-7.")
    (ws / "memory/domains/general/code.md").write_text("# Code\n\nIt is Zanzibar-7.\n", encoding="utf-8")
    with Workspace.open(ws) as workspace:
        workspace.commit()
        workspace.erase(match="Zanzibar-7", yes=True)
    for path in (ws / ".bonsai").rglob("*"):
        assert not path.is_file() or b"anzibar-7" not in path.read_bytes(), path
    with Conversation.open(ws, redis_url="", database_url="", facts="sqlite") as talk:
        found = talk.history("t")
        assert len(found) == 2
        assert found[0].content.startswith("The code is ")
        assert found[0].content.endswith(", keep it.")
        assert [fact.key for fact in talk.search_facts("ann", "code")] == ["code"]
