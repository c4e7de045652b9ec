"""What the commands say that get facts out of texts."""

from collections.abc import Iterator, Sequence

from bonsai.cli.render import committed
from bonsai.cli.screen import Line
from bonsai.notes.printed import counted
from bonsai.passes.tiered import DistillReport, ExtractReport, IngestReport, RememberReport, UrlReport, ValidateReport

MOST = 20  # lines of a list


def distilled(report: DistillReport) -> Iterator[Line | str]:
    """`distill`."""
    found = report.distilled
    yield Line(found.fact, "bold")
    for name in ("people", "topics", "actions"):
        if value := getattr(found, name):
            yield f"{name}: {', '.join(value)}"
    yield f"emotion: {found.emotion}, outcome: {found.outcome}"
    if report.core_summary is not None:
        yield f"in short: {report.core_summary}"
    yield Line(f"{report.mode}, {report.original_size} → {report.distilled_size} bytes", "dim")


def remembered(reports: Sequence[RememberReport]) -> Iterator[Line | str]:
    """`distill --flush`."""
    yield f"Distilled: {len(reports)}"
    yield from (f"  {report.path}" for report in reports[:MOST])
    yield from committed(next((report.commit for report in reports if report.commit), None))


def ingested(report: IngestReport) -> Iterator[Line | str]:
    """`ingest-daily`."""
    yield f"Daily notes read: {len(report.files)}, new facts: {len(report.created)}, known: {report.skipped}"
    yield from (f"  {path}" for path in report.created[:MOST])
    if len(report.created) > MOST:
        yield f"  … {len(report.created) - MOST} more"
    if report.dry_run and report.created:
        yield "Nothing was written: leave --dry-run out to remember them."
    yield from committed(report.commit)


def validated(report: ValidateReport) -> Iterator[Line | str]:
    """`validate`."""
    count = counted(report.warnings_count, "warning")
    yield Line(f"{report.file}: {count if report.warnings else 'ok'}", "bold")
    yield from (f"  {warning}" for warning in report.warnings)
    yield from (f"→ {suggestion}" for suggestion in report.suggestions)


def extracted(report: ExtractReport) -> Iterator[Line | str]:
    """`extract-metadata`."""
    for name in ("urls", "commands", "paths"):
        found = getattr(report.metadata, name)
        yield Line(f"{name} ({len(found)})", "bold")
        yield from (f"  {item}" for item in found)


def urls(report: UrlReport) -> Iterator[Line | str]:
    """`search-url`."""
    if not report.query:
        yield from report.urls
    else:
        for hit in report.results:
            yield Line(f"{hit.path}", "bold")
            yield from (f"  {url}" for url in hit.metadata.urls if report.query.casefold() in url.casefold())
    if not report.urls:
        yield "Nothing found."
