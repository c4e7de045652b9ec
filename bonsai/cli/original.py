"""Two tools of the original that work on what they are given, without a workspace: distiller, tree_search."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bonsai.cli import screen
from bonsai.cli.door import native, verb
from bonsai.errors import BadData, BonsaiError, NotFound

if TYPE_CHECKING:
    from bonsai.facts.distill import Distilled


@verb("distiller", 'bonsai distiller --text "User: … Agent: …" --core-summary --json')
@click.option("--text", default=None)
@click.option("--file", default=None)
@click.option("--mode", type=click.Choice(["rule", "llm"]), default="rule")
@click.option("--llm-endpoint", default="")
@click.option("--max-bytes", type=click.IntRange(1), default=100)
@click.option("--core-summary", is_flag=True)
@click.option("--output", default=None)
def distiller(
    *,
    text: str | None,
    file: str | None,
    mode: str,
    llm_endpoint: str,
    max_bytes: int,
    core_summary: bool,
    output: str | None,
) -> int:
    """Distil a text as distiller.py does."""
    from bonsai.facts import distill

    if mode == "llm" and not llm_endpoint:
        raise click.UsageError("--mode llm needs --llm-endpoint URL.")
    said = _read(file) if file else text or ""
    if not said.strip():
        raise click.UsageError("Give either --text or --file.")
    found = distill.distill(said, max_bytes)
    if mode == "llm":
        try:
            found = _by_model(said, llm_endpoint, max_bytes)
        except BonsaiError as error:
            mode = "rule"
            screen.say([f"bonsai: {error}; it was distilled by rules"])
    size = distill.size(found)
    answer: dict[str, Any] = {
        "distilled": asdict(found),
        "mode": mode,
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "original_size": len(said.encode("utf-8", "replace")),
        "distilled_size": size,
        "compression_ratio": round(len(said) / size, 1),
    }
    if core_summary:
        answer["core_summary"] = distill.summary(found)
        answer["core_size"] = len(answer["core_summary"].encode())
    _write(answer, output)
    return 0


def _by_model(text: str, endpoint: str, most: int) -> "Distilled":
    from bonsai.adapters.llm import HttpLlm
    from bonsai.facts import distill
    from bonsai.notes import secrets

    shown = secrets.without(text.encode("utf-8", "replace"))[0].decode("utf-8", "replace")
    return distill.answered(HttpLlm(endpoint).complete(distill.prompt([shown], most)), [text], most)[0]


@verb("tree-search", "bonsai tree-search --query 'BSC' --tree-file memory-tree.json --json")
@click.option("--query", required=True)
@click.option("--tree-file", required=True)
@click.option("--mode", type=click.Choice(["keyword", "llm"]), default="keyword")
@click.option("--llm-endpoint", default="")
@click.option("--llm-prompt-file", default=None)
@click.option("--top-k", type=click.IntRange(1), default=5)
@click.option("--output", default=None)
def tree_search(
    *,
    query: str,
    tree_file: str,
    mode: str,
    llm_endpoint: str,
    llm_prompt_file: str | None,
    top_k: int,
    output: str | None,
) -> int:
    """Search a tree index (memory-tree.json) as tree_search.py does."""
    from bonsai.passes import tree_search as search

    tree = _tree(tree_file)
    nodes = [
        search.Node(path, sum(_counts(node).values()), str(node.get("desc", "")))
        for path, node in tree.items()
        if path != "root"
    ]
    found = search.by_words(query, nodes)
    if llm_prompt_file is not None:
        Path(native(llm_prompt_file)).write_text(search.prompt(query, nodes), encoding="utf-8")
        screen.say([f"Wrote {llm_prompt_file}"])
        return 0
    if mode == "llm" and llm_endpoint:
        from bonsai.adapters.llm import HttpLlm

        try:
            found = search.chosen(HttpLlm(llm_endpoint).complete(search.prompt(query, nodes)), nodes)
        except BonsaiError as error:
            screen.say([f"bonsai: {error}; it was searched by words"])
    elif mode == "llm":
        screen.say(["bonsai: --mode llm needs --llm-endpoint URL; it was searched by words"])
    results = [{**choice._asdict(), **_counts(tree.get(choice.path, {}))} for choice in found[:top_k]]
    _write({"query": query, "mode": mode, "results": results, "count": len(results)}, output)
    return 0


def _tree(file: str) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(_read(file))
    except (ValueError, RecursionError) as error:
        raise BadData("is no tree index", path=file, hint="It is a JSON object, path → node.") from error
    nodes = found.get("nodes", found) if isinstance(found, dict) else None
    if not isinstance(nodes, dict):
        raise BadData("is no tree index", path=file, hint="It is a JSON object, path → node.")
    return {str(path): node for path, node in nodes.items() if isinstance(node, dict)}


def _counts(node: dict[str, Any]) -> dict[str, int]:
    counts = {name: node.get(name) for name in ("warm_count", "cold_count")}
    return {name: value if isinstance(value, int) else 0 for name, value in counts.items()}


def _read(file: str) -> str:
    try:
        return Path(native(file)).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise NotFound("there is no such file", path=file, hint="Name another one.") from error


def _write(answer: dict[str, Any], output: str | None) -> None:
    if output is None:
        screen.write_json(answer)
        return
    Path(native(output)).write_text(json.dumps(answer, ensure_ascii=False, indent=2), encoding="utf-8")
    sys.stderr.write(f"Wrote {output}\n")
