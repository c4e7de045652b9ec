"""A device is lost: what was stored with a database set comes back on a new one; also from a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hrana import hrana
from libsql_server import Server, needs_server

from bonsai import Workspace
from verbs.sandbox import Sandbox


@pytest.fixture(params=["stand-in", pytest.param("libsql", marks=needs_server)])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The environment names a database."""
    if request.param == "libsql":
        server = Server(tmp_path / "db")
        server.start()
        monkeypatch.setenv("BONSAI_DB_URL", server.url)
        yield server.url
        server.kill()
        return
    with hrana() as made:
        monkeypatch.setenv("TURSO_URL", made.url)
        monkeypatch.setenv("TURSO_TOKEN", made.token)
        yield made.url


def test_every_stored_fact_comes_back_byte_for_byte(box: Sandbox, database: str, tmp_path: Path) -> None:
    plain = box.ws.remember("We deploy on Mondays.", domain="rules/deploy", importance=0.9)
    assert plain.cold_synced
    box.ws.remember("Lives in Sydney.", domain="owner", key="city")
    keyed = box.ws.remember("Lives in Oslo.", domain="owner", key="city").path
    box.ws.hot_update("lesson", {"text": "Test first", "importance": 0.9})
    box.ws.recall("deploy")
    assert box.ws.sync_critical().synced
    lost = {path: box.read(path) for path in (plain.path, keyed)}
    box.close()
    Workspace.init(tmp_path / "new")
    new = Sandbox(tmp_path / "new")
    report = new.ws.restore_from_cloud()
    assert sorted(report.restored) == sorted(lost)
    assert {path: new.read(path) for path in lost} == lost
    assert new.ws.hot()["critical_lessons"][0]["text"] == "Test first"
    assert new.ws._accesses() == {plain.path: 1}
    new.assert_clean()
    new.close()
