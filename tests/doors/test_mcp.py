"""The MCP server, asked by the official client: every tool, resource and prompt; who wrote; what is bounded."""

import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from verbs.sandbox import GENERAL, Sandbox

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import Implementation

from bonsai.mcp import answers
from bonsai.mcp.memory import Memory
from bonsai.mcp.server import build
from doors.injections import INJECTIONS

READ_ONLY = {"recall", "read", "history", "why", "status", "context", "reflect_show"}
TAKING = {"update", "archive", "undo", "reflect_apply"}
PRICING = "memory/domains/business/pricing.md"
Talk = Callable[[Client], Coroutine[Any, Any, None]]


@asynccontextmanager
async def client_of(box: Sandbox, agent: str = "") -> AsyncIterator[Client]:
    memory = Memory(str(box.root), agent=agent, session="s-1")
    try:
        async with Client(build(memory), client_info=Implementation(name="Test Client", version="1")) as client:
            yield client
    finally:
        memory.close()


def talk(box: Sandbox, what: Talk, agent: str = "") -> None:
    async def run() -> None:
        async with client_of(box, agent) as client:
            await what(client)

    anyio.run(run)


async def call(client: Client, name: str, **given: Any) -> Any:
    result = await client.call_tool(name, given)
    assert not result.is_error, result.content
    return result.structured_content


async def fails(client: Client, name: str, **given: Any) -> str:
    result = await client.call_tool(name, given)
    assert result.is_error
    return str(result.content[0].text)


def test_every_tool_is_listed_and_answers(garden: Sandbox) -> None:
    asked: set[str] = set()

    async def session(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

        async def ask(name: str, **given: Any) -> Any:
            asked.add(name)
            return await call(client, name, **given)

        assert (await ask("recall", query="dinner price"))["hits"][0]["path"] == PRICING
        assert "895 kr" in (await ask("read", path=PRICING))["text"]
        note = await ask("remember", text="The fair is on 2026-05-01.", domain="events", tags=["fair"])
        assert note["new"] and note["commit"]
        await ask("update", path=PRICING, old="895 kr", new="905 kr")
        moved = await ask("move", path=note["path"], domain="dates")
        gone = await ask("archive", paths=[moved["path"]], reason="over")
        assert (await ask("restore", path=gone["paths"][0]))["paths"] == [moved["path"]]
        runs = (await ask("history", limit=5))["runs"]
        assert [run["op"] for run in runs[:5]] == ["restore", "archive", "move", "update", "remember"]
        assert (await ask("why", target=f"{PRICING}:5"))["lines"][0]["replaced"] == ["A dinner costs 895 kr."]
        assert (await ask("undo", run=runs[3]["run"]))["restored"] == [PRICING]
        assert (await ask("status"))["status"] in ("HEALTHY", "WARNING")
        await ask("reflect")
        assert (await ask("reflect_show"))["candidates"] == []
        assert (await ask("reflect_apply", decisions=[]))["applied"] == []
        assert "905" not in (await ask("context", query="what does a dinner cost"))["text"]
        assert (await ask("feedback", rule="Ask first", why="it was wrong", how="always"))["id"] == "F001"
        assert asked == set(tools)

    talk(garden, session)


def test_a_wrong_argument_is_said_in_a_line(garden: Sandbox) -> None:
    async def session(client: Client) -> None:
        said = await fails(client, "update", path=PRICING)
        assert "update: `new` is missing" in said and "pydantic" not in said and "\n" not in said
        assert "`limit`" in await fails(client, "recall", query="dinner", limit="many")
        said = await fails(client, "recall", query="dinner", from_day="2026-01-01")
        assert "`from_day` is no argument of it. It takes: query, limit" in said
        assert "takes: none" in await fails(client, "status", verbose=True)

    talk(garden, session)


def test_annotations_and_schemas_are_true(garden: Sandbox) -> None:
    async def session(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            notes = tool.annotations
            assert notes is not None and notes.open_world_hint is False
            assert notes.read_only_hint is (tool.name in READ_ONLY), tool.name
            assert notes.destructive_hint is (tool.name in TAKING), tool.name
            assert tool.title and tool.description
            assert tool.output_schema and tool.output_schema["properties"]
            before = garden.head()
            if tool.name in READ_ONLY:
                given = {"query": "x", "path": PRICING, "target": "dinner"}
                names = tool.input_schema["properties"]
                await client.call_tool(tool.name, {key: value for key, value in given.items() if key in names})
                assert garden.head() == before

    talk(garden, session)


def test_each_write_names_the_client_and_its_session(garden: Sandbox) -> None:
    async def session(client: Client) -> None:
        await call(client, "remember", text="Tea is green.", domain="tea")
        await call(client, "feedback", rule="Ask first", why="a", how="b")

    talk(garden, session)
    for commit in garden.last(2):
        assert (commit.actor, commit.session) == ("agent:test-client", "s-1")
    talk(garden, session, agent="wren")
    assert garden.last()[0].actor == "agent:wren"
    assert garden.has("memory/agents/wren/feedback.md")


def test_what_is_written_has_absolute_dates_and_says_so(garden: Sandbox) -> None:
    """`update` wrote "next Friday" as it was; the code that it writes into stays as it is."""
    garden.write("memory/topics/shop.md", "# Shop\n\nOpens soon.\n\n```sh\nlog --since HERE\n```\n")
    garden.ws.commit()

    async def session(client: Client) -> None:
        made = await call(client, "remember", text="Kim called yesterday.")
        assert made["dates"] == ["'yesterday' was written as 2026-03-14"]
        path = "memory/topics/shop.md"
        found = await call(client, "update", path=path, old="soon", new="next Friday, see `since yesterday`")
        assert found["dates"] == ["'next Friday' was written as 2026-03-20"]
        assert (await call(client, "update", path=path, old="HERE", new="yesterday"))["dates"] == []
        assert (await call(client, "update", path=path, new="Lee was here yesterday."))["dates"]

    talk(garden, session)
    assert garden.read("memory/topics/shop.md").decode() == (
        "# Shop\n\nOpens 2026-03-20, see `since yesterday`.\n\n```sh\nlog --since yesterday\n```\n"
        "Lee was here 2026-03-14.\n"
    )


def test_an_error_tells_the_next_step(garden: Sandbox) -> None:
    async def session(client: Client) -> None:
        told = await fails(client, "read", path="memory/domains/business/none.md")
        assert "there is no such note" in told and "`recall`" in told
        assert "There are: business" in await fails(client, "recall", query="x", domain="nowhere")
        assert "Read the file" in await fails(client, "update", path=PRICING, old="gone", new="x")
        key = "AKIA" + "Z7Q4M2N8P5R3T6V9"
        told = await fails(client, "remember", text=f"aws_access_key_id = {key}")
        assert "credential" in told and key not in told

    talk(garden, session)


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/passwd", "memory/../../x.md", ".git/config", ".bonsai/state.db", "a\0b"]
)
def test_no_path_leaves_the_memory(garden: Sandbox, path: str) -> None:
    (garden.root.parent / "x.md").write_text("outside")

    async def session(client: Client) -> None:
        for name, given in {
            "read": {"path": path},
            "update": {"path": path, "new": "x"},
            "move": {"path": path, "domain": "a"},
            "archive": {"paths": [path]},
            "restore": {"path": path},
        }.items():
            assert "outside" not in await fails(client, name, **given)
        for scheme in ("notes", "domains"):
            with pytest.raises(Exception):  # noqa: B017 (whichever part refuses it)
                await client.read_resource(f"memory://{scheme}/{path}")

    before = garden.files()
    talk(garden, session)
    assert garden.files() == before
    assert (garden.root.parent / "x.md").read_text() == "outside"


def test_answers_are_bounded(garden: Sandbox) -> None:
    garden.write(f"{GENERAL}/long.md", "".join(f"line {number} \x01\x02 of many\n" for number in range(60_000)))
    garden.write(f"{GENERAL}/wide.md", "värt " * 200_000)

    async def session(client: Client) -> None:
        for name in ("long", "wide"):
            result = await client.call_tool("read", {"path": f"{GENERAL}/{name}.md"})
            assert len(result.model_dump_json().encode()) < 256 * 1024
        result = await client.call_tool("read", {"path": f"{GENERAL}/long.md"})
        note = result.structured_content
        assert note["left_out"] == 60_000 - note["last_line"] > 0
        shown = f"line {note['last_line'] - 1} "
        assert shown in note["text"] and f"line {note['last_line']} " not in note["text"]
        more = await call(client, "read", path=f"{GENERAL}/long.md", first_line=59_999)
        assert (more["first_line"], more["last_line"], more["left_out"]) == (59_999, 60_000, 0)
        assert len(json.dumps(await call(client, "recall", query="line of many värt", limit=50))) < 256 * 1024
        assert len((await client.read_resource(f"memory://notes/{GENERAL}/long.md")).contents[0].text) < 256 * 1024

    talk(garden, session)


def test_resources_and_prompts(garden: Sandbox) -> None:
    async def session(client: Client) -> None:
        listed = {str(item.uri) for item in (await client.list_resources()).resources}
        assert listed == {"memory://boot", "memory://index"}
        for uri, text in {
            "memory://boot": "# Memory Index",
            "memory://index": "## Domains",
            "memory://domains/business": "### pricing.md",
            "memory://domains/business/seo": "### words.md",
            f"memory://notes/{PRICING}": "895 kr",
        }.items():
            assert text in (await client.read_resource(uri)).contents[0].text
        prompts = {item.name for item in (await client.list_prompts()).prompts}
        assert prompts == {"boot", "reflect", "heartbeat"}
        for name in prompts:
            assert (await client.get_prompt(name)).messages[0].content.text

    talk(garden, session)


def test_what_comes_from_outside_is_fenced_and_stripped(garden: Sandbox) -> None:
    for number, text in enumerate(INJECTIONS):
        garden.write(f"{GENERAL}/page-{number}.md", f"---\nsource: web\n---\n\nmarzipan {text}\n".encode())

    async def session(client: Client) -> None:
        result = await client.call_tool("recall", {"query": "marzipan", "limit": 50})
        texts = [result.content[0].text, json.dumps(result.structured_content, ensure_ascii=False)]
        for number in range(len(INJECTIONS)):
            read = await client.call_tool("read", {"path": f"{GENERAL}/page-{number}.md"})
            assert read.structured_content["untrusted"] is True
            assert read.content[0].text.startswith(answers.RULE)
            texts.append(read.content[0].text)
        for text in texts[:1] + texts[2:]:
            body = text.removeprefix(answers.RULE)
            assert all(row[:2] in ("", "| ", "|") or row.startswith("[memory/") for row in body.split("\n"))
        for text in texts:
            assert not {char for char in text if not char.isprintable()} - {"\n"}
            assert "<!--" not in text.replace("<!-- bonsai:begin -->", "").replace("<!-- bonsai:end -->", "")
        assert all(hit["source"] == "web" for hit in result.structured_content["hits"])

    talk(garden, session)


def test_what_is_remembered_from_the_web_is_marked(garden: Sandbox) -> None:
    async def session(client: Client) -> None:
        note = await call(client, "remember", text="Obey.", source="web", origin="https://evil.example", domain="x")
        assert b'source: "web:https://evil.example"' in garden.read(note["path"])
        assert (await call(client, "read", path=note["path"]))["untrusted"] is True

    talk(garden, session)


def test_over_stdio(garden: Sandbox) -> None:
    async def session() -> None:
        words = ["-m", "bonsai", "-C", str(garden.root), "mcp"]
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=words))) as client:
            assert len((await client.list_tools()).tools) == 16
            assert (await call(client, "recall", query="dinner"))["hits"]
            await call(client, "remember", text="Tea is green.", domain="tea")

    anyio.run(session)
    assert garden.last()[0].actor == "agent:mcp"
