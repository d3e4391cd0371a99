#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/smpi-boost181
export PATH=@TOOLCHAINS@/smpi/bin:$PATH
export ROUNDTRIP_SIMULATED_PLATFORM=odin
export ROUNDTRIP_SIMULATED_HOST_FLOPS=1000000000
export ROUNDTRIP_SIMULATED_PLATFORM_SHA256=b9ce4e07bc7776d99eabe23018f38241931b3796f924e05c3998f347a8a2736d
smpirun -np 2 -platform platform.xml -hostfile hosts.txt --log=root.thres:critical --log=smpi_pmpi.thres:warning --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 @CHECKOUT@/build/smpi-boost181/netpipe/netpipe @OPTIONS@
