#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/openmpi41-boost181
export PATH=@TOOLCHAINS@/openmpi41/bin:$PATH
mpirun -np 2 --bind-to core sh -c 'echo "ROUNDTRIP RANK ON $(uname -n)" >&2; exec "$@"' sh @TOOLCHAINS@/osu/openmpi41/osu_latency > osu.txt
