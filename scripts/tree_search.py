#!/usr/bin/env python3
"""tree_search.py: search a memory-tree.json by words or by a language model."""

import os
import shutil
import sys
from pathlib import Path

here = Path(__file__).resolve().parent.parent / ".venv/bin/bonsai"
bonsai = shutil.which("bonsai") or str(here)
os.execv(bonsai, [bonsai, "tree-search", *sys.argv[1:]])
