"""Our own cases: faults that were met, as small inputs for the command line. See own.json and words.sh.

A case has `setup`, `act` and `check`, bash scripts that run one after the other in a fresh folder $T. They are written
in the words of words.sh; one that ends with another status than 0 fails the case.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CASES = json.loads((HERE / "own.json").read_text(encoding="utf-8"))
BONSAI = Path(sys.executable).parent / "bonsai"


@pytest.mark.parametrize("case", CASES, ids=[f"{case['id']} {case['kind']}" for case in CASES])
def test_case(case: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "case").mkdir()
    environment = {
        **{name: os.environ[name] for name in ("PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")},
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
        **{"HOME": str(tmp_path / "home"), "LANG": "C.UTF-8", "TZ": "UTC"},
        **{"T": str(tmp_path / "case"), "BONSAI": str(BONSAI)},
    }
    for stage in ("setup", "act", "check"):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f". {HERE / 'words.sh'}\n{case[stage]}"],
            cwd=tmp_path / "case",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        )
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert done.returncode == 0, f"{stage}: {case['expect']}\n{said[-1500:]}"


def test_cases_are_told_apart() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 25
    assert all(set(case) == {"id", "kind", "fault", "expect", "setup", "act", "check"} for case in CASES)
