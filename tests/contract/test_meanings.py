"""Every index that knows what passages mean keeps the port's promises, with numpy and without."""

import builtins
import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from verbs.thesaurus import Thesaurus

from bonsai.adapters import vector_search, word_vectors
from bonsai.adapters.memory_search import MemorySearch
from bonsai.adapters.sqlite_search import SqliteSearch
from bonsai.errors import Busy, Unavailable
from bonsai.notes.change import Stat
from bonsai.notes.document import document
from bonsai.notes.meaning import UNIT, around, close, dot, gist, gist_of_query, likeness
from bonsai.passes.search import Layered
from bonsai.ports.derived import Passages, SearchIndex

STAT = Stat(1, 2, 3, 4, 0o100644)
TALK = (
    "- **Anna**: Which car is it?\n- **Ben**: The red one.\n- **Anna**: Coffee?\n- **Ben**: Tea.\n"
    "- **Anna**: With milk?\n- **Ben**: Without.\n"
)
FLEET = (
    "- **Cleo**: Each vehicle is leased.\n- **Dan**: Since May.\n- **Cleo**: Good.\n- **Dan**: Not at all.\n"
    "- **Cleo**: Why not?\n- **Dan**: Money.\n"
)


@pytest.fixture(params=["sqlite", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchIndex]:
    found: SearchIndex = SqliteSearch(f"{tmp_path}/cache/search.db") if request.param == "sqlite" else MemorySearch()
    put(found, ("memory/talk.md", TALK), ("memory/fleet.md", FLEET), ("memory/empty.md", ""))
    yield found
    found.close()


def put(index: SearchIndex, *notes: tuple[str, str]) -> None:
    with index.writing():
        for path, text in notes:
            index.put(document(path, text.encode()), STAT)
        index.finish("")


def vector(text: str) -> bytes:
    return Thesaurus().embed([text])[0]


def alike(index: Passages, text: str, limit: int = 2, **more) -> set[str]:
    return {item.piece.text for item in index.alike(vector(text), limit, **more)}


def test_what_means_the_same_comes_first(index: SearchIndex) -> None:
    index.learn(Thesaurus())
    assert alike(index, "sedan") == {"- **Anna**: Which car is it?", "- **Cleo**: Each vehicle is leased."}
    assert alike(index, "drink") == {"- **Anna**: Coffee?", "- **Ben**: Tea."}


def test_only_of_the_notes_that_are_kept(index: SearchIndex) -> None:
    index.learn(Thesaurus())
    found = index.alike(vector("sedan"), 9, lambda about: about.path == "memory/fleet.md")
    assert {item.about.path for item in found} == {"memory/fleet.md"}
    assert index.alike(vector("sedan"), 9, lambda about: False) == []


def test_what_was_changed_is_unknown_until_it_is_learned(index: SearchIndex) -> None:
    index.learn(Thesaurus())
    put(index, ("memory/talk.md", TALK.replace("car", "vehicle")))
    assert index.closeness(vector("car"), [("memory/talk.md", 0)]) == {}
    assert alike(index, "sedan", 1) == {"- **Cleo**: Each vehicle is leased."}
    seen = Thesaurus.seen[:]
    index.learn(Thesaurus())
    assert len(Thesaurus.seen) - len(seen) == 6 and not any("leased" in text for text in Thesaurus.seen[len(seen) :])
    assert "- **Anna**: Which vehicle is it?" in alike(index, "sedan")
    with index.writing():
        index.drop("memory/talk.md")
    assert index.closeness(vector("car"), [("memory/talk.md", 0)]) == {}


def test_another_model_begins_anew(index: SearchIndex) -> None:
    index.learn(Thesaurus())
    count = len(Thesaurus.seen)
    index.learn(Thesaurus())
    assert len(Thesaurus.seen) == count
    index.learn(Thesaurus("thesaurus 2"))
    assert len(Thesaurus.seen) > count + 11


def test_closeness_is_that_of_the_passage_and_of_those_behind(index: SearchIndex) -> None:
    index.learn(Thesaurus())
    places = [("memory/talk.md", number) for number in range(7)] + [("memory/none.md", 0)]
    found = index.closeness(vector("car"), places)
    assert sorted(found) == places[:6]
    vectors = Thesaurus().embed([gist(piece) for piece in document("memory/talk.md", TALK.encode()).pieces])
    assert found == {("memory/talk.md", at): close(vectors, at, vector("car")) for at in range(6)}


def test_layers_know_what_each_of_them_knows(index: SearchIndex) -> None:
    late = MemorySearch()
    put(late, ("memory/talk.md", "- **Anna**: The sedan is blue.\n- **Ben**: No.\n"))
    both = Layered(index, late, frozenset({"memory/talk.md"}))
    both.learn(Thesaurus())
    assert "- **Anna**: Which car is it?" not in alike(both, "car", 5) and alike(both, "car", 5) > {
        "- **Cleo**: Each vehicle is leased.",
    }
    found = both.closeness(vector("car"), [("memory/talk.md", 0), ("memory/talk.md", 2), ("memory/fleet.md", 0)])
    assert sorted(found) == [("memory/fleet.md", 0), ("memory/talk.md", 0)]


def test_it_is_known_to_other_processes_and_taken_out_with_its_note(tmp_path: Path) -> None:
    path = f"{tmp_path}/search.db"
    one, two = SqliteSearch(path), SqliteSearch(path)
    put(one, ("memory/talk.md", TALK), ("memory/fleet.md", FLEET))
    one.learn(Thesaurus())
    assert "- **Anna**: Which car is it?" in alike(two, "sedan")
    with two.writing():
        two.drop("memory/talk.md")
    assert alike(one, "sedan", 1) == {"- **Cleo**: Each vehicle is leased."}
    one.close()
    two.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM vectors").fetchone() == (1,)
    db.close()


def test_learning_waits_for_nobody(tmp_path: Path) -> None:
    path = f"{tmp_path}/search.db"
    one, two = SqliteSearch(path), SqliteSearch(path)
    put(one, ("memory/talk.md", TALK))
    with one.writing(), pytest.raises(Busy):
        two.learn(Thesaurus())
    assert two.closeness(vector("car"), [("memory/talk.md", 0)]) == {}
    one.close()
    two.close()


@pytest.fixture(params=["as it is", "without numpy"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest, **more):
        if name == "numpy":
            raise ImportError(name)
        return real(name, *rest, **more)

    if request.param == "without numpy":
        monkeypatch.setattr(builtins, "__import__", absent)


@pytest.mark.usefixtures("machine")
def test_the_nearest_are_those_with_the_greatest_product() -> None:
    chance = random.Random(4)
    rows = [bytes(chance.randrange(256) for _ in range(16)) for _ in range(500)] * 2
    wanted = rows[7]
    expected = sorted(range(len(rows)), key=lambda at: -dot(wanted, rows[at]))[:20]
    assert vector_search.nearest(wanted, b"".join(rows), 20) == expected
    assert vector_search.nearest(wanted, b"", 20) == []
    numbers = [0, 1, 498, 998, 999, 1000]
    found = vector_search.closeness(b"".join(rows), numbers, wanted)
    assert found == {at: close(rows, at, wanted) for at in numbers[:-1]}
    for few in (1, 2, 3):
        found = vector_search.closeness(b"".join(rows[:few]), range(few), wanted)
        assert found == {at: close(rows[:few], at, wanted) for at in range(few)}


def test_likeness_is_a_cosine_with_what_stands_around() -> None:
    texts = ["car", "red", "car tea", ""]
    vectors = Thesaurus().embed(texts)
    known = {("n", at): close(vectors, at, vector("vehicle")) for at in range(4)}
    own, after, sides = likeness(known, ("n", 2))
    summed: Callable[[float, float], list[float]] = lambda back, on: [  # noqa: E731
        a + back * b + on * c for a, b, c in zip(*(_signed(vectors[at]) for at in (2, 1, 3)), strict=True)
    ]
    wanted = _signed(vector("vehicle"))
    assert own == pytest.approx(_cosine(_signed(vectors[2]), wanted), abs=0.02)
    assert after == pytest.approx(_cosine(summed(1, 0), wanted), abs=0.02)
    assert sides == pytest.approx(_cosine(summed(0.5, 0.5), wanted), abs=0.02)
    assert likeness(known, ("n", 3))[0] == 0.0 and likeness(known, ("other", 0)) == (0.0, 0.0, 0.0)


def _signed(data: bytes) -> list[float]:
    return [float(value - 256 if value > 127 else value) for value in data]


def _cosine(one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5


def test_a_gist_is_what_a_passage_is_about() -> None:
    text = "# Talk\n\n## The trip\n\nAnna: Where is the Ferry, and what of our ferry?\n"
    [piece] = [piece for piece in document("memory/a.md", text.encode()).pieces if "Ferry" in piece.text]
    assert "ferry" in gist(piece) and gist(piece).count("ferry") == 1 and "the" not in gist(piece).split()
    assert gist_of_query(["the", "Ferries", "12"]) == "ferries"
    assert dot(b"\x7f", b"\x7f") == UNIT and around([]) == set()


def test_without_the_package_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors.util, "find_spec", lambda name: None)
    assert not word_vectors.is_there()
    with pytest.raises(Unavailable) as caught:
        word_vectors.WordVectors()
    assert "bonsai-memory[embed]" in caught.value.hint


def test_the_real_model_knows_words(tmp_path: Path) -> None:
    pytest.importorskip("wordllama", reason="the extra `embed` is not installed")
    model = word_vectors.WordVectors()
    car, motor, visa, nothing = model.embed(["car", "sedan", "visa japan weeks", ""])
    assert len(car) == 256 and not any(nothing)
    assert dot(car, motor) > 0.4 * UNIT and dot(visa, motor) < 0.2 * UNIT
    assert dot(car, car) == pytest.approx(UNIT, rel=0.05)
    assert "wordllama" in model.name
    [strange] = model.embed(["ß 走れ 🜚 \ud800 " + "x" * 40])
    assert len(strange) == 256
