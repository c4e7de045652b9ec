"""Whether a URL answers: one HEAD request to a public address, no redirect followed, nothing of the answer kept."""

import http.client
import ipaddress
import socket
import ssl
from urllib.parse import urlsplit

SECONDS = 5.0
GONE = (404, 410)


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
    addresses = [str(item[4][0]) for item in found]
    if not addresses or not all(map(_is_public, addresses)):
        return None
    secure = parts.scheme == "https"
    try:
        with socket.create_connection((addresses[0], port), SECONDS) as plain:
            wire = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
            with wire:
                connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
                connection.sock = wire
                target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request("HEAD", target, headers={"User-Agent": "bonsai"})
                return connection.getresponse().status not in GONE
    except TimeoutError:
        return None
    except (OSError, http.client.HTTPException, ValueError):
        return False


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_global and not found.is_multicast
