"""The one way to run git: fixed options, a scrubbed environment, a time limit, and no program of the repository."""

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import IO, Any, NamedTuple, cast

from bonsai.errors import BadData, BonsaiError, Busy, IoFailed, Misconfigured, Unavailable
from bonsai.notes.printed import encoded

#: What a repository's own config may not decide: programs first, then what would change an answer's form.
_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.sshCommand=ssh",
    "core.askPass=",
    "core.pager=cat",
    "credential.helper=",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "log.showSignature=false",  # `git log` would run gpg.program
    "log.showRoot=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    "core.quotePath=false",
    "core.ignorecase=false",  # else a rename from Note.md to note.md is lost in the index and in fast-import
    # One small pack a commit: loose objects would be compressed twice and synced one by one. `Packs` sweeps them up.
    "fastimport.unpackLimit=1",
    "pack.compression=1",
    "diff.orderFile=/dev/null",
    "diff.relative=false",
    "diff.renameLimit=1000",
    "merge.conflictStyle=merge",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "none",  # a missing object of a partial clone would run remote.*.uploadpack
}
#: Of a person's GIT_* variables these alone reach git; GIT_DIR or GIT_INDEX_FILE would lead it somewhere else. Those of
#: TLS are never looked at here, and taking one away costs a process.
_KEPT = re.compile(
    r"GIT_(?:CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)|(?:AUTHOR|COMMITTER)_[A-Z]{1,9}|EXEC_PATH|CEILING_DIRECTORIES"
    r"|(?:SSL|PYTHON)_[A-Z_]{1,40})"
)
_REFUSED = (
    "No space left",
    "quota exceeded",
    "Read-only file system",
    "Permission denied",
    "Input/output error",
    "Out of diskspace",
)
_BUSY = ("cannot lock ref", "Unable to create '", "Not updating refs/", "another git process")
_SECONDS = 120.0
_CHUNK = 1 << 16  # bytes: what a pipe holds
KILLED = -signal.SIGKILL


class Result(NamedTuple):
    """What a git process left."""

    code: int  # exit status; KILLED after the time limit
    out: bytes
    err: str
    pid: int

    @property
    def words(self) -> str:
        """git's own first words about what went wrong."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        chosen = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
        said = chosen.removeprefix("fatal:").removeprefix("error:").strip()
        return said or f"git ended with status {self.code}"


class GitRun:
    """Runs git in one folder.

    Raises Unavailable (no git), IoFailed (the system cannot start a process); `ok` also what `failure` makes.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.died = 0.0  # when (Unix seconds) a git that was killed had started, 0 for none: it may have left locks

    def __call__(
        self,
        *args: str,
        data: bytes | list[bytes] = b"",
        seconds: float = _SECONDS,
        env: Mapping[str, str] | None = None,
        config: tuple[str, ...] = (),
        literal: bool = True,
        whole: bool = False,
    ) -> Result:
        """Run one git command to its end, or to its time limit.

        Args:
            args: the command and its arguments, text with surrogate escapes for bytes that are no UTF-8.
            data: standard input; a list of its parts is emptied, so that 10,000 notes are in memory but once.
            seconds: time limit, after which the process and all its children are killed.
            env: variables to add.
            config: further `key=value` settings; they win over the fixed ones.
            literal: whether pathspecs are plain paths (only for pathspecs that no user wrote may it be False).
            whole: git reads all of `data` or none, for commands that would act on a part when we are killed meanwhile.
        """
        return self.start(*args, data=data, env=env, config=config, literal=literal, whole=whole).result(seconds)

    def start(
        self,
        *args: str,
        data: bytes | list[bytes] = b"",
        env: Mapping[str, str] | None = None,
        config: tuple[str, ...] = (),
        literal: bool = True,
        whole: bool = False,
    ) -> "Running":
        """Start one git command, to go on with other work meanwhile; `result` has to be asked. See `__call__`."""
        argv = ["git", "-C", self.root, "--no-pager", "--no-optional-locks"]
        argv += ["--literal-pathspecs"] if literal else []
        for item in (*_CONFIG, *config):
            argv += ["-c", item]
        start = time.time()
        parts = data if isinstance(data, list) else [data]
        with _file(b"".join(parts)) if whole else nullcontext(subprocess.PIPE if data else None) as source:
            running = self._start([*_scrub(), *argv, *args], {**_ENVIRONMENT, **(env or {})}, source)
        return Running(self, running, [] if whole else parts, start)

    def ok(self, *args: str, data: bytes = b"", literal: bool = True) -> bytes:
        """The output of a command that has to succeed. Raises what `failure` makes of it."""
        result = self(*args, data=data, literal=literal)
        if result.code:
            raise self.failure(result)
        return result.out

    def failure(self, result: Result) -> BonsaiError:
        """The error that a failed command stands for."""
        if result.code == KILLED:
            return Busy("git was killed, or did not answer in time", path=self.root, hint="Try again.")
        refused = any(words in result.err for words in _REFUSED)
        if not refused and any(words in result.err for words in _BUSY):
            return Busy(result.words, path=self.root, hint="Another git is at work here: try again.")
        if "not a git repository" in result.err or "dubious ownership" in result.err:
            return Misconfigured(result.words, path=self.root, hint="Run `bonsai doctor`.")
        hint = "Make room, or correct the permissions, and try again." if refused else "Run `bonsai doctor`."
        return IoFailed(f"git: {result.words}", path=self.root, hint=hint)

    def _start(self, argv: list[str], env: dict[str, str], source: IO[bytes] | int | None) -> Any:
        if word := next((word for word in argv if "\0" in word), ""):  # a filter of a log that a model made up
            raise BadData("a NUL character cannot be passed on", path=word.replace("\0", "\\0"), hint="Leave it out.")
        git = _git_class()
        # Bytes as the system has them, whatever the locale: under LC_ALL=C Python would refuse to pass an umlaut.
        words = [os.fsdecode(encoded(word)) for word in argv]
        try:
            return git(self.root).execute(
                words,
                istream=source,
                as_process=True,
                env=env,
                shell=False,
                start_new_session=True,
            )
        except OSError as error:
            raise IoFailed(f"git cannot be started: {error.strerror}", path=self.root, hint="Try again.") from error
        except Exception as error:
            if type(error).__name__ == "GitCommandNotFound":
                raise _no_git() from error
            raise


class Running:
    """A git process at work. `process` is GitPython's, which ends it when nobody holds it any more."""

    def __init__(self, run: GitRun, process: Any, data: list[bytes], start: float) -> None:
        self._run, self._held, self._data, self._start = run, process, data, start

    def result(self, seconds: float = _SECONDS) -> Result:
        """Wait for its end, or for its time limit, after which the process and all its children are killed."""
        process: subprocess.Popen[bytes] = self._held.proc
        try:
            out, err = _exchange(process, self._data, seconds)
            code = process.wait()
        except subprocess.TimeoutExpired:
            out, err, code = *_kill(process), KILLED
        except BaseException:
            _kill(process)
            raise
        if code == 127:
            raise _no_git()
        if code < 0:
            self._run.died = self._run.died or self._start
        return Result(code, out, err.decode("utf-8", "replace"), process.pid)


def settings_environment() -> dict[str, str]:
    """The environment for a program that runs git by itself: scrubbed, with the fixed options as variables."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or _KEPT.fullmatch(name)}
    found = {**kept, **_ENVIRONMENT, "LC_ALL": "C", "GIT_CONFIG_COUNT": str(len(_CONFIG))}
    for number, item in enumerate(_CONFIG):
        key, _, value = item.partition("=")
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _file(data: bytes) -> IO[bytes]:
    """A file without a name that holds the data. Raises IoFailed."""
    try:
        file = _nameless()
        file.write(data)
        file.seek(0)
    except OSError as error:
        raise IoFailed(f"git cannot be started: {error.strerror}") from error
    return file


def _nameless() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("bonsai"), "w+b")
    from tempfile import TemporaryFile  # slow to import

    return TemporaryFile()


def _git_class() -> Any:
    """GitPython's command runner. Its import looks for git and, unless told to be quiet, fails without it."""
    before = os.environ.get("GIT_PYTHON_REFRESH")
    os.environ["GIT_PYTHON_REFRESH"] = "quiet"
    try:
        from git.cmd import Git
    finally:
        if before is None:
            del os.environ["GIT_PYTHON_REFRESH"]
        else:
            os.environ["GIT_PYTHON_REFRESH"] = before
    return Git


def _scrub() -> list[str]:
    """GitPython can add variables but not take any away, so `env` does where there is one to take."""
    bad = [
        name
        for name in os.environ
        if name.startswith("GIT_") and name not in _ENVIRONMENT and not _KEPT.fullmatch(name)
    ]
    return ["env", *(word for name in bad for word in ("-u", name))] if bad else []


def _exchange(process: "subprocess.Popen[bytes]", data: list[bytes], seconds: float) -> tuple[bytes, bytes]:
    """Popen.communicate without its last step, which polls: that adds a millisecond to each git of two.

    Raises TimeoutExpired. The pipes are closed at the end.
    """
    until = time.monotonic() + seconds
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe]
    taken: dict[int, list[bytes]] = {pipe.fileno(): [] for pipe in pipes}
    order = list(taken)
    data.reverse()
    waiting = _next(data)
    with selectors.PollSelector() as ready:
        for pipe in pipes:
            ready.register(pipe, selectors.EVENT_READ)
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)  # so that a write may take as much as the pipe holds
            ready.register(process.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            left = until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for key, events in ready.select(left):
                if events & selectors.EVENT_WRITE:
                    with suppress(BrokenPipeError):  # git gave up before it read everything; it says why on stderr
                        waiting = waiting[os.write(key.fd, waiting[:_CHUNK]) :] or _next(data)
                        if waiting:
                            continue
                else:
                    chunk = os.read(key.fd, _CHUNK)
                    taken[key.fd].append(chunk)
                    if chunk:
                        continue
                ready.unregister(key.fileobj)
                cast(IO[bytes], key.fileobj).close()
    return b"".join(taken[order[0]]), b"".join(taken[order[1]])


def _next(data: list[bytes]) -> memoryview:
    """Take so many parts from the end of a list as make a chunk."""
    parts, size = [], 0
    while data and size < _CHUNK:
        parts.append(data.pop())
        size += len(parts[-1])
    return memoryview(b"".join(parts))


def _kill(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """End the process and its children: politely first, because git then takes its lock files with it."""
    for number, seconds in ((signal.SIGTERM, 0.5), (signal.SIGKILL, 1.0)):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    # A grandchild that left the session may still hold our pipes open: do not wait for it.
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError):
            if pipe:
                pipe.close()
    return b"", b""


def _no_git() -> Unavailable:
    return Unavailable("git is not installed, or not on PATH", hint="Install git 2.31 or newer.")
