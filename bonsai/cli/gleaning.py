"""The commands that get facts out of texts: distill, ingest-daily, validate, extract-metadata, search-url, retrieve."""

import json
import sys
from pathlib import Path

import click

from bonsai.cli import screen
from bonsai.cli.door import Door, door, located, located_files, native, verb
from bonsai.cli.shared_options import answer, connected, is_original, or_answer, text_of, tier_options
from bonsai.errors import NotFound


@verb(
    "distill",
    """bonsai distill --text "User: Let's deploy to testnet first. Agent: Good idea, safer that way."
    bonsai distill --file turn.txt --core-summary
    bonsai distill --file turn.txt --queue
    bonsai distill --flush --llm-endpoint http://localhost:8080/complete""",
)
@click.option("--text", default=None, metavar="TEXT", help="The turn; `-` reads stdin.")
@click.option("--file", default=None, metavar="FILE", help="Read it from a file.")
@click.option("--llm", is_flag=True, help="Have a language model do it.")
@click.option("--mode", type=click.Choice(["rule", "llm"]), default=None, help="The same as --llm.")
@click.option("--llm-endpoint", default="", metavar="URL", help="The model (or BONSAI_LLM_ENDPOINT).")
@click.option("--core-summary", is_flag=True, help="Also a line of less than 30 bytes.")
@click.option("--queue", is_flag=True, help="Keep the turn for a later --flush instead.")
@click.option("--domain", "--category", "domain", default="", metavar="D", help="Where its fact will belong (--queue).")
@click.option("--flush", is_flag=True, help="Distil all that waits and remember the facts.")
@tier_options
@door
def distill(
    door: Door,
    *,
    text: str | None,
    file: str | None,
    llm: bool,
    mode: str | None,
    llm_endpoint: str,
    core_summary: bool,
    queue: bool,
    domain: str,
    flush: bool,
) -> int:
    """Make one structured fact of a turn of a conversation.

    By rules, without a network; with --llm a model does it, and the rules where it cannot be asked.
    """
    from bonsai.cli import render_gleaning

    endpoint = _endpoint(llm_endpoint) if llm or mode == "llm" or (flush and llm_endpoint) else ""
    with connected(door) as workspace:
        if flush:
            reports = workspace.distill_waiting(llm=endpoint)
            return answer(door, {"remembered": reports}, render_gleaning.remembered(reports), {"remembered": reports})
        said = _text(text, file)
        if queue:
            waiting = {"waiting": workspace.distill_later(said, domain=domain)}
            return answer(door, waiting, [f"Turns that wait: {waiting['waiting']}"], waiting)
        report = workspace.distill(said, llm=endpoint, core_summary=core_summary)
    screen.say([f"bonsai: {warning}" for warning in report.warnings])
    old = {
        "distilled": report.distilled,
        "mode": report.mode,
        "original_size": report.original_size,
        "distilled_size": report.distilled_size,
        **({"core_summary": report.core_summary} if core_summary else {}),
    }
    if is_original() or door.json:
        return answer(door, report, [], old)
    screen.write(render_gleaning.distilled(report))
    return 0


def _endpoint(given: str) -> str:
    import os

    from bonsai.adapters.llm import ENDPOINT

    found = given or os.environ.get(ENDPOINT, "")
    if not found:
        why = f"--llm needs --llm-endpoint URL, or {ENDPOINT}."
        if not is_original():
            raise click.UsageError(why)
        screen.say([f"bonsai: {why} It is done without a model."])
    return found


def _text(text: str | None, file: str | None) -> str:
    if (text is None) == (file is None):
        raise click.UsageError("Give either --text or --file.")
    if file is not None:
        try:
            return Path(native(file)).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError as error:
            raise NotFound("there is no such file", path=file, hint="Name a file with the text of a turn.") from error
    return sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else text or ""


@verb("ingest-daily", "bonsai ingest-daily\nbonsai ingest-daily 2026-03-15")
@click.argument("day", metavar="[DATE]", required=False, default="")
@click.option("--date", "--file", "given", default="", metavar="DATE", help="The same as the argument.")
@click.option("--days", type=click.IntRange(1), default=None, metavar="N", help="Only of the last N days.")
@click.option("--dry-run", is_flag=True, help="Only say which facts are new.")
@tier_options
@door
def ingest_daily(door: Door, day: str, given: str, days: int | None, dry_run: bool) -> int:
    """Remember the facts that stand in the daily notes. A second time changes nothing."""
    from bonsai.cli import render_gleaning

    with connected(door) as workspace:
        report = workspace.ingest_daily(day or given, days=days or 0, dry_run=dry_run)
    screen.say([f"bonsai: {warning}" for warning in report.warnings])
    old = {
        "files_scanned": len(report.files),
        "mode": "rule",
        "facts_found": len(report.facts),
        "facts_stored": 0 if dry_run else len(report.facts),
        "facts_skipped": report.skipped,
        "llm_fallbacks": 0,
        "facts": report.facts,
    }
    return answer(door, report, render_gleaning.ingested(report), old)


@verb("validate", "bonsai validate\nbonsai validate --file memory/2026-02-13.md")
@click.option("--file", default=None, metavar="FILE", help="The note (today's daily note).")
@tier_options
@door
def validate(door: Door, file: str | None) -> int:
    """Say what a daily note lacks to do it again: tools without a URL, actions without a command, decisions without a
    next step.
    """
    from bonsai.cli import render_gleaning

    missing = f"Daily notes file not found: {file or 'that of today'}"
    lost = {"status": "warning", "warnings_count": 1, "warnings": [missing], "suggestions": []}
    with connected(door) as workspace, or_answer(lost):
        report = workspace.validate(located(workspace, [file])[0] if file else "")
    names = ("status", "warnings_count", "warnings", "suggestions")
    return answer(door, report, render_gleaning.validated(report), {name: getattr(report, name) for name in names})


@verb("extract-metadata", "bonsai extract-metadata --file memory/2026-02-13.md")
@click.argument("name", metavar="[FILE]", required=False)
@click.option("--file", default=None, metavar="FILE", help="The same as the argument.")
@tier_options
@door
def extract_metadata(door: Door, name: str | None, file: str | None) -> int:
    """Show the URLs, commands and paths that stand in a file."""
    from bonsai.cli import render_gleaning

    wanted = file or name
    if not wanted:
        raise click.UsageError("Give the FILE.")
    with connected(door) as workspace:
        report = workspace.extract_metadata(located_files(workspace, [wanted])[0])
    return answer(door, report, render_gleaning.extracted(report), report)


@verb("search-url", "bonsai search-url comfy.org\nbonsai search-url --url github.com --limit 10\nbonsai search-url")
@click.argument("fragment", metavar="[FRAGMENT]", required=False, default="")
@click.option("--url", default="", metavar="FRAGMENT", help="The same as the argument.")
@click.option("--limit", type=click.IntRange(1), default=5, show_default=True, help="So many facts.")
@tier_options
@door
def search_url(door: Door, fragment: str, url: str, limit: int) -> int:
    """Find facts by a part of a URL; without one, show every URL."""
    from bonsai.cli import render_gleaning

    with connected(door) as workspace:
        report = workspace.search_url(url or fragment, limit=limit)
    results = [
        {"id": hit.id, "text": hit.text, "category": hit.category, "metadata": hit.metadata} for hit in report.results
    ]
    old = {"query": report.query, "results_count": report.results_count, "results": results}
    return answer(door, report, render_gleaning.urls(report), old if report.query else {**old, "urls": report.urls})


@verb(
    "retrieve",
    """bonsai retrieve 'BSC deployment decision'
    bonsai retrieve --query 'what did we decide' --llm --llm-endpoint http://localhost:8080/complete""",
)
@click.argument("words", metavar="[QUERY]", nargs=-1)
@click.option("--query", default=None, metavar="TEXT", help="The query, instead of as an argument.")
@click.option("--limit", type=click.IntRange(1), default=5, show_default=True, help="So many facts.")
@click.option("--llm", is_flag=True, help="Have a language model name the branches to look in.")
@click.option("--llm-endpoint", default="", metavar="URL", help="The model (or BONSAI_LLM_ENDPOINT).")
@tier_options
@door
def retrieve(door: Door, words: tuple[str, ...], *, query: str | None, limit: int, llm: bool, llm_endpoint: str) -> int:
    """Find what is remembered, in every tier: recall, as the original tool words it."""
    from bonsai.cli import render_finding

    said = text_of(query, words, "query")
    endpoint = _endpoint(llm_endpoint) if llm else ""
    with connected(door) as workspace:
        if is_original():
            screen.write(json.dumps(_plain(workspace.retrieve(said, limit=limit, llm=endpoint)), indent=2).split("\n"))
            return 0
        report = workspace.recall(said, limit=limit, mode="llm" if llm else "lexical", llm=endpoint)
    screen.say([f"bonsai: {warning}" for warning in report.warnings])
    return door.answer(report, render_finding.recall(report, False))


def _plain(value: object) -> object:
    from bonsai.passes.plain import as_json

    return as_json(value)
