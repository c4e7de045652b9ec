"""The `bonsai` command: finds the command, runs it, turns every error into an exit code and a next step."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import click

import bonsai
from bonsai.cli import screen
from bonsai.cli.door import global_options, utf8
from bonsai.errors import BonsaiError, IoFailed, Usage

#: Command → module of bonsai.cli, imported when it is asked for: `bonsai --version` costs no more than click.
COMMANDS = {
    "init": "tree",
    "migrate": "tree",
    "move": "tree",
    "reindex": "tree",
    "status": "tree",
    "doctor": "checking",
    "verify": "checking",
    "remember": "tiers",
    "recall": "finding",
    "retrieve": "gleaning",
    "daily": "daily",
    "hot": "tiers",
    "tree": "tiers",
    "consolidate": "tiers",
    "cold": "tiers",
    "sync-critical": "tiers",
    "metrics": "tiers",
    "distill": "gleaning",
    "ingest-daily": "gleaning",
    "validate": "gleaning",
    "extract-metadata": "gleaning",
    "search-url": "gleaning",
    "commit": "history",
    "allow": "allowing",
    "log": "story",
    "why": "story",
    "show": "story",
    "diff": "story",
    "undo": "history",
    "restore": "history",
    "feedback": "caring",
    "dates": "caring",
    "check-facts": "caring",
    "heartbeat": "caring",
    "relocate": "caring",
    "reflect": "pruning",
    "archive": "pruning",
    "purge": "pruning",
    "erase": "erasing",
    "sync": "devices",
    "trust": "devices",
    "turn": "conversation",
    "context": "conversation",
    "prompt": "conversation",
    "fact": "knowing",
    "event": "knowing",
    "summary": "conversation",
    "scratch": "conversation",
    "followup": "conversation",
    "connect": "connect",
    "boot": "connect",
    "mcp": "mcp",
    "memory-tool": "memory_tool",
    "promote": "memory_tool",
    "watch": "daemon",
    "daemon": "daemon",
    "completion": "completion",
}
ALIASES = {"store": "remember"}
#: Part of `bonsai --help` → its first command; the part goes on to the next one's.
SECTIONS = {
    "Begin, and how it is": "init",
    "Remember and find": "remember",
    "Facts and tiers": "hot",
    "Edits and history": "commit",
    "Care": "feedback",
    "Put away, forget": "reflect",
    "Several devices": "sync",
    "Conversations": "turn",
    "Agents": "connect",
    "The daemon, the shell": "watch",
}
HIDDEN = {
    "merge-driver": "devices",  # called by git
    "memory-search": "connect",  # by the skill for OpenClaw
    "memory-get": "connect",
    "distiller": "original",  # by scripts/
    "tree-search": "original",
}
_FULL = os.strerror(errno.EMFILE)
INTERRUPTED = 130  # what shells expect after ^C


class Commands(click.Group):
    """The commands, in the order of a working day."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, without aliases."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for, each with its whole first sentence."""
        width = max(map(len, COMMANDS))
        for title, first in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    (name.ljust(width), command.get_short_help_str(limit=200))
                    for name in _from(first)
                    if (command := self.get_command(ctx, name)) and not command.hidden
                )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        name = ALIASES.get(cmd_name, cmd_name)
        room = COMMANDS.get(name) or HIDDEN.get(name)
        if room is None:
            return None
        found: click.Command = getattr(import_module(f"bonsai.cli.{room}"), name.replace("-", "_"))
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a slip of the fingers is answered with the name that was meant."""
        if self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            for meant in get_close_matches(args[0], COMMANDS, n=1, cutoff=0.7):
                ctx.fail(f"No such command '{args[0]}'. Did you mean '{meant}'?")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    params=[*global_options(hidden=False)],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(bonsai.__version__, message="bonsai %(version)s")
def cli() -> None:
    """The memory of AI agents as markdown files under git, which people edit by hand.

    The workspace is that of -C, else of BONSAI_WORKSPACE, else the nearest folder upwards that holds memory/ or
    MEMORY.md.
    """


def _from(first: str) -> list[str]:
    """The commands of a section: from its first one to the next section's."""
    names = list(COMMANDS)
    begins = sorted(names.index(name) for name in SECTIONS.values())
    start = names.index(first)
    end = next((begin for begin in begins if begin > start), len(names))
    return names[start:end]


def main() -> None:
    """The entry point of the command line."""
    sys.exit(run([utf8(argument) for argument in sys.argv[1:]]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line (UTF-8 with surrogate escapes) and return its exit code; never raises."""
    screen.prepare()
    try:
        return int(cli.main(list(arguments), prog_name="bonsai", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return Usage.code
    except click.UsageError as error:
        return _fail(_usage(error), arguments)
    except BonsaiError as error:
        return _fail(error, arguments)
    except (click.Abort, KeyboardInterrupt):
        screen.say(["bonsai: stopped"])
        return INTERRUPTED
    except OSError as error:
        return _fail(_io(error), arguments)
    except MemoryError:
        return _fail(IoFailed("there is not enough memory", hint="Make room, then run the command again."), arguments)
    except Exception as error:  # the one place that may: whatever is left is a bug, and no traceback for it
        return _fail(_bug(error), arguments)


def _usage(error: click.UsageError) -> Usage:
    command = error.ctx.command_path if error.ctx else "bonsai"
    words = " ".join(error.format_message().split())  # click puts choices on lines of their own
    return Usage(words, hint=f"`{command} --help` shows what it takes.")


def _io(error: OSError) -> IoFailed:
    path = error.filename if isinstance(error.filename, str) else os.fsdecode(error.filename or b"")
    return IoFailed(error.strerror or str(error), path=path or None, hint="Correct that, then run the command again.")


def _bug(error: Exception) -> BonsaiError:
    if os.environ.get("BONSAI_DEBUG"):
        import traceback

        screen.say(traceback.format_exc().rstrip("\n").split("\n"))
    first_line = str(error).split("\n", 1)[0]
    if _FULL in first_line:  # an import finds that out first, and wraps it
        return IoFailed(_FULL.lower(), hint="Raise the limit (`ulimit -n 256`), then run the command again.")
    return BonsaiError(
        f"a bug in bonsai: {type(error).__name__}: {first_line}",
        hint="Your notes are in git. Please report it with the output of the same command under BONSAI_DEBUG=1.",
    )


def _fail(error: BonsaiError, arguments: Sequence[str]) -> int:
    from bonsai.cli import render

    ours = list(arguments)
    if "--json" in (ours[: ours.index("--")] if "--" in ours else ours):
        told = {"code": error.code, "path": error.path, "message": error.cause, "hint": error.hint}
        with suppress(OSError):  # it may be stdout itself that cannot be written to
            screen.write_json({"error": told})
    screen.say(render.error(error))
    return error.code
