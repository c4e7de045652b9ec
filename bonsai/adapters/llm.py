"""A language model behind an HTTP endpoint that the person names: OpenAI-compatible, or `{"prompt"}` → `{"text"}`.

What is sent goes to exactly that host: no redirect is followed, no proxy of the environment is used, and the address
that was checked is the one that is connected to. The key comes from the environment alone.
"""

import http.client
import ipaddress
import json
import os
import socket
import ssl
import time
from contextlib import closing
from typing import Any
from urllib.parse import SplitResult, urlsplit

from bonsai.errors import Refused, Unavailable, Usage

KEY = "BONSAI_LLM_KEY"
ENDPOINT = "BONSAI_LLM_ENDPOINT"
MODEL = "BONSAI_LLM_MODEL"
SECONDS = 30.0  # for the whole answer
MOST_SENT, MOST_READ = 64 * 1024, 1024 * 1024  # bytes
_HINT = "Check --llm-endpoint, or go without: --mode tree."


class HttpLlm:
    """The model at `endpoint`. A path that ends in `/v1` or `/chat/completions` is an OpenAI-compatible one.

    Raises Usage for what is no http or https URL, Refused for one that names what no model can be.
    """

    def __init__(self, endpoint: str, model: str = "", seconds: float = SECONDS) -> None:
        self._url = _checked(endpoint)
        self._model, self._seconds = model or os.environ.get(MODEL, "default"), seconds

    def __repr__(self) -> str:
        """Without user, key and query."""
        return f"HttpLlm({self._url.scheme}://{self._url.hostname})"

    def complete(self, prompt: str) -> str:
        """The answer to a prompt. Raises Unavailable, Refused."""
        path = self._url.path.rstrip("/")
        chat = path.endswith(("/v1", "/chat/completions"))
        body: dict[str, Any] = {"prompt": prompt}
        if chat:
            path = path if path.endswith("/completions") else f"{path}/chat/completions"
            message = {"role": "user", "content": prompt}
            body = {"model": self._model, "messages": [message], "temperature": 0}
        data = json.dumps(body).encode("utf-8", "replace")
        if len(data) > MOST_SENT:
            raise Usage(f"a prompt of {len(data):,} bytes is too long", hint="Ask a shorter question.")
        found = self._post(f"{path or '/'}{f'?{self._url.query}' if self._url.query else ''}", data)
        try:
            text = found["choices"][0]["message"]["content"] if chat else found["text"]
        except (KeyError, IndexError, TypeError) as error:
            raise self._failed("its answer holds no text") from error
        return str(text)

    def _post(self, path: str, data: bytes) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        key = os.environ.get(KEY, "").strip()
        if key:
            headers["Authorization"] = f"Bearer {key}"
        end = time.monotonic() + self._seconds
        try:
            with closing(self._connection()) as connection:
                connection.request("POST", path, data, headers)
                answer = connection.getresponse()
                if 300 <= answer.status < 400:
                    raise self._failed("it sends elsewhere, which is not followed")
                if answer.status != 200:
                    raise self._failed(f"it answers with status {answer.status}")
                return json.loads(_read(answer, connection, end))
        except (OSError, ValueError, http.client.HTTPException, RecursionError) as error:
            raise self._failed(getattr(error, "strerror", None) or type(error).__name__) from error

    def _connection(self) -> http.client.HTTPConnection:
        """Connected to an address that was looked at. Raises Refused, OSError."""
        host, port = self._url.hostname or "", self._url.port or (443 if self._url.scheme == "https" else 80)
        address = _address(host, port)
        connection: http.client.HTTPConnection = http.client.HTTPConnection(host, port, timeout=self._seconds)
        plain = socket.create_connection((address, port), timeout=self._seconds)
        if self._url.scheme == "https":
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        else:
            connection.sock = plain
        return connection

    def _failed(self, why: str) -> Unavailable:
        return Unavailable(f"the language model cannot be asked: {why}", path=self._url.hostname, hint=_HINT)


def _checked(endpoint: str) -> SplitResult:
    try:
        url = urlsplit(endpoint.strip())
        good = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        good = False
    if not good or any(ord(char) <= 32 for char in endpoint.strip()):
        hint = "Give a URL, e.g. --llm-endpoint http://localhost:8080/complete."
        raise Usage("the endpoint is no http or https URL", hint=hint)
    if url.username or url.password:
        raise Usage("a key does not belong into a URL", hint=f"Put it into the environment as {KEY}.")
    return url


def _address(host: str, port: int) -> str:
    """The address of a host, one that a model may have. Raises Refused, OSError.

    A name must not lead to this machine or to a cloud's metadata, whatever its DNS says; `localhost` and an address
    that the person wrote out may lead to this machine.
    """
    named = _written(host)
    if named is not None:
        if named.is_link_local or named.is_multicast or named.is_unspecified or getattr(named, "ipv4_mapped", None):
            raise _refused(host)
        return str(named)
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, place in found:
        address = ipaddress.ip_address(str(place[0]).partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None)
        address = mapped or address
        inside = address.is_loopback and host.lower() == "localhost"
        outside = not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)
        if inside or outside:
            return str(address)
    raise _refused(host)


def _written(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _refused(host: str) -> Refused:
    return Refused("is no address that a language model may have", path=host, hint=_HINT)


def _read(answer: http.client.HTTPResponse, connection: http.client.HTTPConnection, end: float) -> bytes:
    """The body, while there is time for it. Raises OSError, ValueError."""
    parts, size = [], 0
    while part := answer.read1(65536):
        parts.append(part)
        size += len(part)
        if size > MOST_READ:
            raise ValueError("too long")
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError("took too long")
        if connection.sock:
            connection.sock.settimeout(left)
    return b"".join(parts)
