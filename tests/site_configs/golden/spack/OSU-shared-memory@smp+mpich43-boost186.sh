#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2-ya6ts7a/bin:$PATH
mpiexec -n 2 -bind-to core sh -c 'echo "ROUNDTRIP RANK ON $(uname -n) $$ ${SLURMD_NODENAME:--}" >&2; witness=$1; shift; LD_PRELOAD="$witness${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"' sh @SPACK_ENV@/.spack-view/roundtrip-workloads-main-epvrsoz/bin/witness.so @SPACK_ENV@/.spack-view/osu-micro-benchmarks-7.5-3wjx5ue/osu_latency > osu.txt
