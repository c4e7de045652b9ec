"""The daemon as a service of its user: systemd units and launchd agents, written and controlled.

The only place that calls systemctl and launchctl. Folders and paths are absolute, in the file system's own encoding.
"""

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import ClassVar

from bonsai.errors import CannotCreate, Unavailable

PATIENCE = 60  # seconds for one call; stopping may wait for a commit in the making, 30 s at most
SEPARATOR = "--"  # what stands between the options of the command and its workspaces


@dataclass(frozen=True, slots=True)
class Service:
    """A service that is, or is to be, installed.

    Attributes:
        name: how the system calls it.
        file: where it is written.
        workspaces: the folders that its daemon watches.
    """

    name: str
    file: str
    workspaces: list[str]


class Services(ABC):
    """The bonsai services of one user, whose files stand in `folder`."""

    kind: ClassVar[str]
    prefix: ClassVar[str]
    suffix: ClassVar[str]

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def named(self, workspaces: Sequence[str]) -> Service:
        """The service for these workspaces. Named after the first: two folders of one name differ in the hash."""
        first = workspaces[0]
        words = re.sub(r"[^a-z0-9]", "-", os.path.basename(first).lower())[:30].strip("-")
        digest = hashlib.sha256(os.fsencode(first)).hexdigest()[:8]
        name = self.prefix + "-".join([*filter(None, [words]), digest])
        return Service(name, f"{self._folder}/{name}{self.suffix}", list(workspaces))

    def installed(self) -> list[Service]:
        """Every bonsai service of this user, by name; files that cannot be understood are none."""
        with suppress(FileNotFoundError):
            names = sorted(os.listdir(self._folder))
            return list(self._services(name.removesuffix(self.suffix) for name in names if self._is_ours(name)))
        return []

    def of(self, workspace: str) -> Service | None:
        """The installed service that watches this workspace."""
        return next((found for found in self.installed() if workspace in found.workspaces), None)

    def write(self, service: Service, command: Sequence[str], path: str) -> str:
        """Write the file of a service; returns its text. Raises CannotCreate, OSError.

        Args:
            command: the program (absolute) and its arguments; the workspaces come last, after `--`.
            path: the PATH it gets; what a service has by default may lack git.
        """
        text = self._text(service, command, path)
        os.makedirs(self._folder, exist_ok=True)
        temporary = f"{service.file}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, service.file)
        return text

    def _is_ours(self, name: str) -> bool:
        return name.startswith(self.prefix) and name.endswith(self.suffix)

    def _services(self, names: Iterator[str]) -> Iterator[Service]:
        for name in names:
            file = f"{self._folder}/{name}{self.suffix}"
            with suppress(OSError, ValueError, TypeError, LookupError), open(file, "rb") as stream:
                yield Service(name, file, [_native(item) for item in self._workspaces(stream.read())])

    @abstractmethod
    def _text(self, service: Service, command: Sequence[str], path: str) -> str: ...

    @abstractmethod
    def _workspaces(self, data: bytes) -> list[str]:
        """The workspaces of a file, as UTF-8 with surrogate escapes. Raises ValueError, TypeError, LookupError."""

    @abstractmethod
    def silent(self) -> str:
        """Why the system takes no orders, "" when it does."""

    @abstractmethod
    def enable(self, service: Service) -> None:
        """Let it start with the session. Raises Unavailable."""

    @abstractmethod
    def start(self, service: Service) -> None:
        """Start it, as it is written now. Raises Unavailable."""

    @abstractmethod
    def stop(self, service: Service) -> None:
        """Stop it, where it runs, and do not start it again by itself. Raises Unavailable."""

    @abstractmethod
    def remove(self, service: Service) -> None:
        """Let the system forget it, and delete its file. Raises OSError."""


class Systemd(Services):
    """User units, in `$XDG_CONFIG_HOME/systemd/user`."""

    kind = "systemd"
    prefix, suffix = "bonsai-", ".service"

    def _text(self, service: Service, command: Sequence[str], path: str) -> str:
        # "$" is a variable in the arguments, but not in the path of the program.
        words = [_quoted(command[0]), *(_quoted(word).replace("$", "$$") for word in command[1:])]
        return _template("bonsai.service").substitute(
            workspaces=json.dumps([_utf8(workspace) for workspace in service.workspaces]),
            title=service.name.removeprefix(self.prefix),
            command=" ".join(words),
            path=_quoted(f"PATH={path}"),
        )

    def _workspaces(self, data: bytes) -> list[str]:
        [line] = re.findall(rb"^# workspaces: (.*)$", data, re.M)
        return list(json.loads(line))

    def silent(self) -> str:
        """Without a session (in a container, under cron) systemctl finds nobody to talk to."""
        return _call("systemctl", "--user", "show-environment")

    def enable(self, service: Service) -> None:
        """Let it start with the user's session."""
        self._tell("daemon-reload")
        self._tell("enable", service.name + self.suffix)

    def start(self, service: Service) -> None:
        """Start it, as it is written now."""
        self._tell("daemon-reload")
        self._tell("start", service.name + self.suffix)

    def stop(self, service: Service) -> None:
        """Stop it; systemctl returns when it has ended."""
        self._tell("stop", service.name + self.suffix)

    def remove(self, service: Service) -> None:
        """Disable it and delete its file, also where systemd is not there."""
        unit = service.name + self.suffix
        with suppress(Unavailable):
            self._tell("disable", unit)
        for file in (service.file, f"{self._folder}/default.target.wants/{unit}"):
            with suppress(FileNotFoundError):
                os.unlink(file)
        with suppress(Unavailable):
            self._tell("daemon-reload")

    def _tell(self, *words: str) -> None:
        _need("systemctl", "--user", *words)


class Launchd(Services):
    """Agents, in `~/Library/LaunchAgents`; `user` is the user's number."""

    kind = "launchd"
    prefix, suffix = "local.bonsai-", ".plist"

    def __init__(self, folder: str, user: int) -> None:
        super().__init__(folder)
        self._domain = f"gui/{user}"

    def _text(self, service: Service, command: Sequence[str], path: str) -> str:
        return _template("bonsai.plist").substitute(
            label=_xml(service.name),
            arguments="\n".join(f"    <string>{_xml(word)}</string>" for word in command),
            path=_xml(path),
        )

    def _workspaces(self, data: bytes) -> list[str]:
        import plistlib
        from xml.parsers.expat import ExpatError

        try:
            command = plistlib.loads(data)["ProgramArguments"]
        except ExpatError as error:
            raise ValueError(str(error)) from error
        return list(command[command.index(SEPARATOR) + 1 :])

    def silent(self) -> str:
        """Over ssh, without anybody at the screen, there is no domain for agents."""
        return _call("launchctl", "print", self._domain)

    def enable(self, service: Service) -> None:
        """An agent starts with the session by itself, unless somebody had disabled it."""
        _need("launchctl", "enable", self._target(service))

    def start(self, service: Service) -> None:
        """Load it, which starts it; launchd reads the file only then."""
        self.stop(service)
        _need("launchctl", "bootstrap", self._domain, service.file)

    def stop(self, service: Service) -> None:
        """Unload it: while it is loaded launchd would start it again."""
        if not _call("launchctl", "print", self._target(service)):
            _need("launchctl", "bootout", self._target(service))

    def remove(self, service: Service) -> None:
        """Unload it and delete its file."""
        with suppress(Unavailable):
            self.stop(service)
        with suppress(FileNotFoundError):
            os.unlink(service.file)

    def _target(self, service: Service) -> str:
        return f"{self._domain}/{service.name}"


def services(platform: str, home: str, config_home: str = "", user: int = 0) -> Services:
    """The services of a user: launchd on macOS (`platform` "darwin"), systemd elsewhere.

    Args:
        config_home: `$XDG_CONFIG_HOME`; a relative one does not count, says its specification.
    """
    if platform == "darwin":
        return Launchd(f"{home}/Library/LaunchAgents", user)
    return Systemd(f"{config_home if os.path.isabs(config_home) else f'{home}/.config'}/systemd/user")


def _call(*command: str) -> str:
    """Run a program; what it complains of, "" when it did what it should."""
    import subprocess

    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    except FileNotFoundError:
        return f"{command[0]} is not installed"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]} does not work: {error}"
    if done.returncode == 0:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().split("\n", 1)[0]
    return said or f"{command[0]} failed with exit code {done.returncode}"


def _need(*command: str) -> None:
    fault = _call(*command)
    if fault:
        raise Unavailable(f"`{' '.join(command)}` failed: {fault}", hint="`bonsai daemon status` shows how it is.")


def _template(name: str) -> Template:
    return Template((resources.files("bonsai_templates") / name).read_text("utf-8"))


def _utf8(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def _native(path: str) -> str:
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


#: What systemd would understand in a quoted word: it ignores lines that are not UTF-8, so other bytes are escaped.
_SPECIAL = {
    **{code: f"\\x{code:02x}" for code in [*range(32), 127]},
    **{0xDC00 + byte: f"\\x{byte:02x}" for byte in range(128, 256)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("%"): "%%",
}


def _quoted(word: str) -> str:
    return f'"{_utf8(word).translate(_SPECIAL)}"'


def _xml(word: str) -> str:
    from xml.sax.saxutils import escape

    text = _utf8(word)
    if re.search("[\x00-\x1f\ud800-\udfff\ufffe\uffff]", text):
        raise CannotCreate("launchd takes no path with such characters", path=text, hint="Rename the folder.")
    return escape(text)
