#!/usr/bin/env python3
"""init_memory.py WORKSPACE: make the files of a memory where they are missing; the same as `bonsai init WORKSPACE`."""

import os
import shutil
import sys
from pathlib import Path

if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
    print(__doc__)
    sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 64)
here = Path(__file__).resolve().parent.parent / ".venv/bin/bonsai"
bonsai = shutil.which("bonsai") or str(here)
os.execv(bonsai, [bonsai, "init", "--", sys.argv[1]])
