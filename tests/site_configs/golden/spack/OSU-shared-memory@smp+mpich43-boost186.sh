#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2-ya6ts7a/bin:$PATH
mpiexec -n 2 -bind-to core sh -c 'mpi=$(ldd "$(command -v "$1")" 2>/dev/null | sed -En "s,^\s*(.* => )?(/.*/libmpi(ch)?(_[a-z]+_[0-9]+)?[.]so[.0-9]*) \(.*,\2,p"); echo "ROUNDTRIP RANK ON $(uname -n) ${SLURMD_NODENAME:--} ${mpi:+$(realpath "$mpi")}" >&2; exec "$@"' sh @SPACK_ENV@/.spack-view/osu-micro-benchmarks-7.5-3wjx5ue/osu_latency > osu.txt
