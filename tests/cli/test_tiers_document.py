"""Every command line of the original's document runs: through bonsai, through scripts/, and in its two snippets."""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import TOP
from hrana import Hrana, hrana

from bonsai import Workspace
from bonsai.cli import main

DOCUMENT = TOP.parent / "shared/seeds/tiered-memory.txt"
TOOLS = ("memory_cli.py", "distiller.py", "tree_search.py")
#: What the answer of a command has, for tools that know the original.
KEYS: dict[str, list[str]] = {
    "store": ["id", "category", "tier", "metadata", "cold_synced"],
    "validate": ["status", "warnings_count", "warnings", "suggestions"],
    "extract-metadata": ["file", "metadata", "summary"],
    "search-url": ["query", "results_count", "results"],
    "distill": ["distilled", "mode", "original_size", "distilled_size"],
    "consolidate": ["mode", "agent_id", "timestamp", "evicted_warm", "archived_cold", "hot_size_bytes"],
    "sync-critical": ["synced", "timestamp"],
    "metrics": [
        *("tree_index_size_bytes", "tree_node_count", "hot_memory_size_bytes", "warm_memory_count"),
        *("warm_memory_size_kb", "retrieval_count", "evictions_today", "reinforcements_today", "consolidation_count"),
        *("last_consolidation", "context_tokens_saved", "timestamp"),
    ],
    "distiller.py": ["distilled", "mode", "timestamp", "original_size", "distilled_size", "compression_ratio"],
    "tree_search.py": ["query", "mode", "results", "count"],
}


@pytest.fixture
def server() -> Iterator[Hrana]:
    with hrana() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with what the document speaks of, as the current folder."""
    monkeypatch.setenv("BONSAI_NOW", "2026-02-13T18:00:00Z")
    Workspace.init(tmp_path / "ws")
    monkeypatch.chdir(tmp_path / "ws")
    Path("memory/2026-02-13.md").write_text(
        "- Found Z-Image for photorealistic images\n- Need to install it\n"
        "- git clone https://github.com/Lightricks/LTX-Video.git\n",
        encoding="utf-8",
    )
    node = {"desc": "BSC integration", "warm_count": 3, "cold_count": 12, "last_access": 0, "children": []}
    Path("memory-tree.json").write_text(json.dumps({"root": {"desc": "Root"}, "projects/evoclaw/bsc": node}))
    Path("memory").joinpath("memory-tree.json").write_text(Path("memory-tree.json").read_text())
    return tmp_path / "ws"


#: Headings that are glued to the line before them in the copy of the document.
GLUED = re.compile(
    r"(?<=[\w\")])(?:Stage 2|Key metrics|Consolidation Modes|Multi-Agent|Output:|Distill$|Tree$|Cold Storage|Migration|"
    r"Configuration|Critical Sync|Example|Hot memory|Hot Memory|Purpose|Metrics|Warm memory|LLM search|LLM-Powered|"
    r"Recommended|Retry|Validate \(|Extract Metadata|Search by|"
    r"References|Modes:|Retrieve$|Importance guide|Testing|Automatic|Keys:).*$"
)


def lines() -> list[str]:
    """The command lines of the document, as a shell would have them."""
    if not DOCUMENT.exists():
        return []
    found = []
    for row in DOCUMENT.read_text(encoding="utf-8").replace("\\\n", " ").split("\n"):
        line = GLUED.sub("", row.removeprefix("python3 ").strip()).partition(" - ")[0]
        usage = re.search(r"\[--|FRAGMENT|--file PATH|KEY JSON|--url URL|--db-url URL|--db-url \.|endpoint URL", line)
        if line.startswith(TOOLS) and not usage:
            found.append(line)
    return list(dict.fromkeys(found))


def words(line: str, server: Hrana) -> list[str]:
    line = line.replace('"..."', '"something"')
    line = re.sub(r"https://your-db\.turso\.io|\$TURSO_URL", server.url, line)
    line = re.sub(r"your-token|\$TURSO_TOKEN", server.token, line)
    line = line.replace("http://localhost:8080/complete", "http://127.0.0.1:9/complete")
    return shlex.split(re.sub(r"\s[#|].*", "", line))


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = main.run(arguments)
    return code, capsys.readouterr().out


def through(tool: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a script makes of its arguments for bonsai: the script runs, but for its last call."""
    called: list[list[str]] = []
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", [tool, *arguments])
        patch.setattr(os, "execv", lambda program, words: called.append(words))
        runpy.run_path(str(TOP / "scripts" / tool), run_name="__main__")
    return called[0][1:]


@pytest.mark.shared
@pytest.mark.skipif(not DOCUMENT.exists(), reason="needs the document beside the project")
def test_every_line_of_the_document_runs(
    place: Path, server: Hrana, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lines()
    assert len(found) > 40
    assert {line.split()[0] for line in found} == set(TOOLS)
    for line in found:
        tool, *arguments = words(line, server)
        code, out = run(through(tool, arguments, monkeypatch), capsys)
        if tool == "memory_cli.py":
            assert main.run([*arguments, "--json"]) in (0, 66, 77), line
        refused = "--remove" in arguments  # nodes that there are not, in this workspace
        assert code == 0 or (refused and code == 77), (line, out)
        if out.strip() and not out.startswith("Memory Tree Index"):
            told = json.loads(out)
            wanted = KEYS.get(arguments[0] if tool == "memory_cli.py" else tool, [])
            assert not wanted or set(wanted) <= set(told), (line, told)
    assert server.rows("SELECT count(*) FROM cold_memories")[0][0] >= 1
    assert server.rows("SELECT count(*) FROM critical_state")[0][0] >= 1
    assert all(server.token not in text for text in server.seen)


def test_the_answers_have_the_shape_of_the_original(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> Any:
        code, out = run([*arguments, "--style", "original"], capsys)
        assert code == 0, out
        return json.loads(out)

    stored = told(
        "store",
        "--text",
        "Deploy on BSC testnet before mainnet",
        "--category",
        "projects/evoclaw",
        "--importance",
        "0.85",
    )
    assert list(stored) == KEYS["store"]
    assert re.fullmatch("[0-9a-f]{12}", stored["id"])
    assert (stored["tier"], stored["cold_synced"]) == ("hot", False)
    found = told("retrieve", "--query", "BSC testnet", "--limit", "5")
    assert found[0]["text"] == "Deploy on BSC testnet before mainnet"
    assert {"id", "category", "importance", "created_at", "access_count", "score", "tier"} <= set(found[0])
    assert told("tree", "--add", "a/b", "About b") == {"path": "a/b", "added": True}
    assert told("tree", "--remove", "a/b") == {"path": "a/b", "removed": True}
    assert told("tree", "--prune") == {"pruned": 0}
    assert told("hot", "--update", "lesson", '{"text": "Test first"}') == {"updated": "lesson"}
    assert told("hot", "--rebuild")["output"] == "MEMORY.md"
    assert told("hot")["critical_lessons"][0]["text"] == "Test first"
    assert told("validate")["status"] == "warning"
    assert told("extract-metadata", "--file", "memory/2026-02-13.md")["summary"]["commands_count"] == 1
    other = told("store", "--text", "For two", "--category", "x", "--agent-id", "agent-2")
    assert other["id"] != stored["id"]
    assert Path("MEMORY-agent-2.md").exists()


def test_the_files_of_the_original_go_on_working_without_a_step_more(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fact = {"id": "abc123def456", "text": "See https://docs.example.org/deps for the deps", "category": "projects/x"}
    Path("memory/default").mkdir()
    Path("memory/default/warm-memory.json").write_text(json.dumps([fact]))
    code, out = run(["search-url", "--url", "example.org", "--style", "original"], capsys)
    assert (code, json.loads(out)["results"][0]["id"]) == (0, "abc123def456")
    assert json.loads(out)["results"][0]["metadata"]["urls"] == ["https://docs.example.org/deps"]
    code, out = run(["retrieve", "--query", "deps", "--style", "original"], capsys)
    assert json.loads(out)[0]["metadata"]["urls"] == ["https://docs.example.org/deps"]
    assert main.run(["search-url", "--url", "example.org", "--style", "original"]) == 0
    assert "took over" not in capsys.readouterr().err
    Path("memory/default/warm-memory.json").write_text("{")
    assert main.run(["metrics", "--style", "original"]) == 0
    assert "warm-memory.json" in capsys.readouterr().err


def test_every_command_takes_the_agent_by_its_other_name(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["daily", "Said to two"], ["store", "Known to two", "--category", "x"]):
        assert main.run([*arguments, "--agent-id", "agent-2"]) == 0
    for name, found in (("agent-2", 2), ("default", 0)):
        code, out = run(["recall", "two", "--json", "--agent-id", name], capsys)
        assert (code, len(json.loads(out)["hits"])) == (0, found)
    assert main.run(["--agent", "default", "store", "Known to the main tree", "--category", "x"]) == 0
    assert not Path("memory/agents/default").exists()
    with Workspace.open(place, agent="default") as workspace:
        assert [hit.path.split("/")[1] for hit in workspace.recall("main tree").hits] == ["domains"]


def test_a_tool_that_reads_json_gets_some_where_a_command_fails(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(code: int, *arguments: str) -> Any:
        capsys.readouterr()
        assert main.run([*arguments, "--style", "original"]) == code
        shown = capsys.readouterr()
        assert shown.err.startswith("bonsai: ")
        return json.loads(shown.out)

    run(["store", "--text", "We build with make", "--category", "held"], capsys)
    assert told(77, "tree", "--remove", "held") == {"path": "held", "removed": False}
    assert told(66, "validate", "--file", "memory/2026-01-01.md")["status"] == "warning"
    assert told(0, "retrieve", "--query", "make", "--llm")[0]["text"] == "We build with make"
    assert told(0, "distill", "--text", "Let's ship it.", "--llm")["mode"] == "rule"
    monkeypatch.setenv("BONSAI_DB_URL", "http://127.0.0.1:9")
    Path("bonsai.toml").write_text("[cold]\nretries = 0\n")
    assert told(69, "cold", "--init") == {"initialized": False}
    assert told(69, "cold", "--query", "make") == []
    assert told(69, "sync-critical")["synced"] is False


def test_what_later_versions_of_the_original_answer(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*arguments: str) -> Any:
        code, out = run([*arguments, "--style", "original"], capsys)
        assert code == 0, out
        return json.loads(out)

    dry = told("ingest-daily", "--days", "2", "--dry-run")
    assert list(dry) == [
        *("files_scanned", "mode", "facts_found", "facts_stored", "facts_skipped", "llm_fallbacks", "facts")
    ]
    assert (dry["files_scanned"], dry["facts_stored"]) == (1, 0) and dry["facts_found"] > 0
    assert told("ingest-daily", "--days", "2")["facts_stored"] == dry["facts_found"]
    assert told("ingest-daily")["facts_skipped"] == dry["facts_found"]
    stored = told("store", "--text", "Build it", "--category", "x", "--cmd", "make all")
    assert stored["metadata"]["commands"] == ["make all"]
    assert told("tree", "--rebuild")["tree_rebuilt"] == "counts-only"
    assert told("consolidate", "--mode", "monthly")["tree_rebuilt"] == "counts-only"
    code, out = run(["tree-search", "--query", "BSC", "--tree-file", "memory-tree.json"], capsys)
    [result] = json.loads(out)["results"]
    assert (code, result["path"], result["warm_count"], result["cold_count"]) == (0, "projects/evoclaw/bsc", 3, 12)


@pytest.mark.parametrize(
    ("tool", "arguments", "key"),
    [
        ("memory_cli.py", ["store", "--text", "A fact.", "--category", "x"], "cold_synced"),
        ("distiller.py", ["--text", "We decided to ship.", "--mode", "rule", "--core-summary"], "core_summary"),
        (
            "tree_search.py",
            ["--query", "BSC integration", "--tree-file", "memory-tree.json", "--mode", "keyword"],
            "results",
        ),
    ],
)
def test_the_scripts_are_thin_doors(place: Path, tool: str, arguments: list[str], key: str) -> None:
    script = TOP / "scripts" / tool
    code = [
        line for line in script.read_text().split("\n") if line and not line.startswith(("#", '"""', "import", "from"))
    ]
    assert len(code) <= 10
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert key in json.loads(done.stdout)
    asked = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, env=env)
    assert (asked.returncode, asked.stdout[:6], asked.stderr) == (0, "Usage:", "")


@pytest.mark.shared
@pytest.mark.skipif(not DOCUMENT.exists(), reason="needs the document beside the project")
def test_the_snippets_of_the_document_run_as_written(
    place: Path, server: Hrana, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("skills/tiered-memory").mkdir(parents=True)
    Path("skills/tiered-memory/scripts").symlink_to(TOP / "scripts")
    monkeypatch.setenv("TURSO_URL", server.url)
    monkeypatch.setenv("TURSO_TOKEN", server.token)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    text = DOCUMENT.read_text(encoding="utf-8")
    first = text[text.index("import subprocess\nimport json\n") : text.index("Before Responding (Retrieval)")]
    start = text.index("def get_relevant_context(query):")
    second = text[start : text.index("Heartbeat Consolidation")]
    space: dict[str, Any] = {"os": os}  # the document forgets to import it
    for snippet in (first, second):
        head, _, body = snippet.strip().replace("http://localhost:8080", "http://127.0.0.1:9").partition("):\n")
        body = "\n".join(f"    {line}" for line in body.split("\n"))  # the copy of the document has no indents
        exec(f"{head}):\n{body}\n", space)
    space["process_conversation"]("We decided to deploy on Monday", "Good idea.", "projects/deploy")
    assert "deploy" in space["get_relevant_context"]("when do we deploy?")
    assert [row[0] for row in server.rows("SELECT category FROM cold_memories")] == ["projects/deploy"]
    assert server.rows("SELECT count(*) FROM critical_state")[0][0] == 1


def test_a_token_is_not_shown_to_other_users(place: Path, server: Hrana) -> None:
    script = (
        "import sys\nfrom bonsai.adapters.own_arguments import hide\n"
        "hide(sys.argv[1])\nprint('up', flush=True)\nsys.stdin.read()"
    )
    words = [sys.executable, "-c", script, "s3cret-t0ken-abc"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        shown = Path(f"/proc/{process.pid}/cmdline")
        seen = shown.read_bytes() if shown.exists() else b""
        process.communicate(b"")
    assert b"s3cret" not in seen


def test_a_fact_is_in_the_database_at_once_and_waits_while_that_is_down(
    place: Path, server: Hrana, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BONSAI_DB_URL", server.url)
    monkeypatch.setenv("BONSAI_DB_TOKEN", server.token)
    server.down = True
    code, out = run(["store", "--text", "First", "--category", "x", "--style", "original"], capsys)
    assert (code, json.loads(out)["cold_synced"]) == (0, False)
    server.down = False
    code, out = run(["store", "--text", "Second", "--category", "x", "--style", "original"], capsys)
    assert (code, json.loads(out)["cold_synced"]) == (0, True)
    assert sorted(row[0].strip() for row in server.rows("SELECT text FROM cold_memories")) == ["First", "Second"]
    leaks = subprocess.run(["grep", "-rl", server.token, "."], capture_output=True, text=True)
    assert leaks.stdout == ""


def test_the_example_of_an_endpoint_passes_prompts_on() -> None:
    import importlib.util
    import threading
    import urllib.request
    from http.server import ThreadingHTTPServer

    spec = importlib.util.spec_from_file_location("complete_endpoint", TOP / "examples/complete_endpoint.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.complete = lambda prompt: f"you said {prompt}"
    server = ThreadingHTTPServer(("127.0.0.1", 0), example.Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/complete"
    try:
        request = urllib.request.Request(url, b'{"prompt": "test"}')
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer) == {"text": "you said test"}
        for place, body in ((f"{url}/x", b"{}"), (url, b"[]"), (url, b"no"), (url, b'{"x": 1}')):
            with pytest.raises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(urllib.request.Request(place, body))
            raised.value.close()
    finally:
        server.shutdown()
        server.server_close()
