"""Console blocks of documents, run for real.

A ```console block holds commands (`$ …`, continued by `> …`), what each prints (stdout and stderr together), and
`[N]` where the exit code is N and not 0. All blocks of a document run in one shell, in an empty home folder, after
what its `<!-- setup: … -->` comments say. Object ids and run ids differ from run to run and are not compared.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
HOME = "/home/you"  # how the home folder is shown
NOW = "2026-03-15T08:15:00Z"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
_SETUP = re.compile(r"^<!-- setup: (.*?) -->$", re.M | re.S)
_COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)$", re.M)
_ID = re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{10,64}\b")
_MARK = "--- end of command 8d1f ---"


def has_console(document: str) -> bool:
    """Whether there is anything to run in it."""
    return bool(_BLOCK.search(document))


def masked(text: str) -> str:
    """The text without what differs from run to run."""
    return _ID.sub("##########", text)


def replay(document: str, home: Path) -> str:
    """Run a document's console blocks in `home`; returns the document with what the commands print now."""
    pieces = sorted([*_BLOCK.finditer(document), *_SETUP.finditer(document)], key=lambda found: found.start())
    commands: list[str] = []
    for piece in pieces:
        found = _COMMAND.findall(piece[1]) if piece.re is _BLOCK else [piece[1]]
        commands += [command.replace("\n> ", "\n") for command in found]
    printed = iter(_run(commands, home))
    result, position = [], 0
    for piece in pieces:
        if piece.re is _SETUP:
            output = next(printed)
            assert not output.endswith("]\n"), f"the setup failed: {output}"
            continue
        shown = "".join(f"$ {command}\n{next(printed)}" for command in _COMMAND.findall(piece[1]))
        old = piece[1]
        result += [document[position : piece.start(1)], old if masked(old) == masked(shown) else shown]
        position = piece.end(1)
    return "".join([*result, document[position:]])


def _run(commands: list[str], home: Path) -> list[str]:
    """What each command prints, with `[N]` after it where it fails."""
    script = "".join(f"{{ {command}\n}} 2>&1\nprintf '%s %s\\n' '{_MARK}' $?\n" for command in commands)
    environment = {
        **{name: os.environ[name] for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "TZ", "LC_ALL")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "BONSAI_NOW": NOW,
        "CHECKOUT": str(TOP),
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300
    )
    *outputs, rest = re.split(rf"{_MARK} (\d+)\n", done.stdout.decode("utf-8").replace(str(home), HOME))
    assert len(outputs) == 2 * len(commands), f"the shell stopped early: {rest}{done.stderr.decode()}"
    return [
        (text if not text or text.endswith("\n") else f"{text}\n") + (f"[{code}]\n" if code != "0" else "")
        for text, code in zip(outputs[::2], outputs[1::2], strict=True)
    ]
