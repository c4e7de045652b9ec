"""Recall over an index in memory: what is found first, what is never found, what a hit shows."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date

import pytest

from bonsai.adapters.memory import MemoryStore
from bonsai.adapters.memory_search import MemorySearch
from bonsai.errors import Busy, Usage
from bonsai.notes.layout import Tree
from bonsai.notes.printed import count_tokens
from bonsai.notes.ranking import Ranked
from bonsai.passes import recall, search
from bonsai.passes.found import Hit
from bonsai.passes.recall import MAX_TEXT, PLACE, Scope

NOTE = "memory/domains/general/x.md"
FILLER = "It takes a while to say all of this, since the section has to be longer than a short one may be. " * 4
TODAY = date(2026, 3, 15)
EVERYWHERE = Scope()
TREE = {
    "memory/domains/business/pricing.md": "---\ntitle: Pricing\ntags: [rates]\ntype: project\n---\n# Pricing\n\n"
    f"{FILLER}\n\n- Events cost 900 euros a day\n- Talks are free\n",
    "memory/domains/business/seo/plan.md": "# Plan\n\nWrite about events every week.\n",
    "memory/domains/general/agents.md": "# File-back ingest lint\nSee multi-agent set-up.\n",
    "memory/domains/general/syntax.md": 'status: done\nretry OR skip (timeout "error)\nC++ and foo*\n',
    "memory/domains/general/old__DELETE.md": "Events of the past.\n",
    "memory/domains/general/_index.md": "# General Index\n\nevents\n",
    "memory/daily/2026-03-04.md": "- met Kim about the Zephyr launch\n",
    "memory/domains/general/stub.md": "---\ntitle: 2026-03-04\ndescription: About billing\naliases: [Invoices]\n---",
    "MEMORY.md": "# Memory\n\n- Owner likes tea\n\n<!-- bonsai:begin -->\nzebra\n<!-- bonsai:end -->\n",
    "memory/domains/general/bad.md": "---\ntitle: a: b\n---\nRuns as a service.\n",
}


class Nobody:
    """No daemon."""

    def ask(self, since: str) -> tuple[str, list[str] | None]:
        return "", None


def source(store: MemoryStore) -> search.Source:
    return search.Source(store, Tree(), Nobody(), search.Eyes(), lambda: "", 10**30, lambda what, done, total: None)


def index_of(files: dict[str, bytes]) -> MemorySearch:
    index = MemorySearch()
    search.everything(source(MemoryStore(files)), index)
    return index


def find(query: str, files: dict[str, bytes], limit: int = 10, scope: Scope = EVERYWHERE) -> list[Ranked]:
    return recall.find(query, index_of(files), limit, scope)


def hits(query: str, files: dict[str, bytes], tokens: int = 750) -> list[Hit]:
    return recall.hits(find(query, files), tokens, TODAY)


def ask(query: str, limit: int = 10, **scope: str) -> list[str]:
    files = {path: text.encode() for path, text in TREE.items()}
    return [item.candidate.about.path.rpartition("/")[2] for item in find(query, files, limit, Scope(**scope))]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("events every week", "plan.md"),
        ("what do events cost?", "pricing.md"),
        ("File-back", "agents.md"),
        ("multi-agent", "agents.md"),
        ("ingest", "agents.md"),
        ("status: done", "syntax.md"),
        ('timeout "error', "syntax.md"),
        ("retry OR", "syntax.md"),
        ("C++ and foo", "syntax.md"),
        ("foo*", "syntax.md"),
        ("zephyr", "2026-03-04.md"),
        ("billing", "stub.md"),
        ("invoice", "stub.md"),
        ("stub", "stub.md"),
        ("rates", "pricing.md"),
        ("tea", "MEMORY.md"),
        ("Runs as a service", "bad.md"),
    ],
)
def test_what_is_found_first(query: str, first: str):
    assert ask(query)[:1] == [first]


@pytest.mark.parametrize(
    "query", ["NOT", "(", '"', "a AND", "NEAR(a b", "{x}:y", "^", "';--", "*", "a" * 10000, "\0", "\udcff"]
)
def test_no_punctuation_is_syntax(query: str):
    assert isinstance(ask(query), list)


def test_archives_indexes_and_the_generated_block_are_not_found():
    assert "old__DELETE.md" not in ask("past") and ask("zebra") == [] and "_index.md" not in ask("events")


def test_domain_type_tag_tier_and_limit():
    assert set(ask("events", domain="business")) == {"pricing.md", "plan.md"}
    assert ask("events", domain="business/seo") == ["plan.md"] == ask("events", domain="Business/SEO/")
    assert ask("events", domain="busi") == []
    assert set(ask("events", type="Project")) == {"pricing.md"}
    assert set(ask("events", tag="rates")) == {"pricing.md"} == set(ask("events", tag="#Rates"))
    assert ask("tea events", tier="hot") == ["MEMORY.md"] and "MEMORY.md" not in ask("tea events", tier="warm")
    assert len(ask("events", limit=1)) == 1


def test_since_and_until_go_by_the_day_of_the_note():
    files = {f"memory/n{day}.md": f"---\ncreated: 2026-03-0{day}\n---\nThe kraken.\n".encode() for day in (1, 2, 3)}
    files["memory/none.md"] = b"The kraken.\n"

    def days(**scope) -> set[str]:
        return {item.candidate.about.path for item in find("kraken", files, scope=Scope(**scope))}

    assert days(since="2026-03-02") == {"memory/n2.md", "memory/n3.md"}
    assert days(since="2026-03-02", until="2026-03-02") == {"memory/n2.md"}
    assert days(since="2026-03-03", dates=lambda path: "2026-03-09") == {"memory/n3.md", "memory/none.md"}


@pytest.mark.parametrize(("query", "limit"), [("", 5), ("  \n", 5), ("x", 0), ("x", -1)])
def test_nothing_to_look_for_is_a_usage_error(query: str, limit: int):
    with pytest.raises(Usage):
        recall.need_query(query, limit, 0)


def test_a_hit_says_where_why_and_how_old():
    text = b"---\ntitle: 12:30\nupdated: 2026-03-05\n---\n\n# On *deploy*\n\nWe deploy.\n"
    (hit,) = hits("deploy", {NOTE: text})
    assert (hit.path, hit.lines, hit.heading, hit.title, hit.tier) == (NOTE, (6, 8), "On deploy", "12:30", "warm")
    assert any("deploy" in reason for reason in hit.why) and hit.score > 0
    assert (hit.text, hit.trail) == ("# On *deploy*\n\nWe deploy.", ["On deploy"])
    assert (hit.date, hit.age_days) == ("2026-03-05", 10)


def test_damaged_notes_are_found_by_what_can_be_read():
    files = {NOTE: b"# Old\ncaf\xe9 \x93quoted\x94\n", "memory/n.md": b"good part\n" + bytes(65536)}
    assert [hit.path for hit in hits("quoted", files)] == [NOTE]
    (hit,) = hits("good part", files)
    assert (hit.path, hit.text) == ("memory/n.md", "good part")


def test_a_hit_cannot_drive_the_terminal():
    (hit,) = hits("red", {NOTE: b'---\ntitle: "a\\e[2J"\n---\n# \x1b[31mH\n\n\x1b[31mred\x9b2J\r\n\tx\n'})
    assert "\x1b" not in hit.text + hit.title + hit.heading and "red" in hit.text and "\t" in hit.text


def test_a_huge_line_is_not_returned_whole():
    (hit,) = hits("word", {NOTE: b"word " * 600_000}, tokens=10_000)
    assert len(hit.text) <= MAX_TEXT


def test_a_credential_is_not_shown_and_its_line_is_found():
    (hit,) = hits("deploy token", {NOTE: b"The deploy token is ghp_" + b"a1B2c3D4e5" * 3 + b"a1B2c3.\n"})
    assert "ghp_a1" not in hit.text and "(secret)" in hit.text


def test_an_answer_stays_in_its_budget_and_cuts_long_texts_first():
    files = {f"memory/n{number}.md": b"A kraken. " + b"More of it. " * (40 * number) for number in range(8)}
    for tokens in (120, 300, 750):
        found = hits("kraken", files, tokens)
        assert found and sum(count_tokens(hit.text) + PLACE for hit in found) <= tokens + len(found)
    assert len(hits("kraken", files, 750)) == 8
    assert "A kraken." in {hit.text.strip() for hit in hits("kraken", files, 750)}
    assert len(hits("kraken", files, 1)) == 1


def test_chinese_is_found_by_its_pairs():
    files = {NOTE: "我们使用向量数据库。\n".encode(), "memory/n.md": "据说库存\n".encode()}
    assert [hit.path for hit in hits("数据库", files)] == [NOTE]
    assert hits("库", files) != []


def test_a_rare_word_weighs_more_than_a_frequent_one():
    files = {f"memory/n{number}.md": b"meeting about budget\n" for number in range(20)}
    files["memory/z.md"] = b"meeting about zeppelins\n"
    assert hits("meeting zeppelin", files)[0].path == "memory/z.md"


def test_equal_hits_come_in_the_order_of_their_paths():
    files = {f"memory/{name}.md": b"same words\n" for name in "cab"}
    assert [hit.path for hit in hits("same", files)] == ["memory/a.md", "memory/b.md", "memory/c.md"]


class Emptied(MemorySearch):
    """An index whose file is deleted between the first look at it and the writing."""

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing."""
        self.__init__()
        with super().writing():
            yield


@pytest.mark.parametrize("save", [{}, {"memory/domains/a/y.md": b"A cat."}], ids=["nothing stale", "a note stale"])
def test_an_index_that_is_deleted_meanwhile_is_not_called_complete(save: dict[str, bytes]):
    """The cache may be deleted at any time: a recall in that moment left an empty index that said it held all."""
    store, index = MemoryStore({"memory/domains/a/x.md": b"A dog."}), Emptied()
    search.everything(source(store), index)
    for path, data in save.items():
        store.save(path, data)
    with suppress(Busy):
        search.catch_up(index, source(store), MemorySearch)
    assert index.mark() is None


@pytest.mark.parametrize(("word", "other"), [("grandmother", "grandma"), ("children", "kids and a child")])
def test_a_word_that_stands_for_another_comes_after_that(word: str, other: str):
    """A stand-in of the same family counted as both, which put `grandma` above `grandmother`."""
    files = {"memory/a.md": f"I have a {other}.\n".encode(), "memory/z.md": f"I have a {word}.\n".encode()}
    files |= {f"memory/f{number}.md": b"Nothing of interest stands here today at all.\n" for number in range(3)}
    assert find(word, files)[0].candidate.about.path == "memory/z.md"
