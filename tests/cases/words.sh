# The words that the cases in own.json are written in; sourced before each of setup, act and check.
# $T is the folder of the case, $WS the workspace in it, $BONSAI the command.
WS=${WS:-$T/ws}
fail() { printf '%s\n' "$*"; exit 1; }
bonsai() { timeout 60 $BONSAI -C "$WS" "$@"; }
git_ws() { git -C "$WS" --no-pager -c core.quotePath=false -c user.name=Pat -c user.email=pat@example.com "$@"; }

# workspace: make $WS a repository that holds what setup has written there so far.
workspace() { mkdir -p "$WS/memory"; git_ws init -q; git_ws add -A; git_ws commit -q --allow-empty -m seed; }
note() { mkdir -p "$(dirname "$WS/$1")"; printf -- "$2" >"$WS/$1"; }   # note PATH TEXT, a printf format

# answer CODE NAME VERB…: run a verb; its JSON goes to $T/NAME.json; it must end with CODE and without a traceback.
answer() {
  local code=$1 name=$2 got=0; shift 2
  bonsai "$@" --json >"$T/$name.json" 2>"$T/$name.err" </dev/null || got=$?
  [ "$got" = "$code" ] || { cat "$T/$name.err" "$T/$name.json" | tail -n 3; fail "bonsai $* ended with $got, not $code"; }
  ! grep -q Traceback "$T/$name.err" || fail "bonsai $* printed a traceback"
}
# value NAME EXPRESSION: a Python expression over d, the JSON of an answer, printed.
value() { python3 -c 'import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
v = eval(sys.argv[2])
print(v if isinstance(v, str) else json.dumps(v, ensure_ascii=False))' "$T/$1.json" "$2"; }
is() { local got; got=$(value "$1" "$2"); [ "$got" = "$3" ] || fail "$1: $2 is $got, not $3"; }   # is NAME EXPRESSION WANTED

bytes() { printf -- "$2" | cmp -s - "$WS/$1" || { od -c "$WS/$1" | head -8; fail "$1 holds other bytes"; }; }   # bytes PATH FORMAT
head_bytes() { git_ws cat-file blob "HEAD:$1" | cmp -s - <(printf -- "$2") || fail "HEAD:$1 holds other bytes"; }
in_head() { git_ws cat-file -e "HEAD:$1" 2>/dev/null || fail "$1 is not in HEAD"; }
not_in_head() { ! git_ws cat-file -e "HEAD:$1" 2>/dev/null || fail "$1 is in HEAD"; }
holds() { grep -qF -- "$2" "$WS/$1" || fail "$1 does not hold: $2"; }
lacks() { ! grep -qF -- "$2" "$WS/$1" || fail "$1 holds: $2"; }
gone() { [ ! -e "$WS/$1" ] && [ ! -L "$WS/$1" ] || fail "$1 is there"; }
commits() { git_ws rev-list --count HEAD; }
clean() { [ -z "$(git_ws status --porcelain -- memory MEMORY.md)" ] || { git_ws status --porcelain; fail "not clean"; }; }
