"""Programs that a prepared repository names, one trap each: config, attributes, hooks, transports."""

import subprocess
from collections.abc import Callable
from pathlib import Path

HOOKS = [
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
]


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def as_config(*pairs: str) -> Callable[[Path, str], None]:
    """Set keys of the repository's own config; `RUN` in a value stands for the program."""

    def plant(root: Path, run: str) -> None:
        for pair in pairs:
            key, _, value = pair.partition("=")
            git(root, "config", key, value.replace("RUN", run))

    return plant


def with_attributes(text: str, *pairs: str) -> Callable[[Path, str], None]:
    def plant(root: Path, run: str) -> None:
        as_config(*pairs)(root, run)
        (root / ".gitattributes").write_text(text)
        (root / "memory/.gitattributes").write_text(text)
        (root / ".git/info").mkdir(exist_ok=True)
        (root / ".git/info/attributes").write_text(text)

    return plant


def hooks(root: Path, run: str) -> None:
    for name in HOOKS:
        path = root / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(run)


def hooks_elsewhere(root: Path, run: str) -> None:
    hooks(root, run)
    (root / ".git/hooks").rename(root / "hooks")
    git(root, "config", "core.hooksPath", "hooks")


def included(root: Path, run: str) -> None:
    (root / "more.config").write_text(f"[core]\n\tfsmonitor = {run}\n\tpager = {run}\n[gpg]\n\tprogram = {run}\n")
    git(root, "config", "include.path", "../more.config")


def of_the_worktree(root: Path, run: str) -> None:
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "core.fsmonitor", run)
    git(root, "config", "--worktree", "core.hooksPath", str(Path(run).parent))


def lazy_fetch(root: Path, run: str) -> None:
    """A partial clone fetches an object that is missing, through the program that the remote's config names."""
    as_config(
        "core.repositoryFormatVersion=1", "extensions.partialClone=origin", "remote.origin.promisor=true",
        "remote.origin.partialCloneFilter=blob:none", f"remote.origin.url={root}", "remote.origin.uploadpack=RUN",
    )(root, run)  # fmt: skip


def lazy_fetch_by_transport(root: Path, run: str) -> None:
    lazy_fetch(root, run)
    as_config("remote.origin.url=ext::RUN x", "protocol.ext.allow=always", "protocol.allow=always")(root, run)


def lazy_fetch_by_ssh(root: Path, run: str) -> None:
    lazy_fetch(root, run)
    as_config("remote.origin.url=ssh://localhost/x", "core.sshCommand=RUN", "ssh.variant=simple", "core.gitProxy=RUN")(
        root, run
    )


def lazy_fetch_by_helper(root: Path, run: str) -> None:
    lazy_fetch(root, run)
    as_config("remote.origin.vcs=ext", "remote.origin.url=RUN x")(root, run)


VECTORS: dict[str, Callable[[Path, str], None]] = {
    "core.fsmonitor": as_config("core.fsmonitor=RUN", "core.fsmonitorHookVersion=1", "core.untrackedCache=true"),
    "hooks": hooks,
    "core.hooksPath": hooks_elsewhere,
    "filter.clean": with_attributes(
        "* filter=x\n", "filter.x.clean=RUN", "filter.x.smudge=RUN", "filter.x.required=true"
    ),
    "filter.process": with_attributes("* filter=x\n", "filter.x.process=RUN", "filter.x.required=true"),
    "filter of lfs": with_attributes(
        "* filter=lfs diff=lfs merge=lfs -text\n", "filter.lfs.clean=RUN", "filter.lfs.process=RUN"
    ),
    "diff.textconv": with_attributes("* diff=x\n", "diff.x.textconv=RUN", "diff.x.cachetextconv=true"),
    "diff.command": with_attributes("* diff=x\n", "diff.x.command=RUN"),
    "diff.external": as_config("diff.external=RUN"),
    "merge driver": with_attributes(
        "* merge=x\n", "merge.x.driver=RUN", "merge.default=x", "merge.tool=x", "mergetool.x.cmd=RUN"
    ),
    "core.pager": as_config(
        "core.pager=RUN", "pager.log=RUN", "pager.config=RUN", "pager.diff=RUN", "interactive.diffFilter=RUN"
    ),
    "core.editor": as_config("core.editor=RUN", "sequence.editor=RUN"),
    "gpg.program": as_config(
        "gpg.program=RUN",
        "gpg.openpgp.program=RUN",
        "gpg.x509.program=RUN",
        "commit.gpgSign=true",
        "log.showSignature=true",
    ),
    "gpg.ssh": as_config(
        "gpg.format=ssh",
        "gpg.ssh.program=RUN",
        "gpg.ssh.defaultKeyCommand=RUN",
        "commit.gpgSign=true",
        "log.showSignature=true",
    ),
    "core.sshCommand": lazy_fetch_by_ssh,
    "ext transport": lazy_fetch_by_transport,
    "uploadpack": lazy_fetch,
    "remote.vcs": lazy_fetch_by_helper,
    "credential.helper": as_config("credential.helper=!RUN", "core.askPass=RUN"),
    "alias": as_config(*(f"alias.{name}=!RUN" for name in ("log", "rev-parse", "fast-import", "fsck", "ls-tree", "x"))),
    "core.gitProxy": as_config("core.gitProxy=RUN"),
    "core.alternateRefsCommand": as_config("core.alternateRefsCommand=RUN"),
    "include.path": included,
    "worktree config": of_the_worktree,
    "receive and upload": as_config(
        "uploadpack.packObjectsHook=RUN", "receive.procReceiveRefs=refs", "gc.recentObjectsHook=RUN"
    ),
    "sendemail": as_config("sendemail.smtpServer=RUN", "sendemail.toCmd=RUN", "sendemail.sendmailCmd=RUN"),
    "submodule": as_config(
        "submodule.x.update=!RUN", "submodule.x.url=ext::RUN", "submodule.recurse=true", "diff.submodule=diff"
    ),
    "trailers": as_config("trailer.Bonsai-Op.command=RUN", "trailer.x.cmd=RUN"),
    "auto maintenance": as_config(
        "gc.auto=1", "gc.autoDetach=false", "maintenance.auto=true", "maintenance.strategy=incremental"
    ),
    "browser and tools": as_config(
        "web.browser=x", "browser.x.cmd=RUN", "difftool.x.cmd=RUN", "diff.tool=x", "man.x.cmd=RUN", "man.viewer=x"
    ),
}
