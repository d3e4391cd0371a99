#!/bin/bash
export PATH=@SPACK_ENV@/.spack-view/openmpi-4.1.8-fidnire/bin:$PATH
mpirun -np 3 --bind-to none --map-by :OVERSUBSCRIBE @SPACK_ENV@/.spack-view/roundtrip-workloads-main-grd6uyo/bin/ring --samples samples.csv --processors=2 --budget=30 --precision=2 --end=16777216
