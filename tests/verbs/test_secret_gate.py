"""The secret gate: what looks like a credential is in no commit, no index and no output, and nothing happens to it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from unit.credentials import HEX, made, pem

from bonsai.errors import BadData, BonsaiError, NotFound, Refused
from bonsai.passes.plain import as_json
from verbs.sandbox import GENERAL, Sandbox

CANARY = "ghp_" + "c" * 36
OTHER = "hunter2-fake"
URL = f"postgres://app:{OTHER}@db.example.com/x"
DB = f"{GENERAL}/db.md"
TEXT = f"---\ntitle: DB {CANARY}\ntags: [{CANARY}]\n---\n# {CANARY}\n\n{URL}\n\nSee [it]({CANARY}.md), [[{CANARY}]].\n"
TALK = f"{GENERAL}/talk.md"


@pytest.fixture
def held(box: Sandbox) -> Sandbox:
    """A workspace with a note that holds two credentials, and one that only talks of them."""
    box.write(DB, TEXT)
    box.write(TALK, "The word password appears here, nothing secret.\n")
    return box


def fingerprints(box: Sandbox) -> list[str]:
    return [item.message.split("`bonsai allow ")[1][:12] for item in box.problems("secret")]


def objects(box: Sandbox) -> bytes:
    """Every object that git has, reachable or not."""
    names = box.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    done = subprocess.run(
        ["git", "cat-file", "--batch"], input="\n".join(names).encode(), cwd=box.root, capture_output=True, check=True
    )
    return done.stdout


def assert_nowhere(box: Sandbox, *own: str) -> None:
    """No object, log, journal, cache or generated file holds a canary; only the files in `own` do."""
    box.close()
    for canary in (CANARY.encode(), OTHER.encode()):
        assert canary not in objects(box)
        for path in box.root.rglob("*"):
            name = path.relative_to(box.root).as_posix()
            if path.is_file() and name not in own:
                assert canary not in path.read_bytes(), name


def test_the_note_is_held_and_the_others_are_committed(held: Sandbox) -> None:
    report = held.ws.commit()
    assert report.held == [DB]
    assert TALK in report.paths and DB not in held.tree()
    assert held.read(DB) == TEXT.encode()
    assert held.ws.commit().commit is None
    assert_nowhere(held, DB)


def test_status_says_where_and_quotes_nothing(held: Sandbox) -> None:
    held.ws.commit()
    report = held.ws.status()
    assert report.status == "WARNING"
    found = [item for item in report.problems if item.code == "secret"]
    assert {item.path for item in found} == {DB}
    assert any("line 2: GitHub token ghp_…" in item.message for item in found)
    assert any("line 7: connection string hunt…" in item.message for item in found)
    assert TALK not in json.dumps(as_json([item for item in report.problems if item.code == "secret"]))


def test_no_report_quotes_it(held: Sandbox) -> None:
    ws = held.ws
    for report in (ws.reindex(), ws.reindex(check=True), ws.commit(), ws.status(), ws.log(), ws.doctor(), ws.reflect()):
        words = json.dumps(as_json(report))
        assert CANARY not in words and OTHER not in words
    assert_nowhere(held, DB)


def test_an_index_names_the_note_and_no_word_of_it(held: Sandbox) -> None:
    held.ws.reindex()
    index = held.read(f"{GENERAL}/_index.md").decode()
    assert "### db.md" in index and "(not in git)" in index and "secret)" not in index


def test_what_a_problem_would_quote_is_hidden(box: Sandbox) -> None:
    box.write(DB, f"---\ncreated: {CANARY}\n{CANARY}: 1\n{CANARY}: 2\n---\n[x]({CANARY})\n")
    assert {item.code for item in box.problems()} & {"bad-date", "duplicate-key", "broken-link"}
    assert CANARY not in json.dumps(as_json(box.ws.status()))


@pytest.mark.parametrize(
    "work",
    [
        lambda ws: ws.move(DB, "business"),
        lambda ws: ws.archive(DB),
        lambda ws: ws.archive(TALK, DB),
        lambda ws: ws.restore(f"{DB}@HEAD"),
        lambda ws: ws.daily_add(f"the token is {CANARY}"),
        lambda ws: ws.archive(TALK, reason=f"it had {URL}"),
    ],
)
def test_no_verb_touches_it_or_writes_one(held: Sandbox, work) -> None:
    held.ws.commit()
    before = held.files()
    with pytest.raises(BonsaiError) as error:
        work(held.ws)
    assert error.value.code in (66, 77)
    assert CANARY not in f"{error.value} {error.value.hint}" and OTHER not in f"{error.value} {error.value.hint}"
    assert held.files() == before
    assert_nowhere(held, DB)


def test_an_archive_that_holds_one_is_not_purged(box: Sandbox, at) -> None:
    path = f"{GENERAL}/old__DELETE.md"
    box.write(path, "---\narchived: 2020-01-01\n---\nold\n")
    box.ws.commit()
    box.write(path, f"---\narchived: 2020-01-01\n---\nold {CANARY}\n")
    at("2027-01-01T08:00:00Z")
    with pytest.raises(Refused):
        box.ws.purge()
    assert box.has(path)
    assert_nowhere(box, path)


@pytest.mark.parametrize("text", [f"# {CANARY}\n\nx\n", f"# One\n\n{URL}\n\n# Two\n\ny\n", pem("RSA PRIVATE KEY")])
@pytest.mark.parametrize("how", ["pending", "committed by hand", "dry run"])
def test_migrate_refuses_the_whole_file(box: Sandbox, text: str, how: str) -> None:
    box.write("MEMORY.md", text)
    if how == "committed by hand":
        box.git("add", "MEMORY.md")
        box.git("commit", "-qm", "by hand")
    before = box.files()
    with pytest.raises(Refused) as error:
        box.ws.migrate(dry_run=how == "dry run")
    assert error.value.path == "MEMORY.md"
    assert CANARY not in f"{error.value} {error.value.hint}"
    assert box.files() == before


def test_the_boot_file_is_left_alone_and_the_rest_goes_on(box: Sandbox) -> None:
    boot = box.read("MEMORY.md") + f"\n- {CANARY}\n".encode()
    box.write("MEMORY.md", boot)
    box.write(TALK, "x\n")
    report = box.ws.commit()
    assert report.held == ["MEMORY.md"] and TALK in report.paths
    assert box.read("MEMORY.md") == boot
    assert_nowhere(box, "MEMORY.md")


@pytest.mark.parametrize("path", ["memory/notes/env.txt", "memory/x.json", "bonsai.toml", "memory/.gitignore"])
def test_other_text_files_are_looked_at_too(box: Sandbox, path: str) -> None:
    box.write(path, f"# {CANARY}\n")
    assert box.ws.commit().held == [path]
    assert [item.path for item in box.problems("secret")] == [path]
    assert_nowhere(box, path)


def test_an_image_is_none(box: Sandbox) -> None:
    box.write("memory/pic.png", b"\x89PNG\0" + CANARY.encode())
    assert box.ws.commit().held == []


@pytest.mark.parametrize("write", ["utf-16", "nul", "latin", "huge", "daily", "agent"])
def test_no_odd_file_slips_through(box: Sandbox, write: str) -> None:
    path = {"daily": "memory/2026-03-15.md", "agent": "memory/agents/robin/domains/x/a.md"}.get(write, DB)
    text = {"huge": "words and words\n" * 100_000 + CANARY}.get(write, f"a {CANARY}\n")
    data = text.encode("utf-16" if write == "utf-16" else "utf-8")
    box.write(path, {"nul": b"\0" + data, "latin": b"caf\xe9 " + data}.get(write, data))
    assert box.ws.commit().held == [path]
    assert_nowhere(box, path)


def test_what_is_taken_out_goes_through(held: Sandbox) -> None:
    held.ws.commit()
    held.write(DB, "The credentials are in the safe.\n")
    assert DB in held.ws.commit().paths
    assert held.problems("secret") == []
    held.assert_clean()
    assert b"(not in git)" not in held.read(f"{GENERAL}/_index.md")


def test_one_that_is_added_to_a_known_note_holds_it(held: Sandbox) -> None:
    held.write(DB, "fine\n")
    held.ws.commit()
    held.write(DB, TEXT)
    assert held.ws.commit().held == [DB]
    assert held.committed(DB) == b"fine\n"
    assert_nowhere(held, DB)


def test_a_save_between_the_look_and_the_commit_is_held(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    from bonsai.run import Run

    box.write(DB, "fine\n")
    real = Run.commit_rows

    def late(self, *args, **options):
        box.write(DB, TEXT)
        self.view.fresh.clear()
        return real(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "commit_rows", late)
        box.ws.commit()
    assert_nowhere(box, DB)
    assert box.ws.commit().held == [DB]


# -- allow -----------------------------------------------------------------------------------------------------


def test_what_is_allowed_is_committed(held: Sandbox) -> None:
    held.ws.commit()
    found = set(fingerprints(held))
    assert len(found) == 2
    for fingerprint in found:
        assert fingerprint in held.ws.allow(fingerprint).allowed
    assert set(held.ws.allow().allowed) == found
    assert DB in held.ws.commit().paths
    assert held.committed(DB) == TEXT.encode()
    assert held.problems("secret") == []
    assert CANARY.encode() not in held.read(f"{GENERAL}/_index.md")
    held.assert_clean()


def test_one_of_two_is_not_enough(held: Sandbox) -> None:
    held.ws.allow(fingerprints(held)[0])
    assert held.ws.commit().held == [DB]


def test_what_is_allowed_can_be_moved(box: Sandbox) -> None:
    box.write(DB, f"{CANARY}\n")
    box.ws.allow(fingerprints(box)[0])
    box.ws.move(DB, "business")
    assert box.committed("memory/domains/business/db.md").endswith(f"{CANARY}\n".encode())


def test_allowing_can_be_taken_back(held: Sandbox) -> None:
    found = fingerprints(held)
    for fingerprint in set(found):
        held.ws.allow(fingerprint)
    assert held.problems("secret") == []
    held.ws.allow(found[0], remove=True)
    assert found[0] in fingerprints(held)
    with pytest.raises(NotFound):
        held.ws.allow(found[0], remove=True)


@pytest.mark.parametrize("wrong", ["x", CANARY, "8026E16DCCE5", "8026e16dcce", "../../etc"])
def test_only_a_fingerprint_is_taken_and_nothing_else_is_repeated(box: Sandbox, wrong: str) -> None:
    with pytest.raises(BadData) as error:
        box.ws.allow(wrong)
    assert len(wrong) < 5 or wrong not in f"{error.value} {error.value.hint}"


@pytest.mark.parametrize("damage", ["", "{", "[1]", "{}", "[" * 5000])
def test_a_damaged_list_allows_nothing(held: Sandbox, damage: str) -> None:
    held.ws.allow(made(12, HEX))
    held.write(".bonsai/allowed.json", damage)
    assert held.ws.allow().allowed == []
    assert held.ws.commit().held == [DB]


def test_one_in_git_already_is_told_and_not_written_again(box: Sandbox) -> None:
    box.write(DB, f"{CANARY}\n")
    box.git("add", "memory")
    box.git("commit", "-qm", "by hand")
    assert box.ws.commit().held == []
    [found] = box.problems("secret")
    assert "in git already" in found.message
    with pytest.raises(Refused):
        box.ws.move(DB, "business")


# -- the command line ------------------------------------------------------------------------------------------


def bonsai(box: Sandbox, *words: str) -> subprocess.CompletedProcess[str]:
    box.close()
    return subprocess.run([sys.executable, "-m", "bonsai", "-C", str(box.root), *words], capture_output=True, text=True)


def test_the_command_line_holds_says_and_allows(held: Sandbox) -> None:
    done = bonsai(held, "commit")
    assert done.returncode == 77 and DB in done.stdout
    status = bonsai(held, "status")
    assert status.returncode == 1 and "ghp_…" in status.stdout
    outputs = [done, status, bonsai(held, "reindex"), bonsai(held, "status", "--json"), bonsai(held, "log")]
    assert not [out for out in outputs if CANARY in out.stdout + out.stderr or OTHER in out.stdout + out.stderr]
    found = sorted(set(fingerprints(held)))
    assert json.loads(bonsai(held, "allow", *found, "--json").stdout) == {"allowed": found}
    assert bonsai(held, "allow").stdout == "".join(f"allowed: {item}\n" for item in found)
    assert bonsai(held, "commit").returncode == 0
    assert bonsai(held, "allow", "--remove", *found).stdout == "Nothing is allowed that looks like a credential.\n"
    assert bonsai(held, "allow", "--remove").returncode == 64


def test_the_audit_says_how_to_install_it(held: Sandbox) -> None:
    if any((Path(place) / "detect_secrets").exists() for place in sys.path):
        pytest.skip("detect-secrets is installed")
    check = held.ws.doctor(secrets=True).checks[-1]
    assert (check.name, check.ok) == ("secrets", False) and "bonsai-memory[secrets]" in check.message


def test_the_audit_finds_more_and_quotes_nothing(box: Sandbox) -> None:
    pytest.importorskip("detect_secrets", reason="the extra `secrets` is not installed")
    value = made(60)
    box.write(TALK, f'x = "{value}"\n{"a" * 40}\n')
    report = box.ws.doctor(secrets=True)
    assert not report.checks[-1].ok
    [found] = [item for item in report.problems if item.code == "secret"]
    assert (found.path, found.severity) == (TALK, "info") and value not in found.message
    box.ws.allow(found.message.split("`bonsai allow ")[1][:12])
    assert box.ws.doctor(secrets=True).checks[-1].ok
