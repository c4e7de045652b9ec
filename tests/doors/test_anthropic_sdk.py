"""The SDK's own runner drives a whole session against the subclass; a stand-in on loopback plays the model."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from verbs.sandbox import Sandbox

anthropic = pytest.importorskip("anthropic")

SESSION: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/trip.md", "file_text": "# Trip\n\nWe fly on Friday.\n"},
    {"command": "str_replace", "path": "/memories/trip.md", "old_str": "Friday", "new_str": "Saturday"},
    {"command": "insert", "path": "/memories/trip.md", "insert_line": 1, "insert_text": "By plane."},
    {"command": "rename", "old_path": "/memories/trip.md", "new_path": "/memories/travel/trip.md"},
    {"command": "view", "path": "/memories/travel/trip.md"},
    {"command": "create", "path": "/memories/travel/trip.md", "file_text": "lost?"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "delete", "path": "/memories/travel"},
    {"command": "view", "path": "/memories/travel"},
]


class Model(BaseHTTPRequestHandler):
    """Asks for one command a turn, and keeps what it is told."""

    told: ClassVar[list[dict[str, Any]]] = []
    tools: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).tools = asked.get("tools", type(self).tools)  # told once, where the server keeps the thread
        last = asked["messages"][-1]["content"]
        if isinstance(last, list):
            self.told += [block for block in last if block["type"] == "tool_result"]
        turn = len(self.told)
        content: dict[str, Any] = {"type": "text", "text": "Done."}
        if turn < len(SESSION):
            content = {"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": SESSION[turn]}
        body = json.dumps(
            {
                "id": f"msg_{turn}",
                "type": "message",
                "role": "assistant",
                "model": asked["model"],
                "content": [content],
                "stop_reason": "tool_use" if turn < len(SESSION) else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    Model.told = []
    with HTTPServer(("127.0.0.1", 0), Model) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_runner_of_the_sdk_drives_a_session(box: Sandbox, address: str) -> None:
    from bonsai.anthropic_memory import BonsaiMemoryTool

    workspace = box.opened(actor="agent:claude", session="s-7")
    with anthropic.Anthropic(api_key="none", base_url=address, max_retries=0) as client:
        last = client.beta.messages.tool_runner(
            model="claude-test",
            max_tokens=100,
            messages=[{"role": "user", "content": "Remember the trip."}],
            tools=[BonsaiMemoryTool(workspace)],
        ).until_done()
    assert last.content[0].text == "Done."
    assert Model.tools == [{"type": "memory_20250818", "name": "memory"}]

    def text(block: dict[str, Any]) -> str:
        said = block["content"]
        return said if isinstance(said, str) else "".join(part["text"] for part in said)

    told = [text(block) for block in Model.told]
    errors = [bool(block.get("is_error")) for block in Model.told]
    assert errors == [False] * 6 + [True, True, False, True]
    assert told[1] == "File created successfully at: /memories/trip.md"
    assert told[2].endswith("     3\tWe fly on Saturday.\n     4\t")
    assert "     2\tBy plane." in told[5]
    assert told[6] == "Error: File /memories/travel/trip.md already exists"
    assert told[8] == "Successfully deleted /memories/travel"
    assert box.has("memory/travel/trip__DELETE.md")
    commits = box.ws.log(session="s-7").commits
    assert [commit.op for commit in commits] == ["archive", "rename", "update", "update", "create"]
    assert {commit.actor for commit in commits} == {"agent:claude"}
