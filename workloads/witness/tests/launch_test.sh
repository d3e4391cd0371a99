#!/bin/bash
# launch_test.sh WITNESS PROGRAM LAUNCHER...: what the ranks of a preloaded program print.
set -eu
witness=$1 program=$2
shift 2
# A sanitizer, if any, need not be the first library.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
fail() { echo "wrong: $1"; cat out err; exit 1; }
cd "$(mktemp -d)"
trap 'rm -r "$PWD"' EXIT

preload='witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"'
"$@" sh -c "$preload" sh "$witness" "$program" > out 2> err
library=$(ldd "$program" | sed -En 's,.*=> (/.*/libmpi(ch)?[.]so[^ ]*) .*,\1,p')
for rank in 0 1; do
  begin="^ROUNDTRIP RANK ON [^ ]+ [0-9]+ \{\"rank\":$rank,\"cpus\":\[[0-9,]+\],\"identity\":"
  [ "$(grep -cE "$begin" err)" = 1 ] || fail "rank $rank does not say once what it is"
done
[ "$(grep -c "\"file\":\"$(realpath "$library")\"" err)" = 2 ] || fail "the file of the library"
[ "$(grep -cE '\{"node":\{"kernel":"[^"]+",.*"smt":' err)" = 2 ] || fail "facts of the node"
[ "$(grep -cE '\{"traffic":.*"tcp_bytes":0\}' err)" = 2 ] || fail "what the ranks sent"
[ "$(grep -cE '"longest_stop_s":[0-9.e-]+\}' err)" = 2 ] || fail "the heartbeats"
[ "$(grep -cE '"throttled_s":(null|[0-9.]+),.*"steal_s"' err)" = 2 ] || fail "disturbances"
[ "$(grep -c '^passes on: nothing$' out)" = 2 ] || fail "the library is passed on"

LD_PRELOAD="$witness" sh -c 'true' 2> err || fail "a program without MPI"
[ ! -s err ] || fail "something of a program without MPI"
