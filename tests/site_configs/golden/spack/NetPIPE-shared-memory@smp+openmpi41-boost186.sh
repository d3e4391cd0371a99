#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/openmpi-4.1.8-fidnire/bin:$PATH
mpirun -np 2 --bind-to core @SPACK_ENV@/.spack-view/roundtrip-workloads-main-grd6uyo/bin/netpipe @OPTIONS@
