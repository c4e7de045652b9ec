"""The cold tier on a libSQL server (Turso, sqld): SQL over HTTP, in batches that are carried out whole or not at all.

The token goes into one header and nowhere else: no error, log or repr holds it.
"""

import base64
import binascii
import errno
import http.client
import json
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import SplitResult, urlsplit

from bonsai.adapters.cold_tables import ColdTables, Rows, Statement
from bonsai.errors import BonsaiError, Refused, Unavailable, Usage

SECONDS = 15.0  # without a sign of life
MOST_READ = 256 * 1024 * 1024  # bytes of an answer
_HINT = "Check --db-url and that the server is up; what was to be sent is kept and sent with the next consolidate."
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Libsql:
    """Statements to the server at `url` (libsql:// or https://; http:// on this machine, or with no token).

    Args:
        retries: tries after the first, `wait` seconds before the first of them, twice as long before each other one.
        seconds: without a sign of life after which a try has failed; a whole answer may take three times as long.
        sleep: waits; the tests do not.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        retries: int = 4,
        wait: float = 5.0,
        seconds: float = SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._url = _checked(url, bool(token))
        self._token, self._retries, self._wait, self._sleep = token.strip(), retries, wait, sleep
        if any(ord(char) < 33 or ord(char) > 126 for char in self._token):
            raise Usage("the token of the database holds what no token can", hint="Copy it again, in one piece.")

    def __repr__(self) -> str:
        """Without the token."""
        return f"Libsql({self._url.scheme}://{self._url.hostname})"

    def run(self, statements: Sequence[Statement]) -> list[Rows]:
        """Carry out statements in one transaction. Raises Unavailable after all tries, Refused."""
        body = json.dumps({"requests": [{"type": "batch", "batch": {"steps": _steps(statements)}}, {"type": "close"}]})
        wait = self._wait
        for attempt in range(self._retries + 1):
            try:
                return _results(self._post(body.encode()), len(statements))
            except Unavailable:
                if attempt == self._retries:
                    raise
                self._sleep(wait)
                wait *= 2
        raise AssertionError("not reached")

    def _post(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            with closing(self._connection()) as connection:
                connection.request("POST", f"{self._url.path.rstrip('/')}/v2/pipeline", body, headers)
                answer = connection.getresponse()
                data = _body(answer, 3 * self._seconds)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failed(getattr(error, "strerror", None) or type(error).__name__) from error
        if answer.status in (401, 403):
            hint = "Check --auth-token, or the variable that holds it."
            raise Refused("the database does not accept the token", path=self._url.hostname, hint=hint)
        if answer.status == 404 or 300 <= answer.status < 400:
            raise Refused("there is no libSQL server", path=self._url.hostname, hint="Check --db-url.")
        if answer.status in (400, 413):
            raise Refused(f"the database refuses the request ({answer.status})", path=self._url.hostname)
        if answer.status != 200:
            raise self._failed(f"it answers with status {answer.status}")
        if self._token:  # a server that says it back must not make us show it
            data = data.replace(self._token.encode(), b"[token]")
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._failed("its answer cannot be read") from error

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._seconds)
        return http.client.HTTPSConnection(host, port, timeout=self._seconds, context=ssl.create_default_context())

    def _failed(self, why: str) -> Unavailable:
        return Unavailable(f"the database cannot be reached: {why}", path=self._url.hostname, hint=_HINT)


def libsql_archive(
    url: str,
    token: str = "",
    *,
    retries: int = 4,
    wait: float = 5.0,
    seconds: float = SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> ColdTables:
    """The archive on a server, see Libsql. Raises Usage for what is no URL of one."""
    server = Libsql(url, token, retries=retries, wait=wait, seconds=seconds, sleep=sleep)
    return ColdTables(server.run, remote=True)


def server_name(url: str) -> str:
    """What tells the server at a URL from any other."""
    return f"libSQL {urlsplit(url.strip()).netloc.rpartition('@')[2]}"


def _checked(url: str, secret: bool) -> SplitResult:
    hint = "Give a URL such as libsql://NAME.turso.io, or http://127.0.0.1:8080."
    try:
        found = urlsplit(url.strip())
        good = found.scheme in ("libsql", "https", "http") and bool(found.hostname) and found.port != 0
    except ValueError:
        good = False
    if not good or any(ord(char) <= 32 for char in url.strip()):
        raise Usage("the database has no URL that can be used", hint=hint)
    if found.username or found.password or found.query:
        raise Usage("a token does not belong into the URL of the database", hint="Use --auth-token or BONSAI_DB_TOKEN.")
    if found.scheme == "http" and secret and found.hostname not in _LOOPBACK:
        raise Refused("a token is not sent without encryption", path=found.hostname, hint="Use https:// or libsql://.")
    return found._replace(scheme="https") if found.scheme == "libsql" else found


def _body(answer: http.client.HTTPResponse, seconds: float = 3 * SECONDS) -> bytes:
    """The body, while there is time: a server that sends a byte now and then does not hold up a recall for ever."""
    parts, left, end = list[bytes](), MOST_READ, time.monotonic() + seconds
    while left > 0 and (part := answer.read1(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
        if time.monotonic() > end:
            raise TimeoutError(errno.ETIMEDOUT, "it takes too long to answer")
    return b"".join(parts)


def _steps(statements: Sequence[Statement]) -> list[dict[str, Any]]:
    """The statements between BEGIN and COMMIT, each only if the one before it went well; else ROLLBACK."""
    steps: list[dict[str, Any]] = [{"stmt": {"sql": "BEGIN IMMEDIATE"}}]
    for sql, values in [*statements, ("COMMIT", ())]:
        stmt = {"sql": sql, "args": [_value(value) for value in values], "want_rows": True}
        steps.append({"condition": {"type": "ok", "step": len(steps) - 1}, "stmt": stmt})
    last = len(steps) - 1
    steps.append({"condition": {"type": "not", "cond": {"type": "ok", "step": last}}, "stmt": {"sql": "ROLLBACK"}})
    return steps


def _results(answer: Any, count: int) -> list[Rows]:
    """The rows of each statement. Raises Refused for one that failed, Unavailable for an answer that is none."""
    try:
        first = answer["results"][0]
        if first["type"] == "error":
            raise _said(first["error"])
        result = first["response"]["result"]
        results, errors = result["step_results"], result["step_errors"]
        if failed := next((error for error in errors[: count + 2] if error), None):
            raise _said(failed)
        return [[tuple(map(_plain, row)) for row in results[at + 1]["rows"]] for at in range(count)]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise Unavailable("the database gives an answer that cannot be read", hint=_HINT) from error


def _said(error: Any) -> BonsaiError:
    """Our words for what the server says. Locked, or closed while it restarts: try again."""
    message, code = str(error.get("message", ""))[:300], str(error.get("code") or "")
    again = ("BUSY", "LOCKED", "STREAM", "HRANA", "CLOSED", "TIMEOUT", "INTERNAL")
    if any(word in code.upper() for word in again):
        return Unavailable(f"the database is busy: {message}", hint=_HINT)
    return Refused(f"the database refuses a statement: {message}", hint="Run `bonsai cold --init` once.")


def _value(value: Any) -> dict[str, Any]:
    if value is None:
        return {"type": "null"}
    if isinstance(value, bytes):
        return {"type": "blob", "base64": base64.b64encode(value).decode()}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    if isinstance(value, float):
        return {"type": "float", "value": value}
    return {"type": "text", "value": str(value).encode("utf-8", "replace").decode().replace("\0", "")}


def _plain(value: Any) -> Any:
    kind = value["type"]
    if kind == "null":
        return None
    if kind == "blob":
        text = value["base64"]
        return base64.b64decode(text + "=" * (-len(text) % 4))
    if kind == "integer":
        return int(value["value"])
    return float(value["value"]) if kind == "float" else str(value["value"])
