"""The words of the doors for agents: promote, connect, mcp."""

from bonsai.cli.render import flat
from bonsai.cli.screen import Line, Lines
from bonsai.passes.edited import PromoteReport


def promote(report: PromoteReport) -> Lines:
    """`promote`."""
    yield f"{flat(report.path)} is promoted (it came from: {flat(report.source)})"
    if report.commit:
        yield Line(f"Commit {report.commit[:10]}", "dim")
