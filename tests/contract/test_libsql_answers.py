"""A libSQL server that answers nonsense, or without an end: an error that says so, and never the token."""

import io
import itertools
from collections.abc import Callable
from http.client import HTTPResponse
from typing import Any, cast

import pytest
from hrana import hrana

from bonsai.adapters import libsql
from bonsai.adapters.libsql import libsql_archive
from bonsai.errors import Refused, Unavailable

Answer = Callable[[str], Any]
ANSWERS: dict[str, Answer] = {
    "null": lambda said: None,
    "text": lambda said: said,
    "no results": lambda said: {"baton": 5, "base_url": "http://169.254.169.254/", "results": []},
    "an error as a text": lambda said: {"results": [{"type": "error", "error": said}]},
    "an error as a list": lambda said: {"results": [{"type": "error", "error": [said]}]},
    "an error with a list": lambda said: {"results": [{"type": "error", "error": {"message": said, "code": [1]}}]},
    "a failed step": lambda said: {
        "results": [{"type": "ok", "response": {"result": {"step_results": [], "step_errors": [said]}}}]
    },
    "steps that are none": lambda said: {
        "results": [{"type": "ok", "response": {"result": {"step_results": None, "step_errors": 5}}}]
    },
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_nonsense_is_told_without_the_token(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with hrana() as server:
        monkeypatch.setattr(server, "_answer", lambda said, body: (200, ANSWERS[kind](said)))
        archive = libsql_archive(server.url, server.token, retries=0)
        with pytest.raises((Refused, Unavailable)) as caught:
            archive.init()
    assert server.token not in f"{caught.value} {caught.value.hint}"


def test_an_answer_that_has_no_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = itertools.count(step=60)
    monkeypatch.setattr(libsql.time, "monotonic", lambda: next(minutes))

    class Drip(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            return b" "

    with pytest.raises(TimeoutError):
        libsql._body(cast(HTTPResponse, Drip()))
