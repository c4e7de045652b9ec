"""What the commands of the tiers say."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from bonsai.cli.render import committed
from bonsai.cli.screen import Line
from bonsai.passes.tiered import (
    ColdHit,
    ConsolidateReport,
    FromCloudReport,
    HotReport,
    Metrics,
    PruneReport,
    RebuildReport,
    RememberReport,
    TreeReport,
)

LAST = 253_402_300_799  # Unix seconds: the end of the year 9999

MOST = 20  # lines of a list


def remembered(report: RememberReport, keep_confident: bool = False) -> Iterator[Line | str]:
    """`remember`. `keep_confident`: a surer value may be why nothing was done; that one need not say the same."""
    if report.commit is None:
        why = "says so already, or is surer" if keep_confident else "known already"
        yield f"Nothing was changed: {report.path} ({why})"
        return
    yield f"{'Remembered' if report.new else f'Updated (version {report.version})'}: {report.path} ({report.tier})"
    yield from (f"  {item.text!r} was written as {item.absolute}" for item in report.dates)
    yield from (f"  perhaps no memory: {flag}" for flag in report.flags)
    yield from committed(report.commit)


def heated(report: HotReport) -> Iterator[Line | str]:
    """`hot --update`, `hot --rebuild`."""
    yield f"{report.output}: {report.size_bytes:,} of {report.max_bytes:,} bytes in the hot sections"
    yield from (f"  moved to {path}" for path in report.moved[:MOST])
    yield from _more(len(report.moved))
    yield from committed(report.commit)


def branch(report: TreeReport) -> Iterator[Line | str]:
    """`tree --add`, `tree --remove`."""
    done = "Added" if report.added else "Removed" if report.removed else "Nothing done"
    yield f"{done}: {report.path}" + (f" ({report.reason})" if report.reason else "")
    yield from committed(report.commit)


def pruned(report: PruneReport) -> Iterator[Line | str]:
    """`tree --prune`."""
    yield f"Dead nodes taken away: {len(report.pruned)}"
    yield from (f"  {path}" for path in report.pruned[:MOST])
    yield from _more(len(report.pruned))
    yield from committed(report.commit)


def rebuilt(report: RebuildReport) -> Iterator[Line | str]:
    """`tree --rebuild`."""
    if report.tree_rebuilt == "counts-only":
        yield f"Counted anew: {report.nodes} nodes. A language model can propose a better shape: --llm-endpoint URL."
        return
    for move in report.moves:
        yield f"{move['from']} → {move['to']}" + (f"  ({move['reason']})" if move["reason"] else "")
    for path, about in report.descriptions.items():
        yield f"{path} — {about}"
    if not report.moves and not report.descriptions:
        yield "Nothing is proposed."
    elif not report.applied:
        yield "Nothing was changed: --apply does it. Save a proposal with --json and give it back with --proposal."
    yield from committed(report.commit)


def consolidated(report: ConsolidateReport) -> Iterator[Line | str]:
    """`consolidate`."""
    yield from report.report.split("\n")
    if report.cold_synced:
        yield f"Sent to the database: {report.cold_synced} that had waited"
    yield from committed(report.commit)
    if report.commit is None:
        yield "Nothing had to change."


def cold_hits(hits: Sequence[ColdHit]) -> Iterator[Line | str]:
    """`cold --query`."""
    for hit in hits:
        yield Line(f"{hit.id}  {hit.category}  (importance {hit.importance:g}, {hit.tier})", "bold")
        yield from (f"   {line}" for line in hit.text.split("\n")[:6] if line.strip())
    if not hits:
        yield "Nothing found."


def from_cloud(report: FromCloudReport) -> Iterator[Line | str]:
    """`restore --from-cloud`."""
    yield f"Notes that stand again: {len(report.restored)}; facts that stay in the cold tier: {report.cold}"
    yield from (f"  {path}" for path in report.restored[:MOST])
    yield from _more(len(report.restored))
    yield from committed(report.commit)


def numbers(report: Metrics) -> Iterator[Line | str]:
    """`metrics`."""
    for name, value in asdict(report).items():
        said = value
        if name == "last_consolidation":
            said = f"{datetime.fromtimestamp(min(value, LAST), UTC).isoformat()[:19]}Z" if value > 0 else "never"
        yield f"{name.replace('_', ' ')}: {said}"


def _more(count: int) -> Iterator[str]:
    if count > MOST:
        yield f"  … {count - MOST} more"
