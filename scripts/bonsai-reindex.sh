#!/usr/bin/env bash
# bonsai-reindex.sh [WORKSPACE]: rebuild the indexes. Without WORKSPACE: $BONSAI_WORKSPACE, else ~/workspace.
set -euo pipefail
bonsai=$(command -v bonsai || echo "$(dirname "$(readlink -f "$0")")/../.venv/bin/bonsai")
exec "$bonsai" -C "${1:-${BONSAI_WORKSPACE:-$HOME/workspace}}" reindex --style original
