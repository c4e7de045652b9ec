"""Where a remote is: which addresses may be used, and what of them may be shown."""

import os
import re
from typing import Literal, NamedTuple

from bonsai.errors import BadData, NotFound, Refused

Transport = Literal["file", "ssh", "https"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,40})://(.*)", re.DOTALL)
_SHORT_SSH = re.compile(r"(?:[\w.-]{1,200}@)?(?!-)[\w.-]{1,255}:(?!:).*", re.DOTALL)  # [user@]host:path
_SECRET = re.compile(r"(://)[^/@\s]{0,500}@")
_ONLY = "Use a path, ssh:// or https://."


class Address(NamedTuple):
    """A remote repository that may be talked to."""

    url: str  # as git takes it; an absolute path for a repository on disk
    transport: Transport

    @property
    def shown(self) -> str:
        """The address without user name and password."""
        return _SECRET.sub(r"\1", self.url)


def parse(text: str, folder: str) -> Address:
    """An address that a person or a config names; a relative path counts from `folder`.

    Raises Refused for every other way to reach something (ext::, git://, http://), BadData for what is no address,
    NotFound for a bare word that is neither a folder nor a host.
    """
    if not text or any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise BadData("is no address of a repository", path=text.strip() or None, hint=_ONLY)
    if text.startswith("-"):
        raise Refused("looks like an option, not like an address", path=text, hint=_ONLY)
    found = _SCHEME.fullmatch(text)
    if found:
        return _with_scheme(text, found[1].lower(), found[2])
    if "::" in text.partition("/")[0]:
        raise Refused("names a program that git would run", path=text, hint=_ONLY)
    local = text.startswith(("/", "./", "../", "~/")) or os.path.isdir(os.path.join(folder, text))
    if not local and _SHORT_SSH.fullmatch(text):
        return Address(text, "ssh")
    if not local and "/" not in text:
        raise NotFound("there is no such remote", path=text, hint="`git remote -v` lists them.")
    return Address(os.path.normpath(os.path.join(folder, os.path.expanduser(text))), "file")


def _with_scheme(text: str, scheme: str, rest: str) -> Address:
    host = rest.partition("/")[0].rpartition("@")[2]
    if scheme == "file":
        path = "/" + rest.partition("/")[2]
        if host not in ("", "localhost"):
            raise BadData("is no address of a repository", path=text, hint=_ONLY)
        return Address(os.path.normpath(path), "file")
    if scheme in ("ssh", "git+ssh", "ssh+git") and host and not host.startswith("-"):
        return Address(text, "ssh")
    if scheme == "https" and host:
        return Address(text, "https")
    raise Refused("is not reached by a way that bonsai takes", path=_SECRET.sub(r"\1", text), hint=_ONLY)
