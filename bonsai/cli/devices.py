"""The commands between devices: sync, trust; and the merge driver, which git calls."""

import os

import click

from bonsai.cli.door import Door, current_folder, door, native, verb
from bonsai.errors import Refused


@verb("sync", "bonsai sync\nbonsai sync backup\nbonsai sync /media/stick/memory.git\nbonsai sync --adopt")
@click.argument("remote", metavar="[REMOTE]", default="")
@click.option("--adopt", is_flag=True, help="Merge also a history that is unrelated or was rewritten, keeping both.")
@click.option("--all-deletions", is_flag=True, help="Accept that most of the notes are gone on the other side.")
@door
def sync(door: Door, remote: str, *, adopt: bool, all_deletions: bool) -> int:
    """Bring this memory and its other copies together: fetch, merge note by note, push.

    REMOTE is a name of `git remote`, a path, ssh:// or https://; without it that of the branch, else origin. What both
    sides added is kept; where both changed the same passage or key, both versions stand. Nothing is ever forced.
    """
    from bonsai.cli import render_devices, screen

    with door.workspace() as workspace:
        report = workspace.sync(remote, adopt=adopt, all_deletions=all_deletions, cwd=current_folder())
    code = door.answer(report, render_devices.sync(report))
    if report.waiting and not door.json:
        screen.say([f"bonsai: nothing was pushed: {report.waiting}"])
    return code


@verb("trust", "bonsai trust\nbonsai trust --yes\nbonsai trust --helpers")
@click.option("--yes", is_flag=True, help="Agree to the keys that are listed, with their present values.")
@click.option("--helpers", is_flag=True, help="Let sync log in with the credential helper and ssh of your own config.")
@door
def trust(door: Door, yes: bool, helpers: bool) -> int:
    """List what in the repository's own git config can make git run programs.

    As long as you have not agreed to it, `bonsai sync` refuses. A value that changes later has to be agreed to again.
    """
    from bonsai.cli import render_devices, screen

    with door.workspace() as workspace:
        report = workspace.trust(yes=yes, helpers=helpers)
        if not report.trusted and door.may_ask(yes):
            screen.say(render_devices.trust(report))
            if not click.confirm("Do you trust them?", default=False, err=True):
                return Refused.code
            report = workspace.trust(yes=True, helpers=helpers)
    return door.answer(report, render_devices.trust(report))


@click.command("merge-driver", hidden=True)
@click.argument("base")
@click.argument("ours")
@click.argument("theirs")
@click.argument("path")
def merge_driver(base: str, ours: str, theirs: str, path: str) -> int:
    """Merge one file for git, as `sync` would; git names the three versions and the path."""
    from bonsai.adapters import git_driver

    heads = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
    return git_driver.merge_files(native(base), native(ours), native(theirs), path, heads)
