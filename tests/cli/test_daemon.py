"""The daemon from the command line: in the terminal, in the background, as a service of a stand-in for systemd."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bonsai import Workspace
from bonsai.cli import control
from bonsai.cli.main import run
from bonsai.passes.remember import Wanted

BONSAI = [sys.executable, "-P", "-m", "bonsai"]
#: Writes down what it is told, and runs the command of a unit, as systemd would.
SYSTEMCTL = f"""#!{sys.executable}
import os, pathlib, shlex, signal, subprocess, sys, time
home = pathlib.Path(os.environ["HOME"])
words = sys.argv[1:]
assert words.pop(0) == "--user"
with open(home / "calls", "a") as calls:
    print(*words, file=calls)
if (home / "no-systemd").exists():
    sys.exit("Failed to connect to bus")
pid = home / "pid"
if words[0] == "start":
    unit = (home / ".config/systemd/user" / words[1]).read_text()
    command = shlex.split(unit.partition("ExecStart=")[2].split("\\n")[0])
    process = subprocess.Popen(command, cwd="/", start_new_session=True, stdout=-3, stderr=-3)
    pid.write_text(str(process.pid))
    process.returncode = 0
if words[0] == "stop" and pid.exists():
    os.kill(int(pid.read_text()), signal.SIGTERM)
    pid.unlink()
"""


class Machine:
    """A person's home with workspaces in it, and what they type."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.home, self._capfd = home, capfd
        (home / "bin").mkdir(parents=True)
        (home / "bin/systemctl").write_text(SYSTEMCTL)
        (home / "bin/systemctl").chmod(0o755)
        patch.setenv("HOME", str(home))
        patch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
        patch.chdir(home)
        self.workspaces: list[Path] = []

    def workspace(self, name: str) -> Path:
        root = self.home / name
        self(root, "init")
        self.workspaces.append(root)
        return root

    def __call__(self, root: Path | None, *words: str, code: int | None = 0) -> str:
        """Run a command; its stdout, or with another exit code its stderr."""
        out, err = self._run([*(["-C", str(root)] if root else []), *words], code)
        return err if code else out

    def json(self, root: Path, *words: str, code: int | None = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._run(["-C", str(root), *words, "--json"], code)[0])
        return found

    def _run(self, words: list[str], code: int | None) -> tuple[str, str]:
        self._capfd.readouterr()
        if {"start", "restart"} & set(words):  # its child is to outlive it
            done = subprocess.run([*BONSAI, *words], capture_output=True, text=True, timeout=60)
            got, out, err = done.returncode, done.stdout, done.stderr
        else:
            got = run(words)
            out, err = self._capfd.readouterr()
        assert code is None or got == code, out + err
        return out, err

    @property
    def calls(self) -> list[str]:
        file = self.home / "calls"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def units(self) -> list[Path]:
        return sorted((self.home / ".config/systemd/user").glob("*.service"))

    def clear_up(self) -> None:
        for root in self.workspaces:
            self(root, "daemon", "stop", code=None)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Machine]:
    found = Machine(tmp_path / "home", monkeypatch, capfd)
    yield found
    found.clear_up()


def head(root: Path) -> str:
    done = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def wait_for(what: Any, seconds: float = 15) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def save(root: Path, text: str) -> None:
    (root / "memory/domains/general").mkdir(parents=True, exist_ok=True)
    (root / "memory/domains/general/a.md").write_text(text)


# -- in the background -----------------------------------------------------------------------------------------


def test_it_starts_commits_tells_how_it_is_and_stops(machine: Machine):
    root = machine.workspace("my notes")
    told = machine(root, "daemon", "status", code=None)
    assert told.startswith("not running\n")
    assert machine.json(root, "daemon", code=1)["running"] is False

    started = machine.json(root, "daemon", "start")
    assert started["state"] == "watching" and started["service"] is None and not started["already"]
    pid = started["pid"]
    assert alive(pid) and os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    assert machine.json(root, "daemon", "start") == {**started, "already": True}
    assert machine(root, "daemon", "start") == f"Running already (pid {pid})\n"

    before = head(root)
    save(root, "new\n")
    wait_for(lambda: head(root) != before)
    wait_for(lambda: machine.json(root, "daemon", "status")["last_commit"])
    found = machine.json(root, "daemon", "status")
    assert {"running", "pid", "state", "since", "lag_seconds", "last_commit", "last_commit_at"} <= set(found)
    assert (found["running"], found["pid"], found["last_commit"]) == (True, pid, head(root))
    assert machine(root, "daemon").startswith(f"watching (pid {pid})\nWorkspace:   {root}\n")
    assert f"commit {head(root)[:10]}" in machine(root, "daemon", "logs", "-n", "1")
    assert machine.json(root, "daemon", "logs")["lines"][-1].endswith("memory/domains/general/a.md")

    assert machine(root, "daemon", "stop") == f"Stopped (pid {pid})\n"
    wait_for(lambda: not alive(pid))  # it lets go of its memory a moment before it is a zombie
    assert not (root / ".bonsai/daemon.json").exists()
    assert machine(root, "daemon", "stop") == "It was not running.\n"
    assert machine(root, "daemon", "status", code=None).startswith("not running\n")


def test_it_consolidates_when_that_is_due_and_undo_takes_it_back(machine: Machine):
    root = machine.workspace("larder")
    (root / "bonsai.toml").write_text("[schedule]\nconsolidate_hours = 2\n")
    with Workspace.open(root, actor="agent:test") as space:  # a person's facts never leave
        old = space.remember_all([Wanted("Tea was green then.", "tea", importance=0.2, created="2020-01-01T08:00:00Z")])
        fresh = space.remember("Tea is black now.", domain="tea", importance=0.9)
        space.commit()
    (root / ".bonsai/schedule.json").write_text('{"consolidate": "2020-01-01T08:00:00+00:00"}')
    machine(root, "daemon", "start")
    wait_for(lambda: "consolidate: 1 facts left the tree, commit " in machine(root, "daemon", "logs"))
    commit = machine.json(root, "log", "--limit", "1")["commits"][0]
    assert (commit["op"], commit["actor"]) == ("consolidate", "daemon")
    assert commit["sha"][:10] in machine(root, "daemon", "logs")
    assert not (root / old[0].path).exists()
    assert (root / fresh.path).exists()
    hits = machine.json(root, "recall", "tea green then")["hits"]
    assert [hit["tier"] for hit in hits if hit["path"] == old[0].path] == ["cold"]
    assert machine.json(root, "undo", commit["run"])["restored"]
    assert (root / old[0].path).exists()


def test_a_restart_is_another_process_also_where_none_ran(machine: Machine):
    root = machine.workspace("ws")
    first = machine.json(root, "daemon", "restart")["pid"]
    second = machine.json(root, "daemon", "restart")["pid"]
    assert first != second and alive(second)
    wait_for(lambda: not alive(first))


def test_after_a_kill_status_says_so_and_a_start_puts_it_right(machine: Machine):
    root = machine.workspace("ws")
    pid = machine.json(root, "daemon", "start")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not machine.json(root, "daemon", code=None)["running"])
    assert machine(root, "daemon", code=None).startswith("not running, and not stopped by anybody\n")
    assert machine(root, "daemon", "stop") == "It was not running.\n"
    assert machine.json(root, "daemon", "start")["pid"] != pid


def test_a_start_that_fails_says_why_at_once(machine: Machine):
    root = machine.workspace("ws")
    (root / ".bonsai").chmod(0o777)
    began = time.monotonic()
    said = machine(root, "daemon", "start", code=69)
    assert time.monotonic() - began < 8
    assert "the daemon does not start: .bonsai: anybody can write in it" in said
    (root / ".bonsai").chmod(0o700)


def test_modules_in_the_current_folder_are_not_run(machine: Machine):
    root = machine.workspace("ws")
    for name in ("click", "bonsai", "watchdog"):
        (root / f"{name}.py").write_text(f"open({str(machine.home / 'canary')!r}, 'w')\n")
    subprocess.run([*BONSAI, "daemon", "start"], cwd=root, check=True, capture_output=True)
    assert machine.json(root, "daemon")["running"]
    assert not (machine.home / "canary").exists()


def test_a_process_that_is_no_bonsai_is_never_ended(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    root = machine.workspace("ws")
    monkeypatch.setattr(control, "PATIENCE", 0.5)
    with subprocess.Popen(["sleep", "60"]) as stranger, open(root / ".bonsai/daemon.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (root / ".bonsai/daemon.json").write_text(json.dumps({"pid": stranger.pid, "state": "watching"}))
        said = machine(root, "daemon", "stop", code=77)
        assert f"process {stranger.pid} watches, but is no `bonsai watch`" in said
        assert stranger.poll() is None
        fcntl.flock(lock, fcntl.LOCK_UN)
        machine(root, "daemon", "stop")  # the file alone says nothing
        assert stranger.poll() is None
        stranger.kill()
    (root / ".bonsai/daemon.json").unlink()


# -- in the terminal -------------------------------------------------------------------------------------------


@pytest.fixture
def foreground(machine: Machine) -> Iterator[Any]:
    running: list[subprocess.Popen[str]] = []

    def start(*words: str, **options: Any) -> subprocess.Popen[str]:
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([*BONSAI, *words], text=True, stdin=subprocess.DEVNULL, **streams)
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_in_a_terminal_it_tells_each_commit_and_ends_cleanly(machine: Machine, foreground: Any):
    one, two = machine.workspace("one"), machine.workspace("two")
    process = foreground("watch", "one", str(two))
    line = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00  "
    for _ in range(2):
        assert re.fullmatch(rf"{line}watching .*/(one|two)\n", process.stderr.readline())
    for root in (one, two):
        before = head(root)
        save(root, "new\n")
        wait_for(lambda root=root, before=before: head(root) != before)
        assert re.fullmatch(rf"{line}.*commit {head(root)[:10]} .*\n", process.stderr.readline())
        assert machine.json(root, "daemon")["pid"] == process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert process.stdout.read() == ""
    assert not (one / ".bonsai/daemon.json").exists()


def test_with_json_each_line_is_an_object_on_stdout(machine: Machine, foreground: Any):
    root = machine.workspace("ws")
    process = foreground("-C", str(root), "watch", "--json")
    found = json.loads(process.stdout.readline())
    assert set(found) == {"time", "message"} and found["message"] == f"watching {root}"
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0


def test_there_is_one_daemon_a_workspace(machine: Machine, foreground: Any):
    root = machine.workspace("ws")
    pid = machine.json(root, "daemon", "start")["pid"]
    assert "a daemon watches this workspace already" in machine(root, "watch", code=75)
    assert "a daemon watches this workspace already" in machine(root, "watch", "--log", "mine.log", code=75)
    assert "ended: " in (machine.home / "mine.log").read_text()
    assert machine.json(root, "daemon")["pid"] == pid


def test_one_of_the_terminal_is_known_and_can_be_stopped(machine: Machine, foreground: Any):
    root = machine.workspace("ws")
    process = foreground("watch", str(root))
    process.stderr.readline()
    assert machine.json(root, "daemon", "start") | {"pid": process.pid, "already": True} == machine.json(
        root, "daemon", "start"
    )
    assert machine(root, "daemon", "stop") == f"Stopped (pid {process.pid})\n"
    assert process.wait(10) == 0


def test_the_log_can_be_followed(machine: Machine, foreground: Any):
    root = machine.workspace("ws")
    assert machine(root, "daemon", "logs") == ""
    assert machine.json(root, "daemon", "logs") == {"log": f"{root}/.bonsai/log", "lines": []}
    assert "--follow prints lines" in machine(root, "daemon", "logs", "-f", "--json", code=64)
    machine(root, "daemon", "start")
    process = foreground("-C", str(root), "daemon", "logs", "-n", "1", "--follow")
    assert process.stdout.readline().endswith(f"watching {root}\n")
    time.sleep(0.5)
    save(root, "new\n")
    assert "commit" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130


# -- as a service ----------------------------------------------------------------------------------------------


def test_a_service_is_installed_once_and_removed_once(machine: Machine):
    root = machine.workspace("my notes")
    direct = machine.json(root, "daemon", "start")["pid"]
    told = machine(root, "daemon", "install")
    [unit] = machine.units
    assert str(unit) in told and "  [Service]\n" in told
    assert f'ExecStart="{sys.executable}" "-P"' in unit.read_text()
    assert f"enable {unit.name}" in machine.calls and machine.calls[-1] == f"start {unit.name}"
    wait_for(lambda: not alive(direct))  # it made room

    status = machine.json(root, "daemon")
    assert status["service"] == str(unit) and status["pid"] == int((machine.home / "pid").read_text())
    before = head(root)
    save(root, "new\n")
    wait_for(lambda: head(root) != before)

    again = machine.json(root, "daemon", "install")
    assert (again["service"], again["started"]) == (unit.stem, True)
    assert machine.units == [unit]

    machine(root, "daemon", "stop")
    assert machine.calls[-1] == f"stop {unit.name}"
    assert machine.json(root, "daemon", "start")["service"] == unit.stem
    assert machine.calls[-1] == f"start {unit.name}"

    assert machine(root, "daemon", "uninstall") == f"Removed: {unit}\n"
    assert machine.units == [] and not machine.json(root, "daemon", code=1)["running"]
    assert f"disable {unit.name}" in machine.calls
    assert machine(root, "daemon", "uninstall") == "No service is installed for this workspace.\n"


def test_one_service_watches_several_workspaces(machine: Machine):
    one, two, three = (machine.workspace(name) for name in ("one", "two", "three"))
    machine(None, "daemon", "install", "one")
    machine(None, "daemon", "install", "two", "one", "two")  # another name, the same workspace: the first is replaced
    [unit] = machine.units
    pids = {machine.json(root, "daemon")["pid"] for root in (one, two)}
    assert len(pids) == 1
    assert machine.json(one, "daemon", "logs")["log"] == f"{two}/.bonsai/log"

    said = machine(None, "daemon", "install", "one", "three", code=77)
    assert f"{two}: the service {unit.stem} watches this folder too" in said
    assert machine.units == [unit]
    machine(one, "daemon", "install")  # without folders: the same as before
    assert machine.units == [unit]
    assert machine.json(two, "daemon")["running"]
    assert not machine.json(three, "daemon", code=1)["running"]
    assert machine.json(one, "daemon", "stop")["workspaces"] == [str(two), str(one)]
    assert not machine.json(two, "daemon", code=1)["running"]


def test_an_agent_s_service_works_for_that_agent(machine: Machine):
    root = machine.workspace("ws")
    machine(root, "daemon", "install", "--agent", "scout")
    assert '"--agent" "scout" "watch"' in machine.units[0].read_text()
    before = head(root)
    save(root, "new\n")
    wait_for(lambda: head(root) != before)


def test_without_systemd_the_unit_is_written_and_the_way_on_is_told(machine: Machine):
    root = machine.workspace("my notes")
    (machine.home / "no-systemd").touch()
    said = machine(root, "daemon", "install", code=69)
    [unit] = machine.units
    assert f"{unit}: is written, but systemd does not answer (Failed to connect to bus)" in said
    assert f"@reboot bonsai -C '{root}' daemon start" in said
    started = machine.json(root, "daemon", "start")
    assert started["service"] is None and alive(started["pid"])
    machine(root, "daemon", "uninstall")
    assert machine.units == []
    wait_for(lambda: not alive(started["pid"]))


def test_no_start_only_writes_the_file(machine: Machine):
    root = machine.workspace("ws")
    report = machine.json(root, "daemon", "install", "--no-start")
    assert report == {"service": machine.units[0].stem, "file": str(machine.units[0]), "workspaces": [str(root)]} | {
        "started": False
    }
    assert not [call for call in machine.calls if call.startswith(("enable", "start"))]
    assert not machine.json(root, "daemon", code=1)["running"]


def test_a_workspace_that_is_not_there_is_not_installed(machine: Machine):
    assert "there is no such folder" in machine(None, "daemon", "install", "nowhere", code=66)
    assert machine.units == []


def test_a_service_that_does_not_come_up_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    root = machine.workspace("ws")
    (machine.home / "bin/systemctl").write_text("#!/bin/sh\nexit 0\n")
    monkeypatch.setattr(control, "PATIENCE", 0.3)
    said = machine(root, "daemon", "install", code=69)
    assert f"{root}: the daemon does not start: nothing after 0.3 s" in said


def test_crontab_lines_name_this_workspace_and_this_bonsai(machine: Machine):
    root = machine.workspace("my notes")
    text = machine(root, "daemon", "crontab")
    assert f"\nBONSAI_WORKSPACE={root}\n" in text
    [path] = re.findall("^PATH=(.*)$", text, re.M)
    assert path.split(":")[0] == str(Path(sys.executable).parent)
    jobs = re.findall(r"^[\d*/]+ \S+ \S+ \S+ \S+ +bonsai (.*)$", text, re.M)
    assert jobs == ["commit", "status", "purge", "reflect"]
    assert machine.json(root, "daemon", "crontab") == {"crontab": text}


def test_status_tells_how_long_an_edit_waits(machine: Machine):
    root = machine.workspace("ws")
    save(root, "old\n")
    machine(root, "daemon", "start")
    (root / ".git/MERGE_HEAD").write_text(f"{head(root)}\n")  # nothing may be committed now
    save(root, "new\n")
    os.utime(root / "memory/domains/general/a.md", (time.time(), time.time()))
    found = wait_for(lambda: (said := machine.json(root, "daemon"))["paused"] and said["lag_seconds"] > 1 and said)
    assert found["lag_seconds"] < 60
    said = machine(root, "daemon", "status")
    assert "\nPaused:      " in said and re.search(r"\nLag:         an edit waits for \d+ s\n", said)
    (root / ".git/MERGE_HEAD").unlink()
    wait_for(lambda: machine.json(root, "daemon")["lag_seconds"] == 0)
