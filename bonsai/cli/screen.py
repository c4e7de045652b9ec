"""Where output goes: data to stdout, talk to stderr; colours and progress bars only on a terminal.

Nothing here words anything (`render` does), and nothing here raises for a character that the locale cannot show.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

#: Control characters and direction overrides: a note's name or text must not be able to drive the terminal.
_UNSAFE = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
}
_PATIENCE = 0.5  # seconds of work before a progress bar appears


class Line(NamedTuple):
    """A line of output; `style` (rich's words: "bold", "red", …) shows on a terminal only."""

    text: str
    style: str = ""


Lines = Iterable[Line | str]


def prepare() -> None:
    """Let no print fail on a stream that is closed (`>&-`), or on a character outside the locale (it becomes `?`)."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="replace")


def write(lines: Lines) -> None:
    """Data for people, on stdout."""
    _print(sys.stdout, lines)


def say(lines: Lines) -> None:
    """Talk, on stderr; that nobody can hear it (disk full) changes no exit code."""
    with suppress(OSError):
        _print(sys.stderr, lines)


def write_json(value: Any, indent: int | None = 2) -> None:
    """Data for programs: one object in UTF-8, whatever the locale; bytes that are no UTF-8 as `\\udcXX` escapes."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    _send(sys.stdout, text.encode("utf-8", "backslashreplace") + b"\n")


def write_text(text: str) -> None:
    """A file on stdout, byte for byte; on a terminal its lines, which then cannot drive it."""
    if sys.stdout.isatty():
        write(text.removesuffix("\n").split("\n") if text else [])
    else:
        _send(sys.stdout, text.encode("utf-8", "surrogateescape"))


def is_terminal() -> bool:
    """Whether a person reads stdout, not a program."""
    return sys.stdout.isatty()


def is_interactive() -> bool:
    """Whether somebody can be asked: questions go to stderr, answers come from stdin."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, default: bool) -> bool:
    """Ask a yes/no question. Raises click.Abort on ^C or at the end of the input."""
    import click

    return click.confirm(question, default=default, err=True)


class Bar:
    """A progress bar on stderr that shows itself only when the work takes a while."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._rich: Any = None

    def callback(self) -> Callable[[str, int, int], None] | None:
        """What the workspace may call with (label, done, total); None where nobody watches."""
        return self._show if sys.stderr.isatty() else None

    def stop(self) -> None:
        """Take the bar away."""
        if self._rich is not None:
            self._rich.stop()
            self._rich = None

    def _show(self, label: str, done: int, total: int) -> None:
        if self._rich is None:
            if time.monotonic() - self._began < _PATIENCE:
                return
            from rich.console import Console
            from rich.progress import Progress

            self._rich = Progress(console=Console(stderr=True), transient=True)
            self._task = self._rich.add_task(label)
            self._rich.start()
        self._rich.update(self._task, description=label, completed=done, total=total or None)


def _print(stream: TextIO, lines: Lines) -> None:
    rows = [line if isinstance(line, Line) else Line(line) for line in lines]
    if not rows:
        return
    if stream.isatty():
        _paint(stream, rows)
    else:  # bytes of a note go through a pipe as they are
        text = "\n".join(row.text for row in rows) + "\n"
        try:
            data = text.encode(stream.encoding or "utf-8", "surrogateescape")
        except UnicodeEncodeError:
            data = text.encode(stream.encoding, "replace")
        _send(stream, data)


def _paint(stream: TextIO, rows: list[Line]) -> None:
    # rich, not click.secho: click ignores NO_COLOR. Imported here because a pipe never needs its 50 ms.
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    for row in rows:  # rich would still print bold under NO_COLOR
        console.print(Text(row.text.translate(_UNSAFE), style="" if console.no_color else row.style))


def _send(stream: TextIO, data: bytes) -> None:
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
    except BrokenPipeError:
        # The reader (`| head`) has seen enough: what was asked for is done, so the exit code stays that of the verb.
        # Python would complain once more when it flushes at exit.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
