#!/usr/bin/env python3
"""distiller.py: distil a turn of a conversation: the same as `bonsai distill`, without a workspace."""

import os
import shutil
import sys
from pathlib import Path

here = Path(__file__).resolve().parent.parent / ".venv/bin/bonsai"
bonsai = shutil.which("bonsai") or str(here)
os.execv(bonsai, [bonsai, "distiller", *sys.argv[1:]])
