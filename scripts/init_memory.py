#!/usr/bin/env python3
"""init_memory.py WORKSPACE: make the files of a memory where they are missing; the same as `bonsai init WORKSPACE`."""

import os
import shutil
import sys
from pathlib import Path

if len(sys.argv) != 2:
    sys.exit("usage: init_memory.py WORKSPACE")
here = Path(__file__).resolve().parent.parent / ".venv/bin/bonsai"
bonsai = shutil.which("bonsai") or str(here)
os.execv(bonsai, [bonsai, "init", "--", sys.argv[1]])
