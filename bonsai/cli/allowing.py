"""The command that overrules the secret gate: allow."""

import click

from bonsai.cli.door import Door, door, verb


@verb("allow", "bonsai allow\nbonsai allow 8026e16dcce5\nbonsai allow --remove 8026e16dcce5")
@click.argument("fingerprints", metavar="[FINGERPRINT]...", nargs=-1)
@click.option("--remove", is_flag=True, help="Hold it back again.")
@door
def allow(door: Door, fingerprints: tuple[str, ...], remove: bool) -> int:
    """Let what looks like a credential be committed.

    A note that holds one is not committed; `bonsai status` says where, and its fingerprint. What is allowed counts for
    this device alone. Without a fingerprint: list them.
    """
    from bonsai.cli import render

    if remove and not fingerprints:
        raise click.UsageError("--remove takes a fingerprint.")
    with door.workspace() as workspace:
        report = workspace.allow()
        for fingerprint in fingerprints:
            report = workspace.allow(fingerprint, remove=remove)
    return door.answer(report, render.allow(report))
