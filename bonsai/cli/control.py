"""Starting and stopping the daemon of a workspace: by the service that watches it where there is one, else directly.

Whether it runs is always asked of its lock: neither a pid in a file nor what systemd believes can tell.
"""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from bonsai.adapters.detached import Detached, is_watch, terminate
from bonsai.adapters.service import SEPARATOR, Service, Services
from bonsai.errors import BonsaiError, Busy, Refused, Unavailable
from bonsai.passes.reports import DaemonReport

if TYPE_CHECKING:
    from bonsai.workspace import Workspace

PATIENCE = 10.0  # seconds that it may take to come up, and to end
LOOK = 0.05  # seconds between two looks whether it has


@dataclass(slots=True)
class StartReport:
    """`daemon start`, `daemon restart`; `service` is what started it, None for a process of its own."""

    pid: int | None
    state: str
    workspaces: list[str]
    service: str | None
    already: bool


@dataclass(slots=True)
class StopReport:
    """`daemon stop`; `pid` is what was running, None where nothing was."""

    pid: int | None
    workspaces: list[str]


@dataclass(slots=True)
class InstallReport:
    """`daemon install`; `started` is False after --no-start."""

    service: str
    file: str
    workspaces: list[str]
    started: bool


@dataclass(slots=True)
class UninstallReport:
    """`daemon uninstall`; `file` is None where no service was installed."""

    file: str | None
    workspaces: list[str]


class Control:
    """The daemon of one workspace."""

    def __init__(self, space: "Workspace", services: Services) -> None:
        self._space, self._services = space, services
        self.service = services.of(space.root)
        self.workspaces = self.service.workspaces if self.service else [space.root]
        self.log = log_of(self.workspaces)

    def start(self) -> StartReport:
        """Start it unless it runs, and wait until it watches. Raises Unavailable."""
        now, by = self._space.daemon(), None
        already = now.running
        if not already and self.service and not self._services.silent():
            by = self.service.name
            self._services.start(self.service)
            now = self.ready()
        elif not already:
            now = self.ready(Detached(command(self.workspaces, self._space.agent)).failure)
        return StartReport(now.pid, now.state, self.workspaces, by, already)

    def ready(self, failure: Callable[[], str] = lambda: "") -> DaemonReport:
        """Wait until it watches; one that is busy with its first look is given back too. Raises Unavailable."""
        end = time.monotonic() + PATIENCE
        while not (now := self._space.daemon()).running or now.state != "watching":
            why = failure()
            late = time.monotonic() > end
            if now.running and late:
                break
            if not now.running and (why or late):
                raise Unavailable(
                    f"the daemon does not start: {why or f'nothing after {PATIENCE:g} s'}",
                    path=self._space.root,
                    hint="`bonsai daemon logs` may say more; `bonsai watch` runs it in this terminal.",
                )
            time.sleep(LOOK)
        return now

    def stop(self) -> StopReport:
        """End it and wait until it has. Raises Busy, Refused (no process of ours), Unavailable."""
        pid = self._space.daemon().pid
        if self.service and not self._services.silent():
            self._services.stop(self.service)
        return StopReport(self.end(pid), self.workspaces)

    def end(self, pid: int | None = None) -> int | None:
        """End the process that watches, wherever it came from, and wait until it (or `pid`) is gone.

        Returns its pid. Raises Busy, Refused.
        """
        asked, end = None, time.monotonic() + PATIENCE
        while (now := self._space.daemon()).running or (pid and is_watch(pid)):
            pid = now.pid or pid
            if now.running and pid and pid != asked and terminate(pid):
                asked = pid
            if time.monotonic() > end:
                raise self._goes_on(pid)
            time.sleep(LOOK)
        return pid

    def _goes_on(self, pid: int | None) -> BonsaiError:
        if pid and is_watch(pid):
            return Busy(
                f"the daemon (pid {pid}) has not ended after {PATIENCE:g} s",
                path=self._space.root,
                hint="It finishes its commit first: see `bonsai daemon status`.",
            )
        return Refused(
            f"process {pid} watches, but is no `bonsai watch` that you may end",
            path=self._space.root,
            hint="It may belong to somebody else, or run in a container: end it there.",
        )

    def uninstall(self) -> UninstallReport:
        """Stop and remove the service, where there is one. Raises Busy, Refused, OSError."""
        if not self.service:
            return UninstallReport(None, [])
        if not self._services.silent():
            self._services.stop(self.service)
        self._services.remove(self.service)
        self.end()
        return UninstallReport(self.service.file, self.workspaces)


def install(
    spaces: Sequence["Workspace"], services: Services, show: Callable[[str, str], None], *, start: bool
) -> InstallReport:
    """Write one service for these workspaces, and start it. Raises Refused, Unavailable, CannotCreate, OSError.

    Args:
        show: takes the file and its text, once it is written.
    """
    roots = list(dict.fromkeys(space.root for space in spaces))
    service = services.named(roots)
    before = [found for found in services.installed() if set(found.workspaces) & set(roots)]
    _require_none_forgotten(before, roots)
    show(service.file, services.write(service, command(roots, spaces[0].agent), search_path()))
    silent = services.silent()
    for old in before:
        if old.name != service.name:
            if not silent:
                services.stop(old)
            services.remove(old)
    if start:
        if silent:
            raise _no_system(service, services.kind, silent)
        services.enable(service)
        services.stop(service)
        controls = [Control(space, services) for space in spaces]
        for control in controls:
            control.end()  # one that was started without the service is in its way
        services.start(service)
        for control in controls:
            control.ready()
    return InstallReport(service.name, service.file, roots, start)


def _require_none_forgotten(before: Sequence[Service], roots: Sequence[str]) -> None:
    for old in before:
        forgotten = [root for root in old.workspaces if root not in roots]
        if forgotten:
            raise Refused(
                f"the service {old.name} watches this folder too, and nothing would watch it any more",
                path=forgotten[0],
                hint="Name all folders, or take that service away with `bonsai daemon uninstall`.",
            )


def _no_system(service: Service, kind: str, why: str) -> Unavailable:
    first = service.workspaces[0]
    return Unavailable(
        f"is written, but {kind} does not answer ({why})",
        path=service.file,
        hint=f"Run `bonsai daemon install` again in a session that has {kind}. Without it: `bonsai daemon start` now, "
        f"and a line `@reboot bonsai -C {quote(first)} daemon start` in your crontab.",
    )


def command(workspaces: Sequence[str], agent: str) -> list[str]:
    """The command line of a daemon. `-P`: with `-m` Python would import modules that lie in the current folder."""
    who = ["--agent", agent] if agent else []
    log = log_of(workspaces)
    return [sys.executable, "-P", "-m", "bonsai", *who, "watch", "--log", log, SEPARATOR, *workspaces]


def log_of(workspaces: Sequence[str]) -> str:
    """Where the daemon of these workspaces logs."""
    return f"{workspaces[0]}/.bonsai/log"


def search_path() -> str:
    """The PATH of a service: where git and gpg are for this user, then the usual folders."""
    found = [str(Path(program).parent) for name in ("git", "gpg") if (program := shutil.which(name))]
    return ":".join(dict.fromkeys([*found, "/usr/local/bin", "/usr/bin", "/bin"]))
