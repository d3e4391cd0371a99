#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2/bin:$PATH
export Boost_ROOT=@SPACK_ENV@/.spack-view/boost-1.86.0/mpich-4.3.2
export CMAKE_PREFIX_PATH=@SPACK_ENV@/.spack-view/cli11-2.5.0:@SPACK_ENV@/.spack-view/nlohmann-json-3.12.0:$CMAKE_PREFIX_PATH
mpiexec -n 2 -bind-to core sh -c 'echo "ROUNDTRIP RANK ON $(uname -n)" >&2; exec "$@"' sh @SPACK_ENV@/.spack-view/osu-micro-benchmarks-7.5/mpich-4.3.2/osu_latency > osu.txt
