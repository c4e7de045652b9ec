"""Shell completion: click's own script, and the notes and domains of the workspace as values."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from bonsai.cli.door import Door, verb
from bonsai.errors import BonsaiError
from bonsai.notes.layout import MEMORY, Kind, domain_of, kind_of

SHELLS = click.Choice(["bash", "zsh", "fish"])
MOST = 500  # values: a longer list helps nobody, and a shell waits for it at every Tab


@verb(
    "completion",
    """eval "$(bonsai completion bash)"
    eval "$(bonsai completion zsh)"
    bonsai completion fish > ~/.config/fish/completions/bonsai.fish""",
)
@click.argument("shell", type=SHELLS)
def completion(shell: str) -> int:
    """Print the completion script of a shell (bash, zsh, fish)."""
    from click.shell_completion import get_completion_class

    from bonsai.cli.main import cli

    found = get_completion_class(shell)
    if found is None:  # click lost a shell that it had: say so like any other usage error
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(found(cli, {}, "bonsai", "_BONSAI_COMPLETE").source())
    return 0


def note_paths(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The notes whose path starts so; nothing at all when anything is wrong, for a shell cannot show an error."""
    found = (path for path in _walk(context) if kind_of(path) is Kind.NOTE and path.startswith(incomplete))
    return sorted(path for path, _ in zip(found, range(MOST), strict=False))


def domains(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The domains whose name starts so."""
    found = {domain_of(path) for path in _walk(context)}
    return sorted(domain for domain in found if domain and domain.startswith(incomplete))[:MOST]


def _walk(context: click.Context) -> Iterator[str]:
    try:
        root = Path(context.ensure_object(Door).start())
    except (BonsaiError, OSError):
        return
    for folder, names, files in os.walk(root / MEMORY):
        names[:] = sorted(name for name in names if not name.startswith("."))
        inside = Path(folder).relative_to(root).as_posix()
        yield from (f"{inside}/{name}" for name in files)
