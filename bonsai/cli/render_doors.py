"""The words of the doors for agents: promote, connect, mcp."""

from bonsai.cli.render import flat
from bonsai.cli.screen import Line, Lines
from bonsai.passes.edited import PromoteReport


def serving(address: str, token: str) -> Lines:
    """`mcp --http`."""
    yield f"Serving the memory at {address}"
    yield Line(f"Clients need the header Authorization: Bearer <what stands in {flat(token)}>", "dim")


def promote(report: PromoteReport) -> Lines:
    """`promote`."""
    yield f"{flat(report.path)} is promoted (it came from: {flat(report.source)})"
    if report.commit:
        yield Line(f"Commit {report.commit[:10]}", "dim")
