"""The error tree: each class carries its exit code (sysexits.h), each error a path, a cause and a next step."""

import sys


class BonsaiError(Exception):
    """Anything bonsai can say went wrong; `code` is the exit code of the command line.

    Args:
        cause: what happened, one sentence without the path.
        path: the file or folder it is about, workspace-relative where it is inside one.
        hint: what to do next, one sentence.
    """

    code = 70

    def __init__(self, cause: str, *, path: str | None = None, hint: str = "") -> None:
        self.cause, self.path, self.hint = cause, path, hint
        super().__init__(f"{path}: {cause}" if path else cause)


class Usage(BonsaiError):
    """The command line cannot be understood."""

    code = 64


class BadData(BonsaiError):
    """A file or an argument holds what cannot be used."""

    code = 65


class NotFound(BonsaiError):
    """There is no such file, note, revision or workspace."""

    code = 66


class Unavailable(BonsaiError):
    """A program or a service that is needed does not answer."""

    code = 69


class CannotCreate(BonsaiError):
    """The name is taken or not possible."""

    code = 73


class IoFailed(BonsaiError):
    """The operating system refused a read or a write (disk full, no permission, …)."""

    code = 74


class Busy(BonsaiError):
    """Somebody else is at work (lock, merge in progress, a note changed meanwhile): try again."""

    code = 75


class Refused(BonsaiError):
    """It could be done, but not safely."""

    code = 77


class Misconfigured(BonsaiError):
    """Settings or the repository do not allow it."""

    code = 78


def install_hint(extra: str) -> str:
    """The next step where an extra is missing; the `pip` of a shell may belong to another Python than bonsai's."""
    return f"Run `{sys.executable} -m pip install 'bonsai-memory[{extra}]'`, then try again."
