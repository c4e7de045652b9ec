"""OpenClaw's memory_search and memory_get on a workspace, in the shapes that its agents know."""

from collections.abc import Mapping
from typing import Any

from bonsai.errors import BonsaiError, NotFound, Usage
from bonsai.workspace import Workspace

MOST = 50  # results


def search(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """`{query, maxResults?, minScore?}` → `{results: […]}`; where it fails, the answer says so."""
    try:
        query = given.get("query")
        if not isinstance(query, str):
            raise Usage("memory_search needs a `query`", hint='{"query": "words"}')
        if given.get("corpus") not in (None, "memory", "all"):
            return _answer([])  # its wiki and its sessions are not here
        limit = min(max(1, int(_number(given, "maxResults", 6))), MOST)
        hits = workspace.recall(query, limit=limit).hits
    except BonsaiError as error:
        return {
            "results": [],
            "disabled": True,
            "unavailable": True,
            "error": str(error),
            "warning": error.cause,
            "action": error.hint,
        }
    least = _number(given, "minScore", float("-inf"))
    results = [
        {
            "path": hit.path,
            "startLine": hit.lines[0],
            "endLine": hit.lines[1],
            "score": hit.score,
            "snippet": hit.text,
            "source": "memory",
            "citation": f"{hit.path}#L{hit.lines[0]}-L{hit.lines[1]}",
            "corpus": "memory",
        }
        for hit in hits
        if hit.score >= least
    ]
    return _answer(results)


def _answer(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "results": results,
        "provider": "bonsai",
        "model": "lexical",
        "fallback": False,
        "citations": "on",
        "mode": "lexical",
    }


def get(workspace: Workspace, given: Mapping[str, Any]) -> dict[str, Any]:
    """`{path, from?, lines?}` → `{text, path}`; of a file that is not there the text is empty."""
    path = given.get("path")
    if not isinstance(path, str):
        return {"path": "", "text": "", "disabled": True, "error": "memory_get needs a `path`"}
    first = max(1, int(_number(given, "from", 1)))
    count = int(_number(given, "lines", 0))
    try:
        found = workspace.read(path, first, first + count - 1 if count > 0 else 0)
    except NotFound:
        return {"text": "", "path": path}
    except BonsaiError as error:
        return {"path": path, "text": "", "disabled": True, "error": str(error)}
    return {"text": found.text, "path": path}


def _number(given: Mapping[str, Any], key: str, otherwise: float) -> float:
    value = given.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e9:
        return otherwise
    return value
