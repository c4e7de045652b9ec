#!/usr/bin/env python3
"""memory_cli.py COMMAND …: the same as `bonsai COMMAND …`, with the original's JSON for an answer."""

import os
import shutil
import sys
from pathlib import Path

here = Path(__file__).resolve().parent.parent / ".venv/bin/bonsai"
bonsai = shutil.which("bonsai") or str(here)
is_command = sys.argv[1:] and not sys.argv[1].startswith("-")
os.execv(bonsai, [bonsai, *sys.argv[1:], *(["--style", "original"] if is_command else [])])
