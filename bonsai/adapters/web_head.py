"""Whether a URL answers: one HEAD request to a public address, no redirect followed, nothing of the answer kept."""

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote, urlsplit

SECONDS = 5.0  # for all of it once the address is known: a server that sends a byte now and then holds nobody up
GONE = (404, 410)
_STATUS_LINE = 1024  # bytes
_KEPT = "%/:=&?~#+!$,;'@()*[]"  # what has a meaning in a URL, or is quoted already
#: IPv6 networks in which an IPv4 address stands at the end (in 6to4 behind the first two bytes): it is what is reached.
_CARRIERS = tuple(map(ipaddress.IPv6Network, ("::/96", "64:ff9b::/96")))
_LOCAL = ipaddress.IPv6Network("64:ff9b:1::/48")  # translated by rules of the network itself


def answers(url: str) -> bool | None:
    """True where a server says anything but "gone", False where it says so or there is none, None where nobody knows.

    Notes are text that others may have written: an address inside the network (loopback, private, link-local) is never
    asked, and the connection goes to the very address that was checked.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return None
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return False if error.errno == socket.EAI_NONAME else None  # no such name; else nobody to ask
    except (OSError, ValueError):
        return None
    addresses = list(dict.fromkeys(str(item[4][0]) for item in found))
    if not addresses or not all(map(is_public, addresses)):
        return None
    target = quote(parts.path or "/", safe=_KEPT) + (f"?{quote(parts.query, safe=_KEPT)}" if parts.query else "")
    try:
        return _asked(host, port, addresses, target, secure=parts.scheme == "https")
    except ConnectionRefusedError:
        return False
    except (OSError, http.client.HTTPException, ValueError):  # no way there, a certificate that nobody trusts, babble
        return None


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet, also in what IPv6 carries of IPv4."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.is_site_local or found in _LOCAL:
            return False
        inner = found.ipv4_mapped or found.sixtofour
        if any(found in network for network in _CARRIERS):
            inner = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return found.is_global and not found.is_multicast


def _asked(host: str, port: int, addresses: Sequence[str], target: str, secure: bool) -> bool | None:
    end = time.monotonic() + SECONDS
    with _connected(addresses, port, end) as plain:
        wire = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
        with wire:
            connection = http.client.HTTPConnection(host, port)
            connection.sock = wire
            connection.request("HEAD", target, headers={"User-Agent": "bonsai"})
            status = _status(wire, end)
            return None if status is None else status not in GONE


def _connected(addresses: Sequence[str], port: int, end: float) -> socket.socket:
    """A connection to the first address that takes one. Raises OSError of the last."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), _left(end))
    return socket.create_connection((addresses[-1], port), _left(end))


def _status(wire: socket.socket, end: float) -> int | None:
    """The number in the first line of an answer, None where that is none."""
    line = b""
    while b"\n" not in line and len(line) < _STATUS_LINE:
        wire.settimeout(_left(end))
        more = wire.recv(_STATUS_LINE)
        if not more:
            break
        line += more
    words = line.partition(b"\n")[0].split()
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit() else None


def _left(end: float) -> float:
    """Seconds until then. Raises TimeoutError where there are none."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left
