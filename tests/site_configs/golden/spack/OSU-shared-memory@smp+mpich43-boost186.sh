#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2-ya6ts7a/bin:$PATH
mpiexec -n 2 -bind-to core sh -c 'echo "ROUNDTRIP RANK ON $(uname -n)" >&2; exec "$@"' sh @SPACK_ENV@/.spack-view/osu-micro-benchmarks-7.5-3wjx5ue/osu_latency > osu.txt
