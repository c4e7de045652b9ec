"""The words of `bonsai daemon`."""

from bonsai.cli.control import InstallReport, StartReport, StopReport, UninstallReport
from bonsai.cli.screen import Line, Lines
from bonsai.passes.reports import DaemonReport


def started(report: StartReport) -> Lines:
    """`daemon start`, `daemon restart`."""
    words = f"{'Running already' if report.already else 'Started'} (pid {report.pid})"
    yield words if report.state == "watching" else f"{words}, still at its first look"
    yield from _others(report.workspaces, "It watches")
    if report.service:
        yield f"Service: {report.service}"


def stopped(report: StopReport) -> Lines:
    """`daemon stop`."""
    if report.pid is None:
        yield "It was not running."
        return
    yield f"Stopped (pid {report.pid})"
    yield from _others(report.workspaces, "Nothing watches any more")


def status(report: DaemonReport, root: str, service: str | None, log: str) -> Lines:
    """`daemon status`."""
    if report.running:
        yield Line(f"{report.state or 'starting'} (pid {report.pid or 'not told yet'})", "bold green")
    else:
        yield Line("not running, and not stopped by anybody" if report.died else "not running", "bold yellow")
    yield f"Workspace:   {root}"
    if report.running:
        yield f"Since:       {report.since}"
        yield f"Lag:         {f'an edit waits for {report.lag_seconds} s' if report.lag_seconds else 'none'}"
        if report.mode not in ("", "events"):
            yield Line(f"Polling:     {report.mode}", "yellow")
        if report.paused:
            yield Line(f"Paused:      {report.paused}", "yellow")
        if report.last_commit:
            yield f"Last commit: {report.last_commit[:10]}, {report.last_commit_at}"
    yield f"Service:     {service or 'none'}"
    yield f"Log:         {log}"
    if not report.running:
        yield "Next: `bonsai daemon start`."


def written(file: str, text: str) -> Lines:
    """The file of a service."""
    yield Line(file, "bold")
    yield from (f"  {line}".rstrip() for line in text.splitlines())


def installed(report: InstallReport) -> Lines:
    """`daemon install`."""
    if not report.started:
        yield f"Written, not started: `bonsai daemon start` starts {report.service}."
        return
    yield f"Started: {report.service}"
    if report.service.startswith("bonsai-"):  # a unit of systemd
        yield "It runs while you are logged in; for longer, once: `loginctl enable-linger`."


def uninstalled(report: UninstallReport) -> Lines:
    """`daemon uninstall`."""
    if report.file is None:
        yield "No service is installed for this workspace."
        return
    yield f"Removed: {report.file}"
    yield from _others(report.workspaces, "Nothing watches any more")


def _others(workspaces: list[str], words: str) -> Lines:
    if len(workspaces) > 1:
        yield f"{words}: {', '.join(workspaces)}"
