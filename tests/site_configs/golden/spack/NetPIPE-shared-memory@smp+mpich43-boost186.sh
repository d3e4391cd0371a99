#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2-ya6ts7a/bin:$PATH
mpiexec -n 2 -bind-to core @SPACK_ENV@/.spack-view/roundtrip-workloads-main-epvrsoz/bin/netpipe @OPTIONS@
