#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/openmpi41-boost181
export PATH=@TOOLCHAINS@/openmpi41/bin:$PATH
mpirun -np 2 --bind-to core sh -c 'mpi=$(ldd "$(command -v "$1")" 2>/dev/null | sed -En "s,^\s*(.* => )?(/.*/libmpi(ch)?(_[a-z]+_[0-9]+)?[.]so[.0-9]*) \(.*,\2,p"); echo "ROUNDTRIP RANK ON $(uname -n) ${SLURMD_NODENAME:--} ${mpi:+$(realpath "$mpi")}" >&2; exec "$@"' sh @TOOLCHAINS@/osu/openmpi41/osu_latency > osu.txt
