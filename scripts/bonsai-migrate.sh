#!/usr/bin/env bash
# bonsai-migrate.sh SOURCE DOMAIN [WORKSPACE]: move a note. The workspace is else $BONSAI_WORKSPACE, else ~/workspace.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: bonsai-migrate.sh SOURCE DOMAIN [WORKSPACE]" >&2; exit 64; }
bonsai=$(command -v bonsai || echo "$(dirname "$(readlink -f "$0")")/../.venv/bin/bonsai")
exec "$bonsai" -C "${3:-${BONSAI_WORKSPACE:-$HOME/workspace}}" move --style original -- "$1" "$2"
