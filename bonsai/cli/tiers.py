"""The commands of the tiers: remember, hot, tree, consolidate, cold, metrics, sync-critical."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from bonsai.cli import screen
from bonsai.cli.completion import domains
from bonsai.cli.door import Door, door, native, verb
from bonsai.cli.shared_options import answer, connected, is_original, or_answer, text_of, tier_options
from bonsai.errors import BadData

MODES = click.Choice(["quick", "daily", "monthly", "full"])


@verb(
    "remember",
    """bonsai remember 'We deploy on Mondays.' --domain rules --importance 0.8
    bonsai remember 'The owner lives in Oslo.' --key owner.city
    bonsai remember --text 'Z-Image makes photos' --category tools/images --url https://docs.example.org/z""",
)
@click.argument("words", metavar="[TEXT]", nargs=-1)
@click.option("--text", default=None, metavar="TEXT", help="The text, instead of as an argument; `-` reads stdin.")
@click.option(
    "--domain", "--category", "domain", default="", metavar="D", help="Where it belongs.", shell_complete=domains
)
@click.option("--type", "type_", default="fact", show_default=True, metavar="T", help="Or feedback, project, …")
@click.option("--importance", type=float, default=None, metavar="0-1", help="What it is worth (0.5); see below.")
@click.option("--key", default="", metavar="K", help="The same key is the same note, with a newer value.")
@click.option("--confidence", type=float, default=None, metavar="0-1", help="How sure (0.8 with a key).")
@click.option("--url", "urls", multiple=True, metavar="URL", help="A URL to keep; again for more.")
@click.option("--command", "--cmd", "commands", multiple=True, metavar="CMD", help="A command to keep.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="A path to keep.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag.")
@click.option("--source", default="", metavar="S", help="Who says so; web or tool (web:URL): not trusted.")
@click.option("--keep-confident", is_flag=True, help="Let a less sure value change nothing.")
@tier_options
@door
def remember(door: Door, /, words: tuple[str, ...], *, text: str | None, type_: str, **given: Any) -> int:
    """Write a fact as a note of its own.

    URLs, commands and paths in the text are kept word for word beside it.

    \b
    Importance: 0.9-1.0  critical decisions, who somebody is
                0.7-0.8  project decisions, architecture, preferences
                0.5-0.6  general facts, the events of a day
                0.3-0.4  casual mentions
    A credential is never kept.
    """
    from bonsai.cli import render_tiers

    said = text_of(text, words, "text")
    if said == "-":
        said = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    with connected(door) as workspace:
        report = workspace.remember(said, type=type_, **given)
    old = {
        "id": report.id,
        "category": report.category,
        "tier": report.tier,
        "metadata": report.metadata,
        "cold_synced": report.cold_synced,
    }
    return answer(door, report, render_tiers.remembered(report, given["keep_confident"]), old)


@verb(
    "hot",
    """bonsai hot
    bonsai hot --update lesson '{"text": "Always test on testnet first", "importance": 0.9}'
    bonsai hot --rebuild""",
)
@click.option("--update", nargs=2, default=None, metavar="KEY JSON", help="Set identity, owner_profile, lesson, …")
@click.option("--rebuild", is_flag=True, help="Move what is done or does not fit into notes.")
@tier_options
@door
def hot(door: Door, *, update: tuple[str, str] | None, rebuild: bool) -> int:
    """Show or change what every session starts with: the hot sections of MEMORY.md.

    \b
    KEY: identity, owner_profile   an object; its keys are set, null takes one away
         project                   an object with a name
         lesson, event, task       an object with a text
    """
    from bonsai.cli import render_tiers

    with connected(door) as workspace:
        if update:
            report = workspace.hot_update(update[0], _json(update[1]))
            if workspace.is_remote and is_original():
                workspace.sync_critical()
            return answer(door, report, render_tiers.heated(report), {"updated": report.updated})
        if rebuild:
            report = workspace.hot_rebuild()
            old = {"output": report.output, "size_bytes": report.size_bytes, "max_bytes": report.max_bytes}
            return answer(door, report, render_tiers.heated(report), old)
        state = workspace.hot()
    screen.write_json(state)
    return 0


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        hint = 'Write it like \'{"text": "…"}\', in single quotes.'
        raise BadData(f"is no JSON: {error}", path="--update", hint=hint) from error


@verb(
    "tree",
    """bonsai tree
    bonsai tree --add projects/evoclaw/bsc 'BSC blockchain integration'
    bonsai tree --remove old/unused/path
    bonsai tree --prune
    bonsai tree --rebuild --llm-endpoint http://localhost:8080/complete""",
)
@click.option("--show", is_flag=True, help="Show the tree (the usual thing).")
@click.option("--add", nargs=2, default=None, metavar="PATH DESC", help="Make a node, or describe one anew.")
@click.option("--remove", default=None, metavar="PATH", help="Take an empty node away.")
@click.option("--prune", is_flag=True, help="Take away empty nodes in which nothing happened for long.")
@click.option("--rebuild", is_flag=True, help="Count it anew; have a language model propose a better shape.")
@click.option("--llm-endpoint", default="", metavar="URL", help="The model (or BONSAI_LLM_ENDPOINT).")
@click.option("--proposal", default=None, metavar="FILE", help="The proposal, instead of asking a model; `-` is stdin.")
@click.option("--apply", "apply_", is_flag=True, help="Do what is proposed, as one run.")
@tier_options
@door
def tree(
    door: Door,
    *,
    show: bool,
    add: tuple[str, str] | None,
    remove: str | None,
    prune: bool,
    rebuild: bool,
    llm_endpoint: str,
    proposal: str | None,
    apply_: bool,
) -> int:
    """Show or change the categories: the domains with what they are about, and how much is in them."""
    from bonsai.adapters.llm import ENDPOINT
    from bonsai.cli import render_tiers

    if sum((show, add is not None, remove is not None, prune, rebuild)) > 1:
        raise click.UsageError("tree does one thing at a time.")
    with connected(door) as workspace:
        if add:
            made = workspace.tree_add(*add)
            return answer(door, made, render_tiers.branch(made), {"path": made.path, "added": made.added})
        if remove is not None:
            with or_answer({"path": remove, "removed": False}):
                gone = workspace.tree_remove(remove)
            return answer(door, gone, render_tiers.branch(gone), {"path": gone.path, "removed": gone.removed})
        if prune:
            pruned = workspace.tree_prune()
            return answer(door, pruned, render_tiers.pruned(pruned), {"pruned": len(pruned.pruned)})
        if rebuild and not (llm_endpoint or os.environ.get(ENDPOINT) or proposal is not None or apply_):
            counted = workspace.tree_recount()
            old = {"tree_rebuilt": counted.tree_rebuilt, "nodes": counted.nodes}
            return answer(door, counted, render_tiers.rebuilt(counted), old)
        if rebuild:
            said = _proposal(workspace, llm_endpoint, proposal)
            shaped = workspace.tree_rebuild(said, apply=apply_)
            return answer(door, shaped, render_tiers.rebuilt(shaped), shaped)
        shown = workspace.tree_show()
    if is_original() or not door.json:
        screen.write([*shown.text.split("\n")])
        return 0
    return door.answer(shown, [])


def _proposal(workspace: Any, endpoint: str, file: str | None) -> str:
    if file is not None:
        if file == "-":
            return sys.stdin.buffer.read().decode("utf-8", "replace")
        return Path(native(file)).read_text(encoding="utf-8", errors="replace")
    return str(workspace.tree_ask(endpoint))


@verb(
    "consolidate",
    """bonsai consolidate
    bonsai consolidate --mode daily
    bonsai consolidate --mode full --json""",
)
@click.option("--mode", type=MODES, default="quick", show_default=True, help="How thoroughly.")
@click.option("--llm-endpoint", default="", metavar="URL", help="A model that may reshape the tree (monthly, full).")
@tier_options
@door
def consolidate(door: Door, *, mode: Any, llm_endpoint: str) -> int:
    """Let facts that are worth little leave the tree for the cold tier.

    \b
    quick    old facts of a low score go to the cold tier; what is hot is shown anew
    daily    also takes dead nodes of the tree away
    monthly  also counts the tree anew, and deletes what is frozen and past its retention
    full     the same with everything read again

    One commit, which `bonsai undo` takes back.
    """
    from bonsai.cli import render_tiers

    with connected(door) as workspace:
        report = workspace.consolidate(mode, llm=llm_endpoint)
    return answer(door, report, render_tiers.consolidated(report), report)


@verb(
    "cold",
    """bonsai cold --init --db-url libsql://NAME.turso.io
    bonsai cold --query 'blockchain decision' --limit 10""",
)
@click.option("--init", "init_", is_flag=True, help="Make its tables, once.")
@click.option("--query", default=None, metavar="TEXT", help="Search it.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="So many facts.")
@tier_options
@door
def cold(door: Door, *, init_: bool, query: str | None, limit: int) -> int:
    """Look into the cold tier: a file in .bonsai/, or a libSQL database.

    The token of the database belongs into BONSAI_DB_TOKEN; given as an option it is hidden from `ps`, but stays in the
    history of the shell.
    """
    from bonsai.cli import render_tiers

    if init_ == (query is not None):
        raise click.UsageError("Give either --init or --query TEXT.")
    with connected(door) as workspace:
        if query is None:
            with or_answer({"initialized": False}):
                done = {"initialized": workspace.cold_init()}
            return answer(door, done, ["The cold tier is ready."], done)
        with or_answer([]):
            hits = workspace.cold_query(query, limit=limit)
    return answer(door, {"query": query, "results": hits}, render_tiers.cold_hits(hits), hits)


@verb("sync-critical", "bonsai sync-critical\nbonsai sync-critical --db-url libsql://NAME.turso.io")
@tier_options
@door
def sync_critical(door: Door) -> int:
    """Keep in the cold tier what a new device starts from: the hot state, the tree, the use counters.

    `bonsai restore --from-cloud` makes a memory of it.
    """
    with connected(door) as workspace, or_answer({"synced": False, "timestamp": workspace.now_iso}):
        report = workspace.sync_critical()
    old = {"synced": report.synced, "timestamp": report.timestamp}
    said = "Kept." if report.synced else "A newer state is there already; nothing was changed."
    return answer(door, report, [said], old)


@verb("metrics", "bonsai metrics\nbonsai metrics --agent juno")
@tier_options
@door
def metrics(door: Door) -> int:
    """Show the numbers of the tiers."""
    from bonsai.cli import render_tiers

    with connected(door) as workspace:
        report = workspace.metrics()
    return answer(door, report, render_tiers.numbers(report), report)
