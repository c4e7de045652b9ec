#!/usr/bin/env bash
# bonsai-reflect.sh [WORKSPACE]: stage what needs a decision. Without WORKSPACE: $BONSAI_WORKSPACE, else ~/workspace.
set -euo pipefail
bonsai=$(command -v bonsai || echo "$(dirname "$(readlink -f "$0")")/../.venv/bin/bonsai")
exec "$bonsai" -C "${1:-${BONSAI_WORKSPACE:-$HOME/workspace}}" reflect --style original
