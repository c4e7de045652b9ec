"""The words of recall."""

from bonsai.cli.render import flat
from bonsai.cli.screen import Line, Lines
from bonsai.notes.printed import counted
from bonsai.passes.found import Hit, RecallReport

PASSAGE = 6  # lines of a passage


def recall(report: RecallReport, explain: bool, deleted: bool = True, narrowed: str = "") -> Lines:
    """`recall`: each passage under its place. `deleted`: what is gone was asked for, too; `narrowed`: the filters."""
    if explain:
        yield from (Line(f"searched {flat(branch)}", "dim") for branch in report.branches)
    for number, hit in enumerate(report.hits, start=1):
        first, last = hit.lines
        title = " › ".join(dict.fromkeys(flat(part) for part in (hit.title, hit.heading) if part))
        yield Line(f"{number}. {flat(hit.path)}:{first}-{last}  {title}".rstrip(), "bold")
        text = [line for line in hit.text.splitlines() if line.strip()]
        yield from (f"   {line}" for line in text[:PASSAGE])
        if len(text) > PASSAGE:
            yield f"   … {counted(len(text) - PASSAGE, 'more line')}"
        if hit.restore:
            yield f"   {hit.restore}"
        if explain:
            yield Line(f"   score {hit.score:.3f}: {flat(', '.join(hit.why))}", "dim")
            yield Line(f"   {_more(hit)}", "dim")
    if not report.hits:
        yield from _nothing(deleted, narrowed)


def _nothing(deleted: bool, narrowed: str) -> Lines:
    """A filter that no note passes (`--type projct`) looks like an empty memory unless it is named."""
    if narrowed:
        yield f"Nothing found with {flat(narrowed)}; without that all notes are searched."
    elif deleted:
        yield "Nothing found."
    else:
        yield "Nothing found: `--deleted` searches what is gone."


def _more(hit: Hit) -> str:
    """Tier, age and the headings above, as far as there are any."""
    age = "" if hit.age_days is None else f", {counted(hit.age_days, 'day')} old ({hit.date})"
    under = f", under {flat(' › '.join(hit.trail))}" if hit.trail else ""
    return f"{hit.tier}{age}{under}"
