#!/bin/bash
export Boost_ROOT=@TOOLCHAINS@/mpich50-boost181
export PATH=@TOOLCHAINS@/mpich50/bin:$PATH
mpiexec -n 2 -bind-to core @CHECKOUT@/build/mpich50-boost181/netpipe/netpipe @OPTIONS@
