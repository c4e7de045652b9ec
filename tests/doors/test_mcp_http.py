"""Over HTTP: on loopback, for this host, these origins and whoever knows the token; 48 requests and a real client."""

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from verbs.sandbox import Sandbox

from bonsai.errors import Refused

pytest.importorskip("mcp", reason="the extra mcp is not installed")

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Server(NamedTuple):
    port: int
    token: str
    box: Sandbox


@pytest.fixture
def server(garden: Sandbox) -> Iterator[Server]:
    garden.close()
    words = [sys.executable, "-m", "bonsai", "-C", str(garden.root), "mcp", "--http", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("Serving the memory at http://127.0.0.1:"), line + process.stderr.read()
        port = int(line.rpartition(":")[2].partition("/")[0])
        try:
            yield Server(port, garden.read(".bonsai/mcp-token").decode().strip(), garden)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)
            process.stderr.close()


def ask(server: Server, method: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.putrequest(method, "/mcp", skip_host=True, skip_accept_encoding=True)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def test_only_the_right_host_origin_and_token_are_answered(server: Server) -> None:
    right = f"Bearer {server.token}"
    hosts = {
        f"127.0.0.1:{server.port}": True,
        f"localhost:{server.port}": True,
        f"evil.example:{server.port}": False,
        "127.0.0.1": False,
    }
    origins = {"": True, f"http://localhost:{server.port}": True, "https://evil.example": False, "null": False}
    tokens = {right: True, "Bearer wrong": False, "": False}
    matrix = list(product(hosts.items(), origins.items(), tokens.items()))
    assert len(matrix) == 48
    for (host, good_host), (origin, good_origin), (token, good_token) in matrix:
        headers = {"Host": host, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"Origin": origin} if origin else {}
        headers |= {"Authorization": token} if token else {}
        code, answer = ask(server, "POST", headers, json.dumps(PING).encode())
        wanted = 421 if not good_host else 403 if not good_origin else 401 if not good_token else None
        assert (code == wanted) if wanted else (code not in (401, 403, 415, 421)), (host, origin, token, code)
        assert not [name for name in answer if name.startswith("access-control")]
    head = {"Host": f"127.0.0.1:{server.port}", "Authorization": right}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"):
        assert ask(server, "POST", {**head, "Content-Type": kind}, b"{}")[0] == 415
    for method in ("PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"):
        assert ask(server, method, head)[0] == 405
    if Path("/proc/net/tcp").exists():
        listening = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        mine = [row[1] for row in listening if row[1].endswith(f":{server.port:04X}") and row[3] == "0A"]
        assert mine == [f"0100007F:{server.port:04X}"], "it listens on more than loopback"


def test_the_client_of_the_sdk_works_over_http(server: Server) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def session() -> None:
        async with create_mcp_http_client(headers={"Authorization": f"Bearer {server.token}"}) as http_client:
            transport = streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=http_client)
            async with Client(transport) as client:
                found = await client.call_tool("recall", {"query": "dinner"})
                assert found.structured_content["hits"]
                assert not (await client.call_tool("remember", {"text": "Tea is green.", "domain": "tea"})).is_error

    anyio.run(session)
    assert server.box.last()[0].session


def test_the_token_is_private(garden: Sandbox) -> None:
    first = garden.ws.token(".bonsai/mcp-token")
    place = Path(garden.root, ".bonsai/mcp-token")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert len(first) >= 43 and garden.ws.token(".bonsai/mcp-token") == first
    place.chmod(0o644)
    with pytest.raises(Refused):
        garden.ws.token(".bonsai/mcp-token")
    place.unlink()
    os.symlink("/etc/passwd", place)
    with pytest.raises(Exception, match="mcp-token"):
        garden.ws.token(".bonsai/mcp-token")
