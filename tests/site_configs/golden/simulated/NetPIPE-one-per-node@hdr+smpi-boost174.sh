#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/smpi-boost174
export PATH=@TOOLCHAINS@/smpi/bin:$PATH
export ROUNDTRIP_SIMULATED_PLATFORM=hdr
export ROUNDTRIP_SIMULATED_HOST_FLOPS=10000000000
export ROUNDTRIP_SIMULATED_PLATFORM_SHA256=5c830969e222610a48ed5df22ae4f014277884da6205528d3aa57417a38da632
smpirun -np 2 -platform platform.xml -hostfile hosts.txt --log=root.thres:critical --log=smpi_pmpi.thres:warning --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 @CHECKOUT@/build/smpi-boost174/netpipe/netpipe @OPTIONS@
