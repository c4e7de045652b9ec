"""Options that the commands of the tiers share: the database, and how the answer is worded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bonsai.cli import screen
from bonsai.cli.door import Door

if TYPE_CHECKING:
    from bonsai.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])
URL, TOKEN, ORIGINAL = "bonsai.db_url", "bonsai.auth_token", "bonsai.original"


def _url(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[URL] = value or ""


def _token(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    from bonsai.adapters.own_arguments import hide

    hide(value or "")
    context.meta[TOKEN] = value or ""


def _original(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[ORIGINAL] = value == "original"


def tier_options(command: F) -> F:
    """`--db-url`, `--auth-token`, and the hidden `--style`."""
    hidden: dict[str, Any] = {"expose_value": False, "is_eager": True}
    for option in (
        click.option("--style", callback=_original, hidden=True, **hidden),
        click.option(
            "--auth-token", callback=_token, metavar="TOKEN", help="Its token; better: BONSAI_DB_TOKEN.", **hidden
        ),
        click.option(
            "--db-url", callback=_url, metavar="URL", help="The libSQL database (or BONSAI_DB_URL).", **hidden
        ),
    ):
        command = option(command)
    return command


@contextmanager
def connected(door: Door) -> Iterator["Workspace"]:
    """The workspace with the database that the options name."""
    meta = click.get_current_context().meta
    with door.workspace() as workspace:
        workspace.connect(meta.get(URL, ""), meta.get(TOKEN, ""))
        screen.say([f"bonsai: {warning}" for warning in workspace.config_warnings])
        if is_original():
            _adopt(workspace)
        yield workspace
        screen.say([f"bonsai: {warning}" for warning in workspace.cold_warnings()])


def _adopt(workspace: "Workspace") -> None:
    """The files of the original go on working without a word: who calls its scripts may have nothing else yet."""
    from bonsai.errors import BonsaiError

    try:
        taken = workspace.adopt_new()
    except BonsaiError as error:
        screen.say([f"bonsai: the files of the original were not taken over: {error}"])
        return
    if taken and taken.created:
        screen.say([f"bonsai: took over {len(taken.created)} facts from the files of the original"])
    if taken:
        screen.say([f"bonsai: {item.path}: {item.reason}" for item in taken.skipped])


def answer(door: Door, report: Any, lines: screen.Lines, original: Any, code: int = 0) -> int:
    """Print a report; for the scripts that other tools call, what these know."""
    if click.get_current_context().meta.get(ORIGINAL):
        from bonsai.passes.plain import as_json

        screen.write_json(as_json(original))
        return code
    return door.answer(report, lines, code)


@contextmanager
def or_answer(original: Any) -> Iterator[None]:
    """Where what is inside fails, a tool that knows the original has JSON to read all the same. The error goes on."""
    from bonsai.errors import BonsaiError

    try:
        yield
    except BonsaiError:
        if is_original():
            screen.write_json(original)
        raise


def is_original() -> bool:
    """Whether the answer is for a tool that knows the original's JSON."""
    return bool(click.get_current_context().meta.get(ORIGINAL))


def text_of(text: str | None, words: tuple[str, ...], name: str) -> str:
    """A text given as an option or as arguments. Raises click.UsageError for neither or both."""
    if (text is None) == (not words):
        raise click.UsageError(f"Give {name} either as an argument or with --{name}.")
    return text if text is not None else " ".join(words)
