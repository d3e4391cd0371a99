#!/bin/bash
# Whole launches of ddtbench: launch_test.sh PROGRAM LAUNCHER...   (the launcher's last word is -n)
# PATIENCE: how many times as long as usual each may take.
set -u
program=$1
shift
launcher=("$@")
cd "$(mktemp -d)" || exit 1
trap 'rm -r "$PWD"' EXIT
failures=0

launch() { # ranks flags...: leaves out, err, code
  local ranks=$1
  shift
  timeout $((120 * PATIENCE)) "${launcher[@]}" "$ranks" "$program" "$@" >out 2>err
  code=$?
}

expect() { # what, then a command that must succeed
  local what=$1
  shift
  "$@" && return
  failures=$((failures + 1))
  echo "FAILED: $what (exit $code)"
  cat out err
}

launch 2 --apps NAS_LU_x,SPECFEM3D_mt --sizes largest --budget 1 --seed 5 \
  --samples samples.csv --ddtbench-format ddtbench.out
expect 'a good launch ends with 0' test "$code" = 0
expect 'the end marker is the last line' test "$(tail -n 1 out)" = 'ROUNDTRIP COMPLETE ranks=2 hosts=1'
expect 'run.json is complete' grep -q '"complete": true' run.json
expect 'run.json counts the rows' grep -q "\"rows\": $(($(grep -vc '^#' samples.csv) - 1))" run.json
expect 'both bufferings are there' grep -q '^ddtbench,NAS_LU_x/same,manual,40800,pack,0,epoch_time,' samples.csv
expect 'epochs are named as in the study' test "$(grep -v '^#' samples.csv | tail -n +2 | cut -d, -f5 | sort -u | tr '\n' ' ')" = \
  'communication ddt_create_again ddt_create_overhead ddt_free_again ddt_free_overhead pack unpack '
expect 'nine columns in each row' test -z "$(awk 'NF != 9' ddtbench.out)"
expect 'the tuned loops are an arm of their own' grep -q '^ddtbench,SPECFEM3D_mt/same,manual-tuned,91200,pack,' samples.csv
expect 'all methods of the original' test "$(awk 'NR > 1 { print $2 }' ddtbench.out | sort -u | tr '\n' ' ')" = \
  'manual mpi_ddt mpi_pack_ddt reference '

launch 4 --apps FFT --sizes largest --budget 1 --buffers original --ddtbench-format ddtbench.out
expect 'FFT runs on four ranks' test "$code" = 0
expect 'FFT has a quarter of the matrix on each' grep -q 'FFT .* 9437184 B' out
expect 'its name counts them in the original format' grep -q ' FFT4 ' ddtbench.out
launch 4 --apps NAS_LU_x --sizes largest --budget 0.5
expect 'two ranks play, two wait' test "$code" = 0

launch 2 --list
expect '69 cases' test "$(grep -c ' bytes ' out)" = 69

usage() { # message ranks flags...
  local message=$1
  shift
  launch "$@"
  expect "exit 2: $message" test "$code" = 2
  expect "one line: $message" grep -q "^ddtbench: $message" err
}
usage "--apps: unknown 'NAS_LU_w'; there are: WRF_y_vec, " 2 --apps NAS_LU_w
usage "--methods: unknown 'magic'" 2 --methods magic
usage "--buffers: 'same' is given twice" 2 --buffers same,same
usage "--sizes: unknown 'huge'" 2 --sizes huge
usage '--precision: must be' 2 --precision -1
usage 'needs an even number of ranks, started with 3' 3 --list
usage 'needs at least 2 ranks, started with 1' 1 --list
usage 'FFT: N = 260 cannot be divided among 6 ranks' 6 --apps FFT
usage 'cannot write /no/such/file' 2 --apps NAS_LU_x --ddtbench-format /no/such/file

# A file that can be written at first, and no more at the end: its temporary file is a pipe, on which
# the program waits for a reader, and then a folder.
mkfifo format.partial
timeout $((120 * PATIENCE)) sh -c ': <format.partial; until mkdir format.partial; do sleep 0.01; done' 2>/dev/null &
usage 'cannot write format: Is a directory' 2 --apps NAS_LU_x --sizes largest --budget 1 --ddtbench-format format

exit "$((failures > 0))"
