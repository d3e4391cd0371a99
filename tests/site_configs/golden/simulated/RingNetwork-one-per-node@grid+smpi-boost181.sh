#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/smpi-boost181
export PATH=@TOOLCHAINS@/smpi/bin:$PATH
export ROUNDTRIP_SIMULATED_PLATFORM=grid
export ROUNDTRIP_SIMULATED_HOST_FLOPS=200000000
export ROUNDTRIP_SIMULATED_PLATFORM_SHA256=4716644c7b47db637ccb934a06a1783c4d0f8fcd3bb7667595233791168b99d6
smpirun -np 2 -platform platform.xml -hostfile hosts.txt --log=root.thres:critical --log=smpi_pmpi.thres:warning --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 @CHECKOUT@/build/smpi-boost181/ring/ring --samples samples.csv --budget=30 --precision=2 --end=16777216 --seed=1
