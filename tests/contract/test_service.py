"""Services of systemd and launchd: one suite for both, with a stand-in for the program that controls them."""

import os
import plistlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bonsai.adapters import detached, log_file
from bonsai.adapters.log_file import LogFile
from bonsai.adapters.service import Launchd, Services, Systemd, services
from bonsai.errors import CannotCreate, Refused, Unavailable

ODD = [
    "/home/me/a b",
    '/home/me/100% "mine"',
    "/home/me/cost$HOME\\n",
    "/home/me/räksmörgås",
    "/home/me/<a>&'b'",
    "/-x",
]


class Control:
    """A `systemctl` and a `launchctl` that write down what they are told, and fail where they should."""

    def __init__(self, folder: Path) -> None:
        self._calls, self._fails = folder / "calls", folder / "fails"
        script = (
            "#!/bin/sh\n"
            f'printf "%s\\n" "$(basename "$0") $*" >> "{self._calls}"\n'
            f'while read -r word; do case " $* " in *" $word "*) echo "no $word today" >&2; exit 3;; esac; done '
            f'< "{self._fails}"\n'
        )
        self._fails.touch()
        (folder / "bin").mkdir()
        for name in ("systemctl", "launchctl"):
            (folder / "bin" / name).write_text(script)
            (folder / "bin" / name).chmod(0o755)
        self.path = f"{folder}/bin"

    def fail(self, *words: str) -> None:
        self._fails.write_text("".join(f"{word}\n" for word in words))

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Control:
    found = Control(tmp_path)
    monkeypatch.setenv("PATH", f"{found.path}:{os.environ['PATH']}")
    return found


@pytest.fixture(params=["systemd", "launchd"])
def every(request: pytest.FixtureRequest, tmp_path: Path) -> Services:
    platform = {"systemd": "linux", "launchd": "darwin"}[request.param]
    return services(platform, str(tmp_path / "home"), user=501)


def command(*workspaces: str) -> list[str]:
    return [sys.executable, "-P", "-m", "bonsai", "watch", "--", *workspaces]


def write(found: Services, *workspaces: str) -> str:
    return found.write(found.named(workspaces), command(*workspaces), "/usr/bin:/bin")


def test_files_stand_where_each_system_looks_for_them(tmp_path: Path):
    assert services("linux", "/h").named(["/w"]).file.startswith("/h/.config/systemd/user/bonsai-w-")
    assert services("linux", "/h", "/x").named(["/w"]).file.startswith("/x/systemd/user/bonsai-w-")
    assert services("linux", "/h", "relative").named(["/w"]).file.startswith("/h/.config/systemd/user/")
    assert services("darwin", "/h").named(["/w"]).file.startswith("/h/Library/LaunchAgents/local.bonsai-w-")


def test_a_name_tells_workspaces_of_one_name_apart_and_holds_nothing_odd(every: Services):
    names = [every.named([path]).name for path in [*ODD, "/a/notes", "/b/notes", "/" + "x" * 300]]
    assert len(set(names)) == len(names)
    assert all(len(name) < 60 and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") for name in names)
    assert every.named(["/a/notes"]) == every.named(["/a/notes"])


def test_what_is_written_is_found_again(every: Services):
    assert every.installed() == []
    write(every, *ODD)
    write(every, "/srv/other")
    assert {tuple(found.workspaces) for found in every.installed()} == {tuple(ODD), ("/srv/other",)}
    for path in ODD:
        found = every.of(path)
        assert found and found == every.named(ODD)
    assert every.of("/home/me") is None


def test_a_path_that_is_no_utf8_is_found_again_under_systemd(tmp_path: Path):
    found = Systemd(str(tmp_path))
    path = os.fsdecode(b"/home/me/latin-\xe9")
    assert b"latin-\\xe9" in os.fsencode(write(found, path))
    assert found.of(path)


def test_files_that_are_not_ours_or_broken_are_left_out(every: Services):
    service = every.named(["/w"])
    write(every, "/w")
    folder = Path(service.file).parent
    suffix = Path(service.file).suffix
    for number, data in enumerate([b"", b"\xff\xfe", b"# workspaces: {", b"# workspaces: 3\n", b"<plist/>", b"<plist"]):
        (folder / f"{service.name}{number}{suffix}").write_bytes(data)
    (folder / f"other{suffix}").write_bytes(Path(service.file).read_bytes())
    (folder / f"{service.name}-folder{suffix}").mkdir()
    assert every.installed() == [service]


def test_a_next_install_writes_the_file_anew(every: Services):
    write(every, "/w")
    file = every.named(["/w"]).file
    every.write(every.named(["/w"]), ["/new/python", "watch", "--", "/w"], "/bin")
    assert "/new/python" in Path(file).read_text()
    assert [item.name for item in Path(file).parent.iterdir()] == [Path(file).name]


def test_launchd_reads_the_command_as_it_was_given(tmp_path: Path):
    found = Launchd(str(tmp_path), 501)
    agent = plistlib.loads(write(found, *ODD).encode())
    assert agent["ProgramArguments"] == command(*ODD)
    assert agent["Label"] == found.named(ODD).name
    assert agent["EnvironmentVariables"] == {"PATH": "/usr/bin:/bin"}
    assert agent["RunAtLoad"] is True
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


@pytest.mark.parametrize("path", ["/a\nb", "/a\x01b", os.fsdecode(b"/a\xff")])
def test_launchd_refuses_what_its_file_cannot_hold(path: str, tmp_path: Path):
    with pytest.raises(CannotCreate):
        write(Launchd(str(tmp_path), 501), path)
    assert list(tmp_path.iterdir()) == []


def systemd_words(line: str) -> list[str]:
    """How systemd reads a command line of quoted words: its escapes, then `%%`; `$$` in all but the program."""
    words, rest = [], line
    while rest:
        assert rest[0] == '"'
        end, word = 1, b""
        while rest[end] != '"':
            if rest[end] == "\\":
                if rest[end + 1] == "x":
                    word += bytes([int(rest[end + 2 : end + 4], 16)])
                    end += 4
                else:
                    word += rest[end + 1].encode()
                    end += 2
            else:
                word += rest[end].encode()
                end += 1
        text = os.fsdecode(word)
        assert "%" not in text.replace("%%", "") and (not words or "$" not in text.replace("$$", ""))
        words.append(text.replace("%%", "%").replace("$$", "$") if words else text.replace("%%", "%"))
        rest = rest[end + 1 :].lstrip(" ")
    return words


def test_systemd_reads_the_command_as_it_was_given(tmp_path: Path):
    odd = [*ODD, "/a\nb\tc\x7f", os.fsdecode(b"/a\xff"), "/; /bin/x"]
    text = write(Systemd(str(tmp_path)), *odd)
    [line] = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    assert systemd_words(line.removeprefix("ExecStart=")) == command(*odd)


def test_systemd_accepts_the_unit(tmp_path: Path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    found = Systemd(str(tmp_path / "units"))
    write(found, *ODD, os.fsdecode(b"/a\xff"), "/a\nb")
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)}

    def verify(file: str) -> str:
        argv = ["systemd-analyze", "--user", "--man=no", "verify", file]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60)
        return done.stderr + done.stdout if done.returncode or done.stderr else ""

    trial = tmp_path / "bonsai-trial.service"
    trial.write_text("[Service]\nExecStart=/bin/true\n")
    if said := verify(str(trial)):
        pytest.skip(f"systemd-analyze does not work here: {said}")
    assert verify(found.installed()[0].file) == ""
    trial.write_text("[Service]\nExecStart=/bin/true %Q\n")
    assert verify(str(trial))  # it can fail


def test_each_order_is_given_in_the_words_of_systemctl(tmp_path: Path, control: Control):
    found = Systemd(str(tmp_path / "units"))
    write(found, "/w")
    service = found.named(["/w"])
    unit = f"{service.name}.service"
    assert found.silent() == ""
    found.enable(service)
    found.start(service)
    found.stop(service)
    found.remove(service)
    told = [call.removeprefix("systemctl --user ") for call in control.calls]
    assert told[1:] == [
        *("daemon-reload", f"enable {unit}"),
        *("daemon-reload", f"start {unit}"),
        f"stop {unit}",
        *(f"disable {unit}", "daemon-reload"),
    ]
    assert found.installed() == []


def test_each_order_is_given_in_the_words_of_launchctl(tmp_path: Path, control: Control):
    found = Launchd(str(tmp_path / "agents"), 501)
    write(found, "/w")
    service = found.named(["/w"])
    target = f"gui/501/{service.name}"
    assert found.silent() == ""
    found.enable(service)
    found.start(service)
    control.fail("print")  # not loaded any more
    found.stop(service)
    found.remove(service)
    assert [call.removeprefix("launchctl ") for call in control.calls] == [
        "print gui/501",
        f"enable {target}",
        *(f"print {target}", f"bootout {target}", f"bootstrap gui/501 {service.file}"),
        f"print {target}",
        f"print {target}",
    ]
    assert found.installed() == []


def test_an_order_that_fails_says_which_and_why(every: Services, control: Control):
    write(every, "/w")
    control.fail("daemon-reload", "bootstrap")
    with pytest.raises(Unavailable, match=r"(daemon-reload|bootstrap .*)` failed: no (daemon-reload|bootstrap) today"):
        every.start(every.named(["/w"]))


def test_a_system_that_does_not_answer_or_is_not_there_is_silent(
    every: Services, control: Control, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    control.fail("show-environment", "print")
    assert "today" in every.silent()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "is not installed" in every.silent()
    write(every, "/w")
    every.remove(every.named(["/w"]))  # the file goes all the same, and a second time nothing happens
    every.remove(every.named(["/w"]))
    assert every.installed() == []


def test_removing_without_systemd_leaves_no_dangling_link(tmp_path: Path, control: Control):
    found = Systemd(str(tmp_path / "units"))
    write(found, "/w")
    service = found.named(["/w"])
    wanted = tmp_path / "units/default.target.wants" / f"{service.name}.service"
    wanted.parent.mkdir()
    wanted.symlink_to(service.file)
    control.fail("disable", "daemon-reload")
    found.remove(service)
    assert not wanted.is_symlink()


# -- processes -----------------------------------------------------------------------------------------------


def test_only_a_watching_bonsai_is_ended(tmp_path: Path):
    bonsai = tmp_path / "bonsai"
    bonsai.symlink_to(shutil.which("sleep") or "/bin/sleep")
    script = tmp_path / "other/bonsai"
    script.parent.mkdir()
    script.write_text("import time\nprint(flush=True)\ntime.sleep(60)\n")
    for argv, ours in [
        ([str(bonsai), "60"], False),
        (["sleep", "60"], False),
        ([sys.executable, str(script), "watch"], True),
    ]:
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
            if ours:
                assert process.stdout and process.stdout.readline()
            else:
                time.sleep(0.1)
            assert detached.terminate(process.pid) is ours
            if ours:
                assert process.wait(10) == -15
            else:
                assert process.poll() is None
                process.kill()
    assert not detached.terminate(process.pid)  # gone
    assert not detached.terminate(0) and not detached.terminate(-1) and not detached.terminate(1)


def test_without_proc_the_process_is_looked_up_with_ps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ps = tmp_path / "ps"
    ps.write_text("#!/bin/sh\necho /opt/venv/bin/python -P -m bonsai watch --log /w/.bonsai/log -- /w\n")
    ps.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *what: sent.append(what))
    assert detached.terminate(4711) and sent == [(4711, 15)]
    ps.write_text("#!/bin/sh\necho /usr/bin/python watch.py\n")
    assert not detached.terminate(4711)


# -- the log -------------------------------------------------------------------------------------------------


def test_the_log_is_rotated_and_private_and_its_end_is_read_over_the_old_files(tmp_path: Path):
    path = str(tmp_path / "ws.log")
    log = LogFile(path)
    for number in range(50_000):
        log.line(f"line {number:06} {'x' * 90}")
    log.line("räksmörgås \udcff 100 %s")
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["ws.log", "ws.log.1", "ws.log.2", "ws.log.3"]
    assert all(file.stat().st_size <= log_file.MOST and file.stat().st_mode & 0o077 == 0 for file in files)
    assert log_file.tail(path, 1) == ["räksmörgås \\udcff 100 %s"]
    assert [line[5:11] for line in log_file.tail(path, 20_001)[:-1]] == [f"{n:06}" for n in range(30_000, 50_000)]
    assert log_file.tail(path, 0) == []
    assert log_file.tail(str(tmp_path / "none"), 5) == []


def test_following_shows_what_is_written_from_now_on_also_over_a_rotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = str(tmp_path / "log")
    log = LogFile(path)
    log.line("before")
    steps = iter(
        [
            lambda: log.line("one"),
            lambda: (log.line("two"), log.doRollover(), log.line("three")),
            lambda: None,
            lambda: (log.doRollover(), log.line("four")),
        ]
    )
    monkeypatch.setattr(time, "sleep", lambda _: next(steps)())
    found = log_file.follow(path)
    assert [next(found) for _ in range(4)] == ["one", "two", "three", "four"]
    log.close()


def test_following_waits_for_a_log_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "log"
    monkeypatch.setattr(time, "sleep", lambda _: path.write_text("first\n"))
    assert next(log_file.follow(str(path))) == "first"


@pytest.mark.parametrize("linked", ["log", ".bonsai"])
def test_a_log_behind_a_symlink_of_a_cloned_workspace_is_refused(tmp_path: Path, linked: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "log").write_text("mine\n")
    root = tmp_path / "ws"
    root.mkdir()
    if linked == "log":
        (root / ".bonsai").mkdir()
        (root / ".bonsai/log").symlink_to(outside / "log")
    else:
        (root / ".bonsai").symlink_to(outside)
    with pytest.raises(Refused):
        LogFile(str(root / ".bonsai/log"))
    assert (outside / "log").read_text() == "mine\n"


def test_the_log_of_a_workspace_that_is_gone_makes_no_workspace(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        LogFile(str(tmp_path / "unmounted/ws/.bonsai/log"))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    log = LogFile(str(tmp_path / "log"))
    with open("/dev/full", "w", encoding="utf-8") as full:
        stream, log.stream = log.stream, full
        log.line("lost")
        log.stream = stream
        with pytest.raises(OSError):
            full.close()
    log.line("kept")
    log.close()
    assert log_file.tail(str(tmp_path / "log"), 9) == ["kept"]
    assert capfd.readouterr() == ("", "")
