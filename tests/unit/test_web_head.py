"""Which addresses a URL in a note may make us ask, and what an answer, or none, says."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from bonsai.adapters import web_head

INSIDE = [
    *("127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1"),
    *("::1", "::", "fe80::1%eth0", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:c0a8:1::"),
]


class Server:
    """Answers every connection on loopback with the same bytes, one after the other with a pause."""

    def __init__(self, answer: bytes, pause: float = 0.0) -> None:
        self._answer, self._pause = answer, pause
        self.asked: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                wire, _ = self._socket.accept()
                with wire:
                    self.asked.append(wire.recv(4096))
                    for byte in self._answer:
                        wire.sendall(bytes([byte]))
                        time.sleep(self._pause)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    """Servers that tests start; loopback counts as public for them."""
    monkeypatch.setattr(web_head, "is_public", lambda address: True)
    started: list[Server] = []
    yield started
    for server in started:
        server.close()


def asked(servers: list[Server], answer: bytes, path: str = "/", pause: float = 0.0) -> bool | None:
    servers.append(Server(answer, pause))
    return web_head.answers(f"http://127.0.0.1:{servers[-1].port}{path}")


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_the_network_is_not_public(address: str) -> None:
    assert not web_head.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert web_head.is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]", "0"])
def test_loopback_is_not_asked_however_it_is_written(host: str) -> None:
    server = Server(b"HTTP/1.1 200 OK\r\n\r\n")
    assert web_head.answers(f"http://{host}:{server.port}/") in (None, False)
    assert server.asked == []
    server.close()


def test_what_a_server_says(servers: list[Server]) -> None:
    assert asked(servers, b"HTTP/1.1 200 OK\r\n\r\n") is True
    assert asked(servers, b"HTTP/1.1 403 No\r\n\r\n") is True
    assert asked(servers, b"HTTP/1.1 404 Not Found\r\n\r\n") is False
    assert asked(servers, b"220 mail.example ESMTP\r\n") is None
    assert asked(servers, b"") is None


def test_a_redirect_is_an_answer_and_is_not_followed(servers: list[Server]) -> None:
    servers.append(Server(b"HTTP/1.1 200 OK\r\n\r\n"))
    there = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{servers[0].port}/\r\n\r\n"
    assert asked(servers, there.encode()) is True
    assert servers[0].asked == []


def test_a_path_in_any_script_is_asked_for(servers: list[Server]) -> None:
    assert asked(servers, b"HTTP/1.1 200 OK\r\n\r\n", "/wiki/記憶 x?q=é&r=%20") is True
    assert servers[0].asked[0].startswith(b"HEAD /wiki/%E8%A8%98%E6%86%B6%20x?q=%C3%A9&r=%20 HTTP/1.1\r\n")


def test_nobody_there_is_gone_and_no_way_there_is_unknown(
    servers: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert web_head.answers(f"http://127.0.0.1:{port}/") is False

    def unreachable(*_: object) -> socket.socket:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)
    assert web_head.answers(f"http://127.0.0.1:{port}/") is None


def test_a_server_that_answers_byte_by_byte_holds_nobody_up(
    servers: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_head, "SECONDS", 0.3)
    start = time.monotonic()
    assert asked(servers, b"HTTP/1.1 200 " + b"O" * 900, pause=0.1) is None
    assert time.monotonic() - start < 30  # all of it takes 90 s
