#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/mpich-4.3.2-ya6ts7a/bin:$PATH
mpiexec -n 3 -bind-to none @SPACK_ENV@/.spack-view/roundtrip-workloads-main-epvrsoz/bin/ring --samples samples.csv --processors=2 --budget=30 --precision=2 --end=16777216
