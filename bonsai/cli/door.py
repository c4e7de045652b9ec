"""What every command shares: the global options, opening the workspace, handing over the answer."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bonsai.cli import agents, screen

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from bonsai.workspace import Workspace

T = TypeVar("T")
DEFAULT = "default"  # what the original calls the agent of the main tree


@dataclass
class Door:
    """What the global options said. All strings are UTF-8 with surrogate escapes, as everywhere in bonsai."""

    folder: str = ""
    agent: str = ""
    json: bool = False

    @contextmanager
    def workspace(self) -> Iterator["Workspace"]:
        """The workspace of `-C`, else of BONSAI_WORKSPACE, else around the current folder. Raises NotFound."""
        from bonsai.workspace import Workspace

        bar = screen.Bar()
        with Workspace.open(
            self.start(),
            agent=self.agent,
            actor=os.environ.get("BONSAI_ACTOR", ""),
            session=os.environ.get("BONSAI_SESSION", ""),
            progress=bar.callback(),
        ) as workspace:
            screen.say(agents.warning(workspace.root, self.agent))
            try:
                yield workspace
            finally:
                bar.stop()

    def start(self) -> str:
        """The folder of the workspace, in the file system's own encoding. Raises NotFound."""
        from bonsai.workspace import Workspace

        return native(self.folder) or os.environ.get("BONSAI_WORKSPACE") or Workspace.find(Path.cwd())

    def find(self) -> str:
        """The same folder, made sure of without the whole of bonsai being imported: a client waits. Raises NotFound."""
        from bonsai.adapters.files import Files
        from bonsai.errors import NotFound

        named = native(self.folder) or os.environ.get("BONSAI_WORKSPACE")
        found = os.path.realpath(named) if named else Files.find_workspace(os.path.realpath(os.curdir))
        if found is None or not Path(found).is_dir():
            raise NotFound("there is no workspace", path=named or os.curdir, hint="Name one with -C DIR.")
        return found

    def answer(self, report: Any, lines: screen.Lines, code: int = 0) -> int:
        """Print a report, as JSON or in words, and pass the exit code on."""
        if self.json:
            from bonsai.passes.plain import as_json

            screen.write_json(as_json(report))
        else:
            screen.write(lines)
        return code

    def may_ask(self, yes: bool) -> bool:
        """Whether to ask before going on: somebody is there, and has not said yes beforehand."""
        return not yes and not self.json and screen.is_interactive()


def utf8(argument: str) -> str:
    """An argument as the bytes the shell gave, read as UTF-8: under LC_ALL=C Python has it as escapes."""
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def native(path: str) -> str:
    """The reverse of `utf8`, for calls of the operating system."""
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def current_folder() -> str | None:
    """Where FILE arguments start; None when the folder is gone."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return None


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value:
        main_tree = parameter.name == "agent" and value == DEFAULT
        setattr(context.ensure_object(Door), str(parameter.name), "" if main_tree else value)


def folders(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list["CompletionItem"]:
    """The shell itself completes folders."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def agent_ids(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The agents of the workspace whose id starts so; nothing when anything is wrong."""
    from bonsai.errors import BonsaiError

    with suppress(BonsaiError, OSError):
        return [agent for agent in agents.known(context.ensure_object(Door).start()) if agent.startswith(incomplete)]
    return []


def global_options(hidden: bool) -> list[click.Option]:
    """`-C`, `--agent`, `--json`: accepted before the command and after it."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _remember}
    return [
        click.Option(
            ["-C", "folder"], metavar="DIR", help="The workspace.", hidden=hidden, shell_complete=folders, **shared
        ),
        click.Option(
            ["--agent", "--agent-id"],
            metavar="ID",
            help="Work on this agent's own tree.",
            hidden=hidden,
            shell_complete=agent_ids,
            **shared,
        ),
        click.Option(["--json", "json"], is_flag=True, help="Print one JSON object.", **shared),
    ]


class Verb(click.Command):
    """A command with the global options and examples in its help."""

    def __init__(self, *args: Any, examples: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.examples = examples
        self.params += global_options(hidden=True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """An argument like `- bought milk` is text: agents write the log of the day as list items."""
        takers = {name for option in self.params if not getattr(option, "is_flag", True) for name in option.opts}
        pairs = list(zip(["", *args], args, strict=False))  # each word after the one before it
        items = [word for before, word in pairs if word.startswith("- ") and before not in takers]
        if items and "--" not in args:
            args = [*(word for word in args if word not in items), "--", *items]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # click's parser leaves it out where a value is missing: no command to name
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, line by line (click would wrap them)."""
        with formatter.section("Examples"):
            for line in self.examples.strip().splitlines():
                formatter.write(f"  {line.strip()}\n")


class VerbGroup(Verb, click.Group):
    """A command that has commands of its own, and does something without them."""

    def __init__(self, *args: Any, otherwise: str = "", **settings: Any) -> None:
        super().__init__(*args, invoke_without_command=True, **settings)
        self.otherwise = otherwise  # the sub-command that takes arguments which name none

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`daily TEXT` is `daily add TEXT`."""
        if self.otherwise and self.get_command(ctx, args[0]) is None:
            text = ["--", *args] if args[0].startswith("-") else args  # it stood behind a `--` or is a list item
            return self.otherwise, self.get_command(ctx, self.otherwise), text
        return super().resolve_command(ctx, args)


def verb(name: str, examples: str) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a command."""
    return click.command(name, cls=Verb, examples=examples)


def located(workspace: "Workspace", files: Sequence[str]) -> list[str]:
    """FILE arguments, which may be folders, as workspace-relative paths. Raises NotFound, Refused."""
    here = current_folder()
    return [workspace.locate(file, here) for file in files]


def located_files(workspace: "Workspace", files: Sequence[str]) -> list[str]:
    """The same for verbs that take no folder."""
    here = current_folder()
    return [workspace.locate_file(file, here) for file in files]


door = click.make_pass_decorator(Door, ensure=True)
