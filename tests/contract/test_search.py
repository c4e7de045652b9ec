"""Every search index keeps the port's promises: what is taken in is found, what is gone is not, all or nothing."""

import os
import random
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonsai.adapters import sqlite_search
from bonsai.adapters.memory_search import MemorySearch
from bonsai.adapters.sqlite_search import SqliteSearch
from bonsai.errors import Busy
from bonsai.notes.change import Stat
from bonsai.notes.document import document
from bonsai.notes.query import index_terms
from bonsai.ports.derived import SearchIndex

STAT = Stat(1, 2, 3, 4, 0o100644)
LINES = "- the kraken wakes\n- a quiet day\n- coffee at noon\n- the pump hums\n- tea at four\n- night falls\n"
HEAD = "---\ntitle: Sea\ndescription: Of monsters\ntags: [deep, blue]\naliases: [Ocean]\n---\n"


@pytest.fixture(params=["sqlite", "memory"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchIndex]:
    found: SearchIndex = SqliteSearch(f"{tmp_path}/cache/search.db") if request.param == "sqlite" else MemorySearch()
    yield found
    found.close()


def put(index: SearchIndex, *notes: tuple[str, str], mark: str = "") -> None:
    with index.writing():
        for path, text in notes:
            index.put(document(path, text.encode("utf-8", "surrogateescape")), STAT)
        index.finish(mark)


def texts(index: SearchIndex, query: str, **more) -> set[str]:
    return {item.piece.text for item in index.search(index_terms(query), 50, **more)}


def test_it_is_complete_only_when_somebody_says_so(index: SearchIndex) -> None:
    assert index.mark() is None
    with pytest.raises(Busy), index.reading():
        pass
    put(index, mark="m1")
    assert index.mark() == "m1"
    with index.reading():
        assert index.search(["x"], 5) == []


def test_what_is_put_is_found_and_replaced_and_dropped(index: SearchIndex) -> None:
    put(index, ("memory/a.md", LINES), ("memory/b.md", "A kraken, too.\n"))
    assert texts(index, "kraken") >= {"- the kraken wakes", "A kraken, too."}
    put(index, ("memory/a.md", "- all is well\n"))
    assert texts(index, "kraken") == {"A kraken, too."}
    assert texts(index, "well") == {"- all is well"}
    with index.writing():
        index.drop("memory/b.md")
        index.drop("memory/never.md")
    assert texts(index, "kraken") == set()
    assert set(index.known()) == {"memory/a.md"} and index.known()["memory/a.md"].stat == STAT
    assert [about.path for about in index.abouts()] == ["memory/a.md"]


def test_a_candidate_comes_with_its_surroundings(index: SearchIndex) -> None:
    text = HEAD + "# Log of the *deep*\n\n" + "Filler that is long enough to stand alone. " * 20 + "\n\n" + LINES
    put(index, ("memory/domains/sea/log.md", text), ("memory/z.md", "- other\n"))
    (found,) = [item for item in index.search(index_terms("coffee"), 1) if "coffee" in item.piece.text]
    assert (found.about.title, found.about.description, found.about.type) == ("Sea", "Of monsters", "")
    assert set(found.fields.tags) >= {"deep", "blue"} and "sea" in found.fields.path
    assert found.piece.trail == ("Log of the deep",) and found.piece.lines == (13, 13) and found.number == 3
    assert found.piece.terms == index_terms(found.piece.text) and "log" in found.piece.heading
    assert [item.text for item in found.before] == ["- the kraken wakes", "- a quiet day"]
    assert [item.text for item in found.after] == ["- the pump hums", "- tea at four"]


def test_passages_beside_a_found_one_are_candidates_when_asked_for(index: SearchIndex) -> None:
    put(index, ("memory/a.md", LINES), ("memory/b.md", "- other\n- lines\n"))
    assert texts(index, "coffee") == {"- coffee at noon"}
    assert texts(index, "coffee", beside=1) == {"- a quiet day", "- coffee at noon", "- the pump hums"}
    assert texts(index, "night", beside=2) == {"- the pump hums", "- tea at four", "- night falls"}


@pytest.mark.parametrize("query", ["sea", "monsters", "blue", "ocean", "gardens", "log"])
def test_a_note_is_found_by_what_stands_above_its_text(index: SearchIndex, query: str) -> None:
    put(index, ("memory/domains/gardens/log.md", HEAD + LINES), ("memory/b.md", "- other\n"))
    assert {item.about.path for item in index.search(index_terms(query), 5)} == {"memory/domains/gardens/log.md"}


def test_only_notes_that_pass_a_filter(index: SearchIndex) -> None:
    put(index, *((f"memory/n{number}.md", f"- kraken {number}\n") for number in range(20)))
    found = index.search(index_terms("kraken"), 5, keep=lambda about: about.path.endswith("7.md"))
    assert {item.about.path for item in found} == {"memory/n7.md", "memory/n17.md"}


def test_nothing_inside_a_failed_writing_stays(index: SearchIndex) -> None:
    put(index, ("memory/a.md", "- kraken\n"), mark="m1")
    with pytest.raises(KeyboardInterrupt), index.writing():
        index.put(document("memory/a.md", b"- squid\n"), STAT)
        index.put(document("memory/b.md", b"- squid\n"), STAT)
        index.finish("m2")
        raise KeyboardInterrupt
    assert texts(index, "kraken") == {"- kraken"} and texts(index, "squid") == set()
    assert index.mark() == "m1" and set(index.known()) == {"memory/a.md"}


@pytest.mark.parametrize(
    "query", ['"', "'; --", "*", "a AND b", "NEAR(a b)", "{x}:y", "^", "C++", "x" * 100_000, "記憶"]
)
def test_any_term_is_only_a_term(index: SearchIndex, query: str) -> None:
    put(index, ("memory/a.md", f"say {query} here\n"))
    terms = [*index_terms(query), *query.split()]
    assert isinstance(index.search(terms[:30], 5), list)
    assert index.statistics(terms[:30]).passages == 1


def test_odd_names_and_texts_are_taken_in(index: SearchIndex) -> None:
    put(index, ("memory/caf\udce9.md", "kraken \udcff\n"), ("memory/é.md", "kra\0ken kraken \x1b[31mred\n"))
    assert {item.about.path for item in index.search(["kraken"], 5)} == {"memory/caf\udce9.md", "memory/é.md"}
    put(index, ("memory/caf\udce9.md", "squid\n"), ("memory/empty.md", ""), ("memory/front.md", "---\na: b\n---\n"))
    assert {item.about.path for item in index.search(["kraken"], 5)} == {"memory/é.md"}


def counted(index: SearchIndex, terms: list[str]) -> tuple:
    found = index.statistics(terms)
    return found.passages, found.words, found.notes, dict(found.holding), dict(found.about)


def holders(index: SearchIndex, terms: list[str]) -> list[tuple[str, tuple[int, int]]]:
    found = [item for item in index.search(terms, 1000) if {*item.piece.terms, *item.piece.heading} & {*terms}]
    return sorted((item.about.path, item.piece.lines) for item in found)


def test_counts_are_the_same_whatever_came_and_went(tmp_path: Path) -> None:
    chance = random.Random(7)
    words = ["kraken", "squid", "sea", "multi-agent", "getUserName", "数据库", "the"]

    def note() -> str:
        return "".join(f"- {' '.join(chance.choices(words, k=4))}\n" for _ in range(chance.randint(0, 5)))

    used, memory = SqliteSearch(f"{tmp_path}/a/search.db"), MemorySearch()
    for _ in range(60):
        path, text = f"memory/{chance.choice(words[:3])}{chance.randint(0, 4)}.md", HEAD + note()
        for one in (used, memory):
            if text.count("kraken") == 3:
                with one.writing():
                    one.drop(path)
            else:
                put(one, (path, text))
    fresh = SqliteSearch(f"{tmp_path}/b/search.db")
    put(fresh)
    with fresh.writing():
        for item in memory._documents.values():
            fresh.put(item, STAT)
    terms = [*index_terms(" ".join(words)), "nothing"]
    assert counted(used, terms) == counted(memory, terms) == counted(fresh, terms)
    assert holders(used, terms) == holders(memory, terms) == holders(fresh, terms)
    used.close()
    fresh.close()


# -- the file ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    index = SqliteSearch(f"{tmp_path}/cache/search.db")
    put(index, ("memory/a.md", "- kraken\n"), mark="m")
    index.close()
    return tmp_path / "cache/search.db"


def test_only_its_owner_can_read_it(place: Path) -> None:
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) & 0o077 == 0


def test_it_is_still_there_in_the_next_process(place: Path) -> None:
    index = SqliteSearch(str(place))
    assert index.mark() == "m" and texts(index, "kraken") == {"- kraken"} and index.rebuilt == ""
    index.close()


def _zero(place: Path) -> None:
    place.write_bytes(b"")


def _garbage(place: Path) -> None:
    place.write_bytes(os.urandom(8192))


def _cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])


def _pages(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    place.write_bytes(bytes(data))


def _schema(place: Path) -> None:
    with sqlite3.connect(place) as db:
        db.execute("PRAGMA user_version=3")
    db.close()


def _elsewhere(place: Path) -> None:
    data = place.read_bytes()
    place.rename(f"{place}.kept")  # its number must not be given away again
    place.write_bytes(data)


def _folder(place: Path) -> None:
    place.unlink()
    (place / "x").mkdir(parents=True)


@pytest.mark.parametrize("harm", [_zero, _garbage, _cut, _pages, _schema, _elsewhere, _folder])
def test_a_damaged_file_is_set_aside_and_made_anew(place: Path, harm: Callable[[Path], None]) -> None:
    harm(place)
    index = SqliteSearch(str(place))
    for _ in range(5):
        try:
            if index.mark() is None:
                put(index, ("memory/b.md", "- squid\n"))
            with index.reading():
                assert texts(index, "squid") == {"- squid"} and texts(index, "kraken") == set()
            break
        except Busy:
            continue
    else:
        pytest.fail("it stays unusable")
    assert index.rebuilt
    index.close()


def test_a_reader_sees_one_state_while_another_process_writes(place: Path) -> None:
    reader, writer = SqliteSearch(str(place)), SqliteSearch(str(place))
    with reader.reading():
        assert texts(reader, "kraken") == {"- kraken"}
        put(writer, ("memory/a.md", "- squid\n"))
        assert texts(reader, "kraken") == {"- kraken"}
    with reader.reading():
        assert texts(reader, "squid") == {"- squid"}
    assert set(reader.known()) == {"memory/a.md"}
    reader.close()
    writer.close()


def test_a_second_writer_is_told_at_once(place: Path) -> None:
    one, two = SqliteSearch(str(place)), SqliteSearch(str(place))
    with one.writing(), pytest.raises(Busy), two.writing():
        pass
    put(two, ("memory/b.md", "- squid\n"))
    one.close()
    two.close()


def test_another_way_to_cut_texts_makes_it_anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_search, "SCHEMA", sqlite_search.SCHEMA + 1)
    index = SqliteSearch(str(place))
    with pytest.raises(Busy):
        index.mark()
    assert index.mark() is None and "another version" in index.rebuilt
    index.close()
