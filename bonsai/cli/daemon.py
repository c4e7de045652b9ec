"""The commands about the daemon: watch (in this terminal), and daemon (as a service)."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bonsai.cli import screen
from bonsai.cli.door import Door, Verb, VerbGroup, door, folders, native, utf8, verb
from bonsai.errors import BadData, BonsaiError, Usage

if TYPE_CHECKING:
    from bonsai.adapters.service import Services
    from bonsai.cli.control import Control

NOT_RUNNING = 1  # exit code of `daemon status`
FEW = 20  # lines of `daemon logs`


@verb(
    "watch",
    """bonsai watch
    bonsai watch ~/wren ~/other --log ~/bonsai.log""",
)
@click.argument("dirs", metavar="[DIR]...", nargs=-1, shell_complete=folders)
@click.option("--log", "log_file", metavar="FILE", help="Write to this file, rotated at 1 MB, not to stderr.")
@door
def watch(door: Door, dirs: tuple[str, ...], log_file: str | None) -> int:
    """Commit each edit within seconds.

    Watches the workspace, or several, until ^C or SIGTERM. One line a commit; with --json each is an object on stdout.
    `bonsai daemon` runs the same in the background.
    """
    from bonsai.watch import watch as run

    roots = list(dict.fromkeys(os.path.realpath(native(folder)) for folder in dirs)) or [door.start()]
    with _teller(door.json, log_file) as say:
        try:
            return run(roots, agent=door.agent, log=say)
        except BonsaiError as error:
            if log_file:
                say(f"ended: {error}")
            raise


@contextmanager
def _teller(as_json: bool, log_file: str | None) -> Iterator[Callable[[str], None]]:
    """What takes the lines of a daemon: the log file, else the terminal. Raises OSError, Refused."""
    from bonsai.adapters import clock

    def stamp() -> str:
        return clock.local(clock.now()).isoformat(timespec="seconds")

    if log_file:
        from bonsai.adapters.log_file import LogFile

        with closing(LogFile(native(log_file))) as file:
            yield lambda words: file.line(f"{stamp()}  {_flat(words)}")
    elif as_json:
        yield lambda words: screen.write_json({"time": stamp(), "message": words}, indent=None)
    else:
        yield lambda words: screen.say([f"{stamp()}  {_flat(words)}"])


def _flat(words: str) -> str:
    return " ".join(words.split("\n"))


@click.group(
    "daemon",
    cls=VerbGroup,
    examples="""bonsai daemon start
    bonsai daemon install
    bonsai daemon status""",
)
@click.pass_context
@door
def daemon(door: Door, context: click.Context) -> int:
    """Run `watch` in the background.

    By itself, or as a service that starts when you log in. Without a command it is `daemon status`.
    """
    return 0 if context.invoked_subcommand else _status(door)


@daemon.command("start", cls=Verb, examples="bonsai daemon start\nbonsai -C ~/wren daemon start --json")
@door
def start(door: Door) -> int:
    """Start it and wait until it watches: the installed service, else a process of its own."""
    from bonsai.cli import render_daemon

    with _control(door) as control:
        report = control.start()
    return door.answer(report, render_daemon.started(report))


@daemon.command("stop", cls=Verb, examples="bonsai daemon stop")
@door
def stop(door: Door) -> int:
    """End it, after the commit that it is making. An installed service starts again at the next login."""
    from bonsai.cli import render_daemon

    with _control(door) as control:
        report = control.stop()
    return door.answer(report, render_daemon.stopped(report))


@daemon.command("restart", cls=Verb, examples="bonsai daemon restart")
@door
def restart(door: Door) -> int:
    """Stop it and start it, for example after an update of bonsai."""
    from bonsai.cli import render_daemon

    with _control(door) as control:
        control.stop()
        report = control.start()
    return door.answer(report, render_daemon.started(report))


@daemon.command("status", cls=Verb, examples="bonsai daemon status\nbonsai daemon status --json")
@door
def status(door: Door) -> int:
    """Tell whether it runs, how far it is behind, and its last commit. Exit code 1 when it does not run."""
    return _status(door)


def _status(door: Door) -> int:
    from bonsai.cli import render_daemon
    from bonsai.passes.plain import as_json

    with door.workspace() as workspace, _control(door) as control:
        report, root = workspace.daemon(), workspace.root
        report.lag_seconds = workspace.lag() if report.running else 0
    service = control.service.file if control.service else None
    answer = {**as_json(report), "workspaces": control.workspaces, "service": service, "log": control.log}
    lines = render_daemon.status(report, root, service, control.log)
    return door.answer(answer, lines, 0 if report.running else NOT_RUNNING)


@daemon.command("logs", cls=Verb, examples="bonsai daemon logs\nbonsai daemon logs -n 100\nbonsai daemon logs --follow")
@click.option("-n", "count", type=click.IntRange(0), default=FEW, show_default=True, help="So many lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until ^C.")
@door
def logs(door: Door, count: int, follow: bool) -> int:
    """Print the last lines of its log."""
    from bonsai.adapters import log_file

    if follow and door.json:
        raise Usage("--follow prints lines, not one object", hint="Leave one of --follow and --json away.")
    with _control(door) as control:
        path = control.log
    lines = log_file.tail(path, count)
    if not (lines or Path(path).exists()):
        screen.say([f"There is no log yet: {path}"])
    door.answer({"log": path, "lines": lines}, lines)
    for line in log_file.follow(path) if follow else ():
        screen.write([line])
    return 0


@daemon.command(
    "install",
    cls=Verb,
    examples="bonsai daemon install\nbonsai daemon install ~/wren ~/other\nbonsai daemon install --no-start",
)
@click.argument("dirs", metavar="[DIR]...", nargs=-1, shell_complete=folders)
@click.option("--no-start", is_flag=True, help="Only write the file.")
@door
def install(door: Door, dirs: tuple[str, ...], no_start: bool) -> int:
    """Make it a service that starts when you log in: a systemd user unit, or a launchd agent.

    Without DIR for this workspace (and those that its service watches already), else one service for all of these.
    """
    from bonsai.cli import control, render_daemon
    from bonsai.workspace import Workspace

    def show(file: str, text: str) -> None:
        if not door.json:
            screen.write(render_daemon.written(utf8(file), text))

    with ExitStack() as stack:
        if dirs:
            roots = [native(folder) for folder in dirs]
        else:
            roots = stack.enter_context(_control(door)).workspaces
        spaces = [stack.enter_context(Workspace.open(root, agent=door.agent)) for root in roots]
        report = control.install(spaces, _services(), show, start=not no_start)
    return door.answer(report, render_daemon.installed(report))


@daemon.command("uninstall", cls=Verb, examples="bonsai daemon uninstall")
@door
def uninstall(door: Door) -> int:
    """Stop the service of this workspace and remove it."""
    from bonsai.cli import render_daemon

    with _control(door) as control:
        report = control.uninstall()
    return door.answer(report, render_daemon.uninstalled(report))


@daemon.command("crontab", cls=Verb, examples="bonsai daemon crontab\n(crontab -l; bonsai daemon crontab) | crontab -")
@door
def crontab(door: Door) -> int:
    """Print lines for `crontab -e` that do the daemon's work by the clock, where no daemon can run."""
    with door.workspace() as workspace:
        text = _crontab(utf8(workspace.root))
    return door.answer({"crontab": text}, text.rstrip("\n").split("\n"))


def _crontab(root: str) -> str:
    """The template with this workspace and this bonsai. Raises BadData: cron knows no way to write a line end."""
    from bonsai.cli.control import search_path

    if "\n" in root:
        raise BadData("holds a line end, which a crontab cannot", path=root, hint="Rename the folder.")
    here = Path(sys.executable).parent
    program = here / "bonsai" if (here / "bonsai").exists() else shutil.which("bonsai")
    path = ":".join(dict.fromkeys([str(Path(program).parent if program else here), *search_path().split(":")]))
    text = (resources.files("bonsai_templates") / "crontab").read_text("utf-8")
    values = {"BONSAI_WORKSPACE": root, "PATH": path}
    return re.sub(rf"^({'|'.join(values)})=.*$", lambda found: f"{found[1]}={values[found[1]]}", text, flags=re.M)


@contextmanager
def _control(door: Door) -> Iterator["Control"]:
    from bonsai.cli.control import Control

    with door.workspace() as workspace:
        yield Control(workspace, _services())


def _services() -> "Services":
    """The services of this user: here, and nowhere deeper, the environment is asked where they are."""
    from bonsai.adapters.service import services

    return services(sys.platform, str(Path.home()), os.environ.get("XDG_CONFIG_HOME", ""), os.getuid())
