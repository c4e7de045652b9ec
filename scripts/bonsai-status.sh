#!/usr/bin/env bash
# bonsai-status.sh [WORKSPACE]: health; exit code 0 healthy, 1 warning, 2 critical. Without WORKSPACE: $BONSAI_WORKSPACE, else ~/workspace.
set -euo pipefail
bonsai=$(command -v bonsai || echo "$(dirname "$(readlink -f "$0")")/../.venv/bin/bonsai")
exec "$bonsai" -C "${1:-${BONSAI_WORKSPACE:-$HOME/workspace}}" status --style original
