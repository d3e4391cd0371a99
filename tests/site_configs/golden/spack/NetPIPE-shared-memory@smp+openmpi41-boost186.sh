#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/openmpi-4.1.8-fidnire/bin:$PATH
export Boost_ROOT=@SPACK_ENV@/.spack-view/boost-1.86.0-kupakgn
export CMAKE_PREFIX_PATH=@SPACK_ENV@/.spack-view/cli11-2.5.0-ryxavmc:@SPACK_ENV@/.spack-view/nlohmann-json-3.12.0-uyapslj:@SPACK_ENV@/.spack-view/pvm-3.4.6-k4rodoj:$CMAKE_PREFIX_PATH
mpirun -np 2 --bind-to core @SPACK_ENV@/.spack-view/roundtrip-workloads-main-grd6uyo/bin/netpipe @OPTIONS@
