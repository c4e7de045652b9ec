"""The command that finds: recall."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bonsai.cli import screen
from bonsai.cli.completion import domains
from bonsai.cli.door import Door, door, native, verb

if TYPE_CHECKING:
    from bonsai.workspace import Mode

DATE = "DATE"


@verb(
    "recall",
    """bonsai recall 'what do we charge for events'
    bonsai recall pricing --domain business --limit 3 --explain
    bonsai recall pricing --at 2026-01-31
    bonsai recall 'old price list' --deleted
    bonsai recall standup --since 2026-03-01 --type project --actor agent:wren
    bonsai recall 'the hackathon deadline' --mode llm --llm-endpoint http://localhost:8080/complete""",
)
@click.argument("query", metavar="QUERY", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="So many passages.")
@click.option("--tokens", type=click.IntRange(1), default=None, metavar="N", help="Cut the answer to these (750).")
@click.option("--domain", default="", metavar="D", help="Only below this domain.", shell_complete=domains)
@click.option("--type", "type_", default="", metavar="T", help="Only notes of this type, e.g. feedback.")
@click.option("--tag", default="", metavar="TAG", help="Only notes with this tag.")
@click.option("--actor", default="", metavar="WHO", help="Only notes last changed by human, agent:ID, import.")
@click.option("--since", default="", metavar=DATE, help="Only notes of this day or later.")
@click.option("--until", default="", metavar=DATE, help="Only notes of this day or earlier.")
@click.option(
    "--tier",
    type=click.Choice(["hot", "warm", "cold"]),
    default=None,
    help="Only MEMORY.md (hot), the notes (warm), what has left for the cold tier (cold).",
)
@click.option("--at", default="", metavar="DATE|REV", help="Search the memory as it was then.")
@click.option("--deleted", is_flag=True, help="Search what was archived, purged or edited away.")
@click.option(
    "--mode",
    type=click.Choice(["lexical", "hybrid", "tree", "llm"]),
    default=None,
    help="By words, by meaning too (the extra embed), in branches whose names answer, or that a model names.",
)
@click.option("--llm-endpoint", default="", metavar="URL", help="The model (or BONSAI_LLM_ENDPOINT).")
@click.option("--llm-prompt-file", default=None, metavar="FILE", help="Write what a model would be asked, and stop.")
@click.option("--explain", is_flag=True, help="Say why each passage was found.")
@door
def recall(
    door: Door,
    query: tuple[str, ...],
    *,
    limit: int,
    tokens: int | None,
    domain: str,
    type_: str,
    tag: str,
    actor: str,
    since: str,
    until: str,
    tier: str | None,
    at: str,
    deleted: bool,
    mode: "Mode | None",
    llm_endpoint: str,
    llm_prompt_file: str | None,
    explain: bool,
) -> int:
    """Find the passages that answer a question.

    The best first, each with its file and lines, and no more than an agent can paste whole. Punctuation is only text.
    """
    from bonsai.cli import render_finding

    words = " ".join(query)
    with door.workspace() as workspace:
        if llm_prompt_file is not None:
            prompt = workspace.recall_prompt(words)
            Path(native(llm_prompt_file)).write_text(prompt, encoding="utf-8")
            screen.say([f"Wrote {llm_prompt_file}"])
            return 0
        report = workspace.recall(
            words,
            limit=limit,
            tokens=tokens or 0,
            domain=domain,
            type=type_,
            tag=tag,
            actor=actor,
            since=since,
            until=until,
            tier=tier or "",
            at=at,
            deleted=deleted,
            mode=mode or "",
            llm=llm_endpoint,
        )
    screen.say([f"bonsai: {warning}" for warning in report.warnings])
    filters = {
        "domain": domain,
        "type": type_,
        "tag": tag,
        "actor": actor,
        "since": since,
        "until": until,
        "tier": tier,
    }
    narrowed = " ".join(f"--{name} {value}" for name, value in filters.items() if value)
    return door.answer(report, render_finding.recall(report, explain, deleted, narrowed))
