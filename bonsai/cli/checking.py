"""The commands that look whether all is as it should be: doctor, verify."""

import click

from bonsai.cli.door import Door, door, verb
from bonsai.errors import BadData


@verb("doctor", "bonsai doctor\nbonsai doctor --fix\nbonsai doctor --unlock\nbonsai doctor --secrets")
@click.option("--fix", is_flag=True, help="Repair what can be repaired without losing anything.")
@click.option("--unlock", is_flag=True, help="Remove a git lock that a program that is gone has left.")
@click.option("--secrets", is_flag=True, help="Have detect-secrets look for credentials in every text.")
@door
def doctor(door: Door, fix: bool, unlock: bool, secrets: bool) -> int:
    """Check the workspace and its repository. Exit code 1 when a check fails or something is lost."""
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.doctor(fix=fix, unlock=unlock, secrets=secrets)
    fine = not report.lost and all(check.ok for check in report.checks)
    return door.answer(report, render.doctor(report), code=int(not fine))


@verb("verify", "bonsai verify\nbonsai verify --json")
@door
def verify(door: Door) -> int:
    """Read everything, and compare git, disk, cache and logs.

    Changes nothing. Exit code 0 when all fits together (what is only pending does), else 65; `bonsai doctor --fix`
    repairs.
    """
    from bonsai.cli import render

    with door.workspace() as workspace:
        report = workspace.verify()
    return door.answer(report, render.verify(report), code=0 if report.ok else BadData.code)
