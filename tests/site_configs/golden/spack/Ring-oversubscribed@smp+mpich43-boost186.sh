#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2/bin:$PATH
export Boost_ROOT=@SPACK_ENV@/.spack-view/boost-1.86.0/mpich-4.3.2
export CMAKE_PREFIX_PATH=@SPACK_ENV@/.spack-view/cli11-2.5.0:@SPACK_ENV@/.spack-view/nlohmann-json-3.12.0:$CMAKE_PREFIX_PATH
mpiexec -n 3 -bind-to none @SPACK_ENV@/.spack-view/roundtrip-workloads-main/mpich-4.3.2/boost-1.86.0/bin/ring --samples samples.csv --processors=2 --budget=30 --precision=2 --end=16777216
