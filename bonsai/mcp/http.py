"""The server over HTTP: on loopback alone, for this host name and these origins, for whoever knows the token."""

import hmac
import socket
from collections.abc import Callable
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bonsai.errors import Unavailable
from bonsai.mcp.memory import Memory
from bonsai.mcp.server import build
from bonsai.workspace import Workspace

TOKEN = ".bonsai/mcp-token"
HOST = "127.0.0.1"
NAMES = (HOST, "localhost", "[::1]")
PATH = "/mcp"
METHODS = frozenset({"GET", "POST", "DELETE"})


class Guard:
    """Lets a request through whose Host and Origin are ours and whose token is right; nothing else is answered.

    A page in a browser can send requests to loopback: its Origin gives it away, and so does its Host where a name of
    its own leads here (DNS rebinding). No header ever allows another origin to read an answer.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}" for name in NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        fault = self._fault(scope["method"], Headers(scope=scope))
        if fault is None:
            await self._app(scope, receive, send)
            return
        code, words = fault
        more = {"WWW-Authenticate": "Bearer"} if code == 401 else {}
        await PlainTextResponse(f"{words}\n", code, more)(scope, receive, send)

    def _fault(self, method: str, headers: Headers) -> tuple[int, str] | None:
        """Why a request is not answered: status and words. A header that is there twice counts with all its values."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "This server answers to localhost alone."
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, "Pages of other sites are not served."
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
            return 401, f"The token in {TOKEN} is needed: Authorization: Bearer …"
        if method not in METHODS:
            return 405, "Use POST."
        if method == "POST" and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "Send application/json."
        return None


def application(memory: Memory, port: int, token: str) -> ASGIApp:
    """The server behind its guard."""
    allowed = [f"{name}:{port}" for name in NAMES]
    security = TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=[f"http://{host}" for host in allowed])
    app = build(memory).streamable_http_app(streamable_http_path=PATH, transport_security=security, host=HOST)
    return Guard(app, port, token)


def serve(memory: Memory, port: int, tell: Callable[[str], Any]) -> None:
    """Serve until a signal ends it. `tell` takes the address. Raises Unavailable where the port is taken."""
    import uvicorn

    with Workspace.open(memory.root, agent=memory.agent) as workspace:
        token = workspace.token(TOKEN)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            hint = "Name another one with --port; 0 takes any that is free."
            raise Unavailable(f"port {port} cannot be used: {error.strerror}", hint=hint) from error
        listener.listen(128)  # who reads the address may call at once
        port = listener.getsockname()[1]
        config = uvicorn.Config(application(memory, port, token), log_level="warning", server_header=False)
        tell(f"http://{HOST}:{port}{PATH}")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            memory.close()
