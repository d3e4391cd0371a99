#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/openmpi41-boost181
export PATH=@TOOLCHAINS@/openmpi41/bin:$PATH
mpirun -np 2 --bind-to core sh -c 'echo "ROUNDTRIP RANK ON $(uname -n) $$ ${SLURMD_NODENAME:--}" >&2; witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"' sh @CHECKOUT@/build/openmpi41-boost181/witness/witness.so @TOOLCHAINS@/osu/openmpi41/osu_latency > osu.txt
